"""The manifest of a model file, which is JSON: everything but the arrays."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from boreod.ensemble.bags import Shares
from boreod.ensemble.calibration import Correction
from boreod.files import __version__, parse_json, typed_json
from boreod.persistence.columns import StoredRepresentation
from boreod.persistence.container import ModelFileError
from boreod.persistence.members import StoredMember
from boreod.selection.costs import Costs
from boreod.text import shorten

FORMAT = 8


@dataclass(frozen=True)
class StoredClasses:
    """The two labels, inlier first."""

    kind: str
    values: list[Any]


@dataclass(frozen=True)
class StoredSelection:
    """What a budget bought, for ``batch_size`` rows at once (None for large batches).

    ``costs`` is None if they are those of the model, in such batches.
    """

    columns: list[str]
    frequencies: dict[str, float]
    cost: float
    budget: float
    costs: Costs | None
    batch_size: int | None

    def prices(self, of_model: Costs | None) -> Costs | None:
        """Return the prices at the time of the choice."""
        if self.costs is not None or of_model is None:
            return self.costs
        return of_model.in_batches(self.batch_size)


@dataclass(frozen=True)
class StoredCurve:
    """Out-of-bag quality over budgets."""

    unit: str
    budgets: list[float]
    costs: list[float]
    n_columns: list[int]
    auc: list[float]
    average_precision: list[float]
    n_trees: list[int] | None = None
    tree_costs: list[float] | None = None


@dataclass(frozen=True)
class StoredTable:
    """The training table: its preparation, or the medians of plain numbers, and its profile."""

    is_named: bool
    middle: list[float] | None
    preparation: dict[str, Any] | None
    profile: dict[str, Any] | None
    source: str | None
    curve: StoredCurve | None


@dataclass(frozen=True)
class Manifest:
    """Everything but the arrays.

    ``named`` says whether the table had column names of its own, ``quantiles`` how many of them
    rank scaling keeps. ``costs`` is None if no price was asked for. ``rows`` is the number of
    training rows, ``shares`` says which part of a table they are, ``assumed`` whether unlabelled
    rows count as inliers, and ``left_out`` how many of those are in no bag. ``knots`` is the number
    of scores with known quantiles, 0 if there were labels. ``alone`` is the time of a single row
    in seconds, None if it follows from ``costs`` or is unknown.
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
    members: list[StoredMember]
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
    table: StoredTable
    extra: dict[str, Any]
    alone: float | None

    @property
    def raw_names(self) -> list[str]:
        """Names of the raw columns that may be in use."""
        return self.feature_names if self.representation.raw else []

    @property
    def n_raw(self) -> int:
        """Number of raw columns in use."""
        raw = set(self.raw_names)
        return sum(name in raw for name in self.columns)

    @property
    def n_features(self) -> int:
        """Number of features that the columns become when they are scaled."""
        return len(self.columns) + (self.n_raw if self.scaling == "both" else 0)

    @property
    def tree_counts(self) -> dict[str, int]:
        """Numbers of trees of the tree heads, by kind."""
        return {m.kind: m.trees.number for m in self.members if m.trees is not None}


def write_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON in ASCII; scalars of NumPy become those of Python."""
    text = json.dumps(
        asdict(manifest), allow_nan=False, separators=(",", ":"), default=np.generic.item
    )
    return text.encode("ascii")


def read_manifest(text: bytes) -> Manifest:
    """Return a manifest whose parts have the right types, or say what is wrong."""
    content = typed_json(dict[str, Any], parse_json(text, "its manifest"), "manifest")
    number = typed_json(int, content.get("format"), "manifest.format")
    if number != FORMAT:
        versions = content.get("versions")
        writer = versions.get("boreod") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it has format {shorten(number)} and was written by boreod {shorten(writer)}, while "
            f"this boreod {__version__} reads format {FORMAT}, so fit again with this version, or "
            "install that one"
        )
    return typed_json(Manifest, content, "manifest")
