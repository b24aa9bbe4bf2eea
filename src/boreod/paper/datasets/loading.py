"""Load a data set from wherever it is nearest.

Originals are read only after their checksum was found right, so readers need not doubt them.
Numbers in text go through Python's ``float``, which rounds correctly: the same bits on any machine.
"""

import csv
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boreod.files import cache_folder
from boreod.paper.datasets.download import fetch
from boreod.paper.datasets.entries import DatasetInfo, catalogue, find
from boreod.validation import is_number

ATTRIBUTE = re.compile(r"@attribute\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))\s+\S", re.IGNORECASE)
BUILTIN = {"digits": 4, "wdbc": 0, "wine": 2}  # the class that becomes rare
FEWEST = 4  # rows of each kind in a file of one's own, to learn from some and judge others
REMEDY = "Replace the file, or remove it to use the original."
OWN_REMEDY = "Correct the file or leave it out."
Columns = dict[str, Sequence[str]]  # by name, cells that are still text
Folder = str | os.PathLike[str]


@dataclass(frozen=True)
class Dataset:
    """Rows and labels.

    Attributes
    ----------
    X
        Rows, float64.
    y
        1 for outliers and 0 for inliers, int8.
    feature_names
        Names of the columns.
    info
        The entry of the catalogue.
    """

    X: NDArray = field(repr=False)
    y: NDArray = field(repr=False)
    feature_names: list[str] = field(repr=False)
    info: DatasetInfo


def load(name: str, version: int = 1, data: Folder | None = None) -> Dataset:
    """Load a data set of the catalogue.

    Parameters
    ----------
    name
        Name in the catalogue.
    version
        Which sample; most sets of the paper have ten.
    data
        Folder of .npz files; None for the one that BOREOD_DATA names, if any. Sets that are not in
        it come from the cache or the public source; built-in sets need no folder.

    Raises
    ------
    ValueError
        For a name, version or folder that does not exist, or a file that does not fit.
    DownloadError
        If the original cannot be fetched or kept.

    Examples
    --------
    >>> wdbc = load("wdbc")
    >>> wdbc.X.shape, int(wdbc.y.sum()), wdbc.feature_names[:2]
    ((387, 30), 30, ['mean radius', 'mean texture'])
    """
    info = find(name)
    if not is_number(version, Integral) or version not in info.versions:
        raise ValueError(
            f"`version` of {info.name!r} must be an integer from 1 to {len(info.versions)}; got "
            f"{version!r}. Leave it out for the first."
        )
    if info.group == "builtin":
        points, labels = _make_builtin(info)
    elif path := _find_npz(info, version, _data_folder(data)):
        points, labels = _read_npz(path, info)
    else:
        paths = [fetch(file, cache_folder()) for file in info.files(version)]
        points, labels = read_originals(info, version, paths)
    return Dataset(points, labels, list(info.feature_names), info)


def read_npz(path: Path) -> tuple[NDArray, NDArray]:
    """Read rows and labels of a file that is not in the catalogue: X, and y with 1 and 0."""
    points, labels = _read_arrays(path, OWN_REMEDY)
    if points.ndim != 2 or labels.shape != points.shape[:1] or not np.isin(labels, (0, 1)).all():
        raise ValueError(
            f"{path} must hold a table X and y with one label a row, 1 for outliers and 0 for "
            f"inliers; got X {points.shape} and y {labels.shape}. {OWN_REMEDY}"
        )
    counts = int((labels == 0).sum()), int((labels == 1).sum())
    if min(counts) < FEWEST or not np.isfinite(points).all():
        raise ValueError(
            f"{path} must hold finite numbers and at least {FEWEST} rows of each kind; got "
            f"{counts[0]} inliers, {counts[1]} outliers and {(~np.isfinite(points)).sum()} cells "
            f"that are not finite. {OWN_REMEDY}"
        )
    return points, labels.astype(np.int8)


def available(data: Folder | None = None) -> dict[str, list[int]]:
    """Return the versions of each set that need no network: built in, in a folder or in the cache.

    Examples
    --------
    >>> available()["wine"]
    [1]
    """
    folder, cache, found = _data_folder(data), cache_folder(), defaultdict(list)
    for info in catalogue():
        for version in info.versions:
            # Built-in sets have no files. Checksums are checked when loading.
            paths = [(cache / file.filename, file.size) for file in info.files(version)]
            cached = all(path.is_file() and path.stat().st_size == size for path, size in paths)
            if cached or _find_npz(info, version, folder):
                found[info.name].append(version)
    return dict(found)


def rows_digest(points: NDArray, labels: NDArray) -> str:
    """Return the SHA-256 of the bytes of X, little-endian on every machine, and of y."""
    rows = np.ascontiguousarray(points, dtype="<f8").tobytes()
    return hashlib.sha256(rows + labels.astype(np.int8).tobytes()).hexdigest()


def read_originals(info: DatasetInfo, version: int, paths: list[Path]) -> tuple[NDArray, NDArray]:
    """Read the files of one version, and make sure that the rows are those of the catalogue."""
    kind = paths[0].suffix
    if kind == ".arff":
        points, labels = labelled_rows(read_arff(paths[0]))
    elif kind == ".mat":
        from scipy.io import loadmat

        held = loadmat(paths[0], variable_names=["X", "y"])
        points = held["X"].astype(np.float64, order="C")  # MATLAB stores columns
        labels = held["y"].ravel().astype(np.int8)
    else:
        background, signal = map(read_csv, paths)
        points, labels = draw_events(background, signal, info.n, info.outliers, seed=version)
    expected = info.files(version)[0].rows_sha256
    got = rows_digest(points, labels)
    if got != expected:
        raise ValueError(
            f"Reading {paths[0].name} must give rows with the SHA-256 {expected}; got {got} with "
            f"NumPy {np.__version__}. Please report this, and use the .npz file through `data`."
        )
    return points, labels


def read_arff(path: Path) -> Columns:
    """Read a dense ARFF file; quotes around names and values are taken away."""
    names: list[str] = []
    with path.open(encoding="utf-8", newline="") as file:
        stripped = (line.strip() for line in file)
        lines = (line for line in stripped if line and not line.startswith("%"))
        for line in lines:
            attribute = ATTRIBUTE.match(line)
            if attribute:
                names.append(next(group for group in attribute.groups() if group is not None))
            elif line.lower().startswith("@data"):
                break
        cells = list(csv.reader(lines, quotechar="'", skipinitialspace=True))
    return dict(zip(names, zip(*cells, strict=True), strict=True))


def read_csv(path: Path) -> Columns:
    """Read comma-separated text whose first line has the names."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *cells = csv.reader(file)
    return dict(zip(names, zip(*cells, strict=True), strict=True))


def labelled_rows(columns: Columns) -> tuple[NDArray, NDArray]:
    """Return X and y of a table that has the columns ``id`` and ``outlier`` (yes or no), too."""
    rows = _numbers(cells for name, cells in columns.items() if name not in ("id", "outlier"))
    return rows, np.array([cell == "yes" for cell in columns["outlier"]], dtype=np.int8)


def draw_events(
    background: Columns, signal: Columns, n: int, outliers: int, seed: int
) -> tuple[NDArray, NDArray]:
    """Draw inliers from background events and outliers from signal events, in order of EventId."""
    random = np.random.default_rng(seed)
    rows, labels, events = [], [], []
    for table, label, size in ((background, 0, n - outliers), (signal, 1, outliers)):
        drawn = np.sort(random.choice(len(table["EventId"]), size, replace=False))
        values = (cells for name, cells in table.items() if name.startswith(("DER_", "PRI_")))
        rows.append(_numbers(values)[drawn])
        labels.append(np.full(size, label, dtype=np.int8))
        events.append(np.array(table["EventId"], dtype=np.int64)[drawn])
    order = np.argsort(np.concatenate(events), kind="stable")
    return np.concatenate(rows)[order], np.concatenate(labels)[order]


def npz_name(name: str, version: int) -> str:
    """Return the name of the file of one version: ``pima.npz``, ``pima_v02.npz``."""
    return f"{name}.npz" if version == 1 else f"{name}_v{version:02d}.npz"


def _numbers(columns: Iterable[Sequence[str]]) -> NDArray:
    return np.column_stack([[float(cell) for cell in cells] for cells in columns])


def _make_builtin(info: DatasetInfo) -> tuple[NDArray, NDArray]:
    """Return rows and labels: inliers first, both in scikit-learn's order."""
    from sklearn import datasets

    function = getattr(datasets, info.source.removeprefix("sklearn.datasets."))
    points, classes = function(return_X_y=True)
    inliers = np.flatnonzero(classes != BUILTIN[info.name])
    outliers = np.flatnonzero(classes == BUILTIN[info.name])[: info.outliers]
    labels = np.repeat(np.array([0, 1], dtype=np.int8), [len(inliers), len(outliers)])
    return points[np.concatenate([inliers, outliers])].astype(np.float64), labels


def _data_folder(data: Folder | None) -> Path | None:
    """Return the folder of .npz files that a parameter or else BOREOD_DATA names, or None."""
    named = data if data is not None else os.environ.get("BOREOD_DATA") or None
    if named is None:
        return None
    if not isinstance(named, str | os.PathLike) or not Path(named).expanduser().is_dir():
        who = "BOREOD_DATA" if data is None else "`data`"
        raise ValueError(
            f"{who} must name an existing folder with .npz files; got {named!r}. "
            "Correct it, or leave it out to use the cache and the public source."
        )
    return Path(named).expanduser()


def _find_npz(info: DatasetInfo, version: int, folder: Path | None) -> Path | None:
    path = folder / npz_name(info.name, version) if folder else None
    return path if path and path.exists() else None


def _read_npz(path: Path, info: DatasetInfo) -> tuple[NDArray, NDArray]:
    """Read X and y of a file and compare their shapes and labels with the catalogue."""
    points, labels = _read_arrays(path, REMEDY)
    shown = "X {} and y {} with {} outliers (1) and {} inliers (0)"
    got = shown.format(points.shape, labels.shape, (labels == 1).sum(), (labels == 0).sum())
    expected = shown.format((info.n, info.d), (info.n,), info.outliers, info.n - info.outliers)
    if got != expected:
        raise ValueError(
            f"{path} must hold {expected}, as the catalogue says of {info.name!r}; got {got}. "
            f"{REMEDY}"
        )
    return points, labels.astype(np.int8)


def _read_arrays(path: Path, remedy: str) -> tuple[NDArray, NDArray]:
    try:
        with path.open("rb") as file, np.load(file) as held:
            points = np.asarray(held["X"], dtype=np.float64, order="C")
            labels = np.asarray(held["y"], dtype=np.float64)
    except Exception as error:  # broken files raise nearly anything
        raise ValueError(
            f"{path} must be an .npz file with numbers X and y; reading it gave "
            f"{type(error).__name__}: {error}. {remedy}"
        ) from error
    return points, labels
