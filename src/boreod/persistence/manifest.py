"""The manifest: all that a model file says in words and small numbers."""

import json
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from boreod.files import __version__
from boreod.files import typed_json as read
from boreod.persistence.errors import ModelFileError
from boreod.text import shorten

FORMAT = 4


@dataclass(frozen=True)
class StoredScore:
    """A score of a view, with the ks in use."""

    label: str
    score: str
    parameters: dict[str, float]
    ks: list[int]


@dataclass(frozen=True)
class StoredView:
    """A neighbor space in use; ``rows`` is None if all reference rows are its own."""

    name: str
    columns: list[int]
    metric: str
    rows: int | None
    backend: str
    scores: list[StoredScore]


@dataclass(frozen=True)
class StoredRepresentation:
    """What computes the columns; ``raw`` tells whether raw columns may be among them."""

    raw: bool
    reference_rows: int
    views: list[StoredView]


@dataclass(frozen=True)
class StoredClasses:
    """The two labels, inlier first."""

    kind: str
    values: list[Any]


@dataclass(frozen=True)
class StoredBags:
    """What speaks about the columns, next to the arrays of the bags."""

    number: int
    penalty: float
    aggregation: str
    shift: float
    slope: float


@dataclass(frozen=True)
class StoredCosts:
    """Prices of all columns on offer, in use or not."""

    own: dict[str, float]
    needs: dict[str, dict[str, float]]
    base: float
    unit: str


@dataclass(frozen=True)
class StoredSelection:
    """What a budget bought; ``costs`` is None if they are those of the model."""

    columns: list[str]
    frequencies: dict[str, float]
    cost: float
    budget: float
    costs: StoredCosts | None


@dataclass(frozen=True)
class TrainingSummary:
    """What a model was trained on.

    Attributes
    ----------
    rows, outliers, inliers, unlabelled
        Numbers of training rows.
    table_rows, inlier_share, unlabelled_share
        Rows of the table that they were drawn from, and which part of it they are.
    judged
        Number of labelled rows with an out-of-bag probability.
    auc, average_precision
        Of these; None if they are of one class.
    """

    rows: int
    outliers: int
    inliers: int
    unlabelled: int
    table_rows: int
    inlier_share: float
    unlabelled_share: float
    judged: int
    auc: float | None
    average_precision: float | None


@dataclass(frozen=True)
class Tensor:
    """Type and shape of an array."""

    dtype: str
    shape: list[int]


@dataclass(frozen=True)
class StoredArrays:
    """Content of the other member."""

    sha256: str
    tensors: dict[str, Tensor]


@dataclass(frozen=True)
class Manifest:
    """Everything but the arrays.

    ``named`` tells whether the table had the column names itself, ``quantiles`` how many of them
    rank scaling keeps; ``costs`` is None if no price was asked for.
    """

    format: int
    versions: dict[str, str]
    parameters: dict[str, Any]
    feature_names: list[str]
    named: bool
    columns: list[str]
    input_scaling: bool
    scaling: str
    quantiles: int
    representation: StoredRepresentation
    bags: StoredBags
    classes: StoredClasses
    threshold: float
    costs: StoredCosts | None
    selection: StoredSelection | None
    training: TrainingSummary
    arrays: StoredArrays
    extra: dict[str, Any]


def write_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON in ASCII."""
    return json.dumps(asdict(manifest), allow_nan=False, separators=(",", ":")).encode("ascii")


def read_manifest(text: bytes) -> Manifest:
    """Return a manifest whose parts have the right types, or say what is wrong."""
    try:
        content = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its manifest is no JSON ({error})") from None
    content = read(dict[str, Any], content, "manifest")
    number = read(int, content.get("format"), "manifest.format")
    if number != FORMAT:
        versions = content.get("versions")
        writer = versions.get("boreod") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it has format {shorten(number)} and was written by boreod {shorten(writer)}, while "
            f"this boreod {__version__} reads format {FORMAT}, so fit again with this version, or "
            "install that one"
        )
    return read(Manifest, content, "manifest")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
