"""The format of model files: arrays in a safetensors file, and a manifest of all the rest.

One array holds the manifest, which is JSON, and one the SHA-256 of all others.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from boreod.ensemble.bags import Shares
from boreod.ensemble.calibration import Correction
from boreod.files import __version__, parse_json, typed_json, whole_file
from boreod.scores import SCORES, Score
from boreod.selection.costs import Costs
from boreod.text import shorten

FORMAT = 8
# Limit of the manifest and of the list of arrays in bytes. Parsed JSON can take 26 times as much.
JSON_LIMIT = 3 * 2**20
TYPES: dict[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
}

Arrays = dict[str, NDArray]
# The type and the shape of an array.
Tensor = tuple[str, list[int]]


class ModelFileError(ValueError):
    """A file is no usable model file, or a model cannot be put into one."""


@dataclass(frozen=True)
class _Entry:
    """An array in the list of a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class ModelFile:
    """A model file that is open: its manifest, and the number of bytes in its arrays."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if start[:4] in (b"PK\3\4", b"PK\5\6"):
            raise ModelFileError(
                "it is a zip archive, as model files were before format 8, so fit again with this "
                "version"
            )
        if length > min(size - 8, JSON_LIMIT):
            raise ModelFileError("it is no file that `boreod.save` wrote, or was cut off")
        listed = parse_json(file.read(length), "its list of arrays")
        entries = typed_json(dict[str, _Entry], listed, "its list of arrays")
        if not {"manifest", "sha256"} <= set(entries):
            raise ModelFileError("it has no manifest")
        begin, end = entries["manifest"].data_offsets
        room = size - 8 - length
        if not 0 <= begin <= end <= room or end - begin > JSON_LIMIT:
            raise ModelFileError(
                f"its manifest claims the bytes from {shorten(begin)} to {shorten(end)} of {room}"
            )
        file.seek(8 + length + begin)
        self.manifest = file.read(end - begin)
        # The SHA-256 takes 32 bytes.
        self.arrays_size = room - len(self.manifest) - 32

    def read_arrays(self, expected: dict[str, Tensor]) -> Arrays:
        """Return the arrays, after a check of their hash, types and shapes."""
        self._file.seek(0)
        try:
            found: dict[str, Any] = dict(deserialize(self._file.read(self._size)))  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise ModelFileError(f"its arrays cannot be read ({error})") from None
        if _hash({name: item["data"] for name, item in found.items()}) != found["sha256"]["data"]:
            raise ModelFileError("its content does not have the SHA-256 that it names")
        known = {"manifest": ("U8", [len(self.manifest)]), "sha256": ("U8", [32]), **expected}
        if {name: (item["dtype"], item["shape"]) for name, item in found.items()} != known:
            raise ModelFileError("its arrays are not those that its manifest asks for")
        arrays = {}
        for name, (kind, shape) in expected.items():
            flat = np.frombuffer(found.pop(name)["data"], TYPES[kind])
            # Kernels are compiled for arrays that may be written to.
            arrays[name] = np.require(flat.reshape(shape), requirements=["C", "A", "W"])
        return arrays


@contextmanager
def open_model_file(path: Path) -> Iterator[ModelFile]:
    """Open a model file and read its manifest."""
    try:
        # Opening a pipe would wait for a writer.
        if stat.S_ISFIFO(path.stat().st_mode):
            raise ModelFileError("it is a pipe, and a model file must be a regular file")
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ModelFileError("it is a device, and a model file must be a regular file")
            yield ModelFile(file, facts.st_size)
    except OSError as error:
        raise _explain(error, path, "read") from None


def write_model_file(path: Path, manifest: bytes, arrays: Arrays) -> None:
    """Write a model file atomically."""
    parts = {**arrays, "manifest": np.frombuffer(manifest, np.uint8)}
    parts["sha256"] = np.frombuffer(_hash(parts), np.uint8)
    content = save(parts)
    longest = max(len(manifest), int.from_bytes(content[:8], "little"))
    if longest > JSON_LIMIT:
        raise ModelFileError(
            f"The manifest of a model file may have {JSON_LIMIT} bytes, and this one has "
            f"{longest}: save a model of fewer columns (`within`), or shorten `extra`."
        )
    try:
        with whole_file(path) as unfinished, unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _explain(error, path, "written") from None


def _hash(parts: dict[str, Any]) -> bytes:
    """Return the SHA-256 of all other arrays, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(parts.keys() - {"sha256"}):
        digest.update(parts[name])
    return digest.digest()


def _explain(error: OSError, path: Path, done: str) -> OSError:
    """Return the same error with the name of the model file, not that of a temporary file."""
    reason = (error.strerror or str(error)).lower()
    number = error.errno or errno.EIO
    return OSError(number, f"The model file could not be {done} ({reason})", str(path))


@dataclass(frozen=True)
class StoredScore:
    """A score of a view, with the ks in use."""

    label: str
    score: str
    parameters: dict[str, float]
    ks: list[int]

    def make(self) -> Score:
        """Return the score of the registry."""
        return score_class(self.score)(**self.parameters)


@dataclass(frozen=True)
class StoredView:
    """A neighbor space in use; ``rows`` is None if all reference rows belong to it."""

    name: str
    columns: list[int]
    metric: str
    rows: int | None
    backend: str
    scores: list[StoredScore]


@dataclass(frozen=True)
class StoredTrees:
    """The number of trees, of all their nodes, and of the values in their leaves."""

    number: int
    nodes: int
    values: int


@dataclass(frozen=True)
class StoredForest:
    """An isolation forest: its column, and the number of rows that each tree was grown on."""

    label: str
    trees: StoredTrees
    sampled: int


@dataclass(frozen=True)
class StoredRepresentation:
    """What computes the columns; ``raw`` says whether raw columns may be among them."""

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
    """A head, whose ``kind`` determines its arrays.

    ``features`` are the positions of those that it reads, None for all; ``penalty`` belongs to
    logistic regressions, ``trees`` to the other kinds.
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


def is_registered(score: Score) -> bool:
    """Whether name and parameters are enough to make a score again."""
    return SCORES.get(getattr(score, "name", "")) is type(score)


def score_class(name: Any) -> type[Score]:
    """Return a score of the registry by its name."""
    if not isinstance(name, str) or name not in SCORES:
        raise ModelFileError(
            f"it uses the score {shorten(name)}, and this boreod has {', '.join(SCORES)} only"
        )
    return SCORES[name]
