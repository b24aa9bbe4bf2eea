"""The manifest: all that a model file says in words and small numbers.

Parameters are JSON: numbers, words, lists, and the few objects of this package. What JSON cannot
tell apart is an object with one key that names its kind: ``{"tuple": [1, 2]}``.
"""

import inspect
import json
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NoReturn

import numpy as np

from boreod.ensemble.bags import Shares
from boreod.ensemble.calibration import Correction
from boreod.files import LATER, __version__
from boreod.files import typed_json as read
from boreod.persistence.archive import ModelFileError
from boreod.representation.views import View
from boreod.scores import SCORES, Score
from boreod.selection.costs import Costs
from boreod.text import shorten

PARAMETER = "a parameter in the manifest"
FORMAT = 7
PRESETS = ("BORE", "Detector")  # names of classes
# parameters of OutlierRepresentation, which is an estimator: its signature needs scikit-learn
OF_REPRESENTATION = (
    *("scores", "ks", "views", "passthrough", "neighbors", "n_jobs", "random_state", "verbose"),
)


@dataclass(frozen=True)
class StoredScore:
    """A score of a view, with the ks in use."""

    label: str
    score: str
    parameters: dict[str, float]
    ks: list[int]

    def make(self) -> Score:
        """Return the score of the registry."""
        return _score_class(self.score)(**self.parameters)


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
class StoredTrees:
    """How many trees there are, nodes of all of them, and values that their leaves have."""

    number: int
    nodes: int
    values: int


@dataclass(frozen=True)
class StoredForest:
    """An isolation forest, the name of its column, and on how many rows each tree was grown."""

    label: str
    trees: StoredTrees
    sampled: int


@dataclass(frozen=True)
class StoredRepresentation:
    """What computes the columns; ``raw`` tells whether raw columns may be among them."""

    raw: bool
    reference_rows: int
    views: list[StoredView]
    forests: list[StoredForest]


@dataclass(frozen=True)
class StoredClasses:
    """The two labels, inlier first."""

    kind: str
    values: list[Any]


@dataclass(frozen=True)
class StoredMember:
    """A head, whose ``kind`` tells what its arrays are.

    ``features`` are the places of those that it reads, None for all; ``penalty`` is that of
    logistic regressions, ``trees`` those of the others.
    """

    kind: str
    bags: int
    features: list[int] | None
    penalty: float | None
    trees: StoredTrees | None
    line: Correction
    weight: float


@dataclass(frozen=True)
class StoredSelection:
    """What a budget bought, for rows that come ``batch_size`` at once (None for large batches).

    ``costs`` is None if they are those of the model, in such batches.
    """

    columns: list[str]
    frequencies: dict[str, float]
    cost: float
    budget: float
    costs: Costs | None
    batch_size: int | None = field(default=None, metadata={LATER: True})

    def prices(self, of_model: Costs | None) -> Costs | None:
        """Return the prices that it was bought at."""
        if self.costs is not None or of_model is None:
            return self.costs
        return of_model.in_batches(self.batch_size)


@dataclass(frozen=True)
class Manifest:
    """Everything but the arrays.

    ``named`` tells whether the table had the column names itself, ``quantiles`` how many of them
    rank scaling keeps; ``costs`` is None if no price was asked for; ``rows`` are those of the
    training, ``shares`` which part of a table they are, ``assumed`` whether unlabelled ones count
    as inliers, of which so many were ``left_out`` of the bags; ``knots`` is the number of scores
    whose quantiles are known, 0 if there were labels; ``sha256`` is that of the arrays; ``alone``
    are the seconds of a row that comes alone, None if ``costs`` tell or nobody knows.
    """

    format: int
    versions: dict[str, str]
    preset: str
    parameters: dict[str, Any]
    feature_names: list[str]
    named: bool
    columns: list[str]
    input_scaling: bool
    scaling: str
    quantiles: int
    representation: StoredRepresentation
    members: list[StoredMember]
    aggregation: str
    correction: Correction
    knots: int
    classes: StoredClasses
    threshold: float
    costs: Costs | None
    selection: StoredSelection | None
    rows: int
    shares: Shares
    assumed: bool
    left_out: int
    sha256: str
    extra: dict[str, Any]
    alone: float | None = field(default=None, metadata={LATER: True})


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


def encode(name: str, value: Any) -> Any:
    """Return a parameter as JSON, or say that a model file cannot hold it.

    Examples
    --------
    >>> encode("views", ("full", View("angle", metric="cosine")))["tuple"][0]
    'full'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, list | range | np.ndarray):
        return [encode(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(name, item) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(name, k), encode(name, v)] for k, v in value.items()]}
    return _encode_object(name, value)


def _encode_object(name: str, value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, Score) and value in SCORES.values():
        return {"score class": value.name}
    if isinstance(value, Score) and is_registered(value):
        return {"score": [value.name, value.parameters()]}
    if isinstance(value, View | Costs):
        parts = {part.name: encode(name, getattr(value, part.name)) for part in fields(value)}
        return {type(value).__name__.lower(): parts}
    from boreod.representation.transformer import OutlierRepresentation

    if isinstance(value, OutlierRepresentation):
        return {"representation": encode_parameters(value)}
    if isinstance(value, np.random.RandomState):
        remedy = "Give the model a number first: model.set_params(random_state=0)"
    else:
        remedy = f"Use scores of boreod in its place ({', '.join(SCORES)}) and fit again"
    raise ModelFileError(
        f"`{name}` holds {shorten(value)}, which a model file cannot store without pickle. "
        f"{remedy}."
    )


def encode_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON."""
    return {k: encode(k, v) for k, v in estimator.get_params(deep=False).items()}


def decode(value: Any) -> Any:
    """Return what :func:`encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or next(iter(value)) not in _KINDS:
        raise ModelFileError(f"its manifest holds a parameter of an unknown kind: {shorten(value)}")
    kind, content = next(iter(value.items()))
    return _KINDS[kind](content)


def decode_parameters(kind: Any, parameters: Any) -> dict[str, Any]:
    """Return what :func:`encode_parameters` was given, for an estimator of this kind."""
    return _decode_known(parameters, inspect.signature(kind).parameters, kind.__name__)


def check_representation(encoded: dict[str, Any]) -> None:
    """Refuse what is no representation of a fit, for those who do not need one."""
    _representation_parts(encoded["representation"])


def _decode_known(parameters: Any, known: Container[str], owner: str) -> dict[str, Any]:
    decoded = _decode_all(parameters)
    for name in decoded:
        if name not in known:
            raise ModelFileError(f"{owner} has no parameter {shorten(name)}")
    return decoded


def _decode_all(content: Any) -> dict[str, Any]:
    return {n: decode(item) for n, item in read(dict[str, Any], content, PARAMETER).items()}


def is_registered(score: Score) -> bool:
    """Whether a name and parameters are enough to make a score again."""
    return SCORES.get(getattr(score, "name", "")) is type(score)


def _score_class(name: Any) -> type[Score]:
    if not isinstance(name, str) or name not in SCORES:
        raise ModelFileError(
            f"it uses the score {shorten(name)}, and this boreod has {', '.join(SCORES)} only"
        )
    return SCORES[name]


def _pairs(content: Any) -> dict[Any, Any]:
    pairs = read(list[list[Any]], content, PARAMETER)
    if any(len(pair) != 2 for pair in pairs):
        raise ModelFileError("its manifest holds a parameter with an incomplete pair")
    return {decode(key): decode(item) for key, item in pairs}


def _score(content: Any) -> Score:
    name, parameters = read(list[Any], content, PARAMETER)
    return _score_class(name)(**read(dict[str, float], parameters, PARAMETER))


def _representation_parts(content: Any) -> dict[str, Any]:
    return _decode_known(content, OF_REPRESENTATION, "OutlierRepresentation")


def _representation(content: Any) -> Any:
    from boreod.representation.transformer import OutlierRepresentation  # needs scikit-learn

    return OutlierRepresentation(**_representation_parts(content))


_KINDS: dict[str, Any] = {
    "tuple": lambda content: tuple(decode(read(list[Any], content, PARAMETER))),
    "dict": _pairs,
    "score class": _score_class,
    "score": _score,
    "view": lambda content: View(**_decode_all(content)),
    "costs": lambda content: Costs(**_decode_all(content)),
    "representation": _representation,
}
