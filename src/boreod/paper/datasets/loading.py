"""Load a data set from a folder, the cache or its public source.

Original files are read only if their checksum is right, so their content need not be checked. NumPy
rounds numbers in text as Python's ``float`` does: correctly, and to the same bits on any machine.
"""

import hashlib
import os
import re
from dataclasses import dataclass, field
from http.client import HTTPException
from numbers import Integral
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from boreod.files import cache_folder, whole_file
from boreod.paper.datasets.entries import DatasetInfo, Original, find
from boreod.validation import is_number

# A download fails after this many seconds without a byte.
TIMEOUT = 30.0
ELSEWHERE = "put the .npz file into a folder and pass it as `data`"
# Matches an attribute of an ARFF file. The groups are the quote before its name, and the name.
ATTRIBUTE = re.compile(r"""^\s*@attribute\s+(['"]?)(.+?)\1\s+\S""", re.IGNORECASE | re.MULTILINE)
DATA = re.compile(r"^\s*@data", re.IGNORECASE | re.MULTILINE)
# For each built-in set, the class whose rows become outliers.
BUILTIN_OUTLIERS = {"digits": 4, "wdbc": 0, "wine": 2}
Folder = str | os.PathLike[str]


class DownloadError(OSError):
    """An original file could not be downloaded or kept; the message says what to do."""


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
        Number of the sample; most sets of the paper have ten.
    data
        Folder of .npz files. If None, it is the folder that BOREOD_DATA names, if any. Sets that
        are not in this folder come from the cache or the public source. Built-in sets need no
        folder.

    Raises
    ------
    ValueError
        If there is no such name, version or folder, or a file does not fit the catalogue.
    DownloadError
        If the original cannot be downloaded or kept.

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
    elif path := _find_npz(info, version, data):
        points, labels = _read_known_npz(path, info)
    else:
        paths = [fetch(file, cache_folder()) for file in info.files(version)]
        points, labels = read_originals(info, version, paths)
    return Dataset(points, labels, list(info.feature_names), info)


def _make_builtin(info: DatasetInfo) -> tuple[NDArray, NDArray]:
    """Return the inliers and then the outliers, both in scikit-learn's order."""
    from sklearn import datasets

    points, classes = getattr(datasets, info.source.removeprefix("sklearn.datasets."))(
        return_X_y=True
    )
    is_outlier = classes == BUILTIN_OUTLIERS[info.name]
    rows = np.concatenate([points[~is_outlier], points[is_outlier][: info.outliers]])
    return rows.astype(np.float64), _labels(info.n, info.outliers)


def _find_npz(info: DatasetInfo, version: int, data: Folder | None) -> Path | None:
    """Return the file of a set in the folder ``data`` or BOREOD_DATA; None if it is not there."""
    named = data if data is not None else os.environ.get("BOREOD_DATA") or None
    if named is None:
        return None
    if not isinstance(named, str | os.PathLike) or not Path(named).expanduser().is_dir():
        who = "BOREOD_DATA" if data is None else "`data`"
        raise ValueError(
            f"{who} must name an existing folder with .npz files; got {named!r}. "
            "Correct it, or leave it out to use the cache and the public source."
        )
    path = Path(named).expanduser() / npz_name(info.name, version)
    return path if path.exists() else None


def npz_name(name: str, version: int) -> str:
    """Return the name of the file of one version: ``pima.npz``, ``pima_v02.npz``."""
    return f"{name}.npz" if version == 1 else f"{name}_v{version:02d}.npz"


def _read_known_npz(path: Path, info: DatasetInfo) -> tuple[NDArray, NDArray]:
    """Read a file of a set of the catalogue, which says what its shapes and labels must be."""
    remedy = "Replace the file, or remove it to use the original."
    points, labels = _read_arrays(path, remedy)
    shown = "X {} and y {} with {} outliers (1) and {} inliers (0)"
    got = shown.format(points.shape, labels.shape, (labels == 1).sum(), (labels == 0).sum())
    expected = shown.format((info.n, info.d), (info.n,), info.outliers, info.n - info.outliers)
    if got != expected:
        raise ValueError(
            f"{path} must hold {expected}, as the catalogue says of {info.name!r}; got {got}. "
            f"{remedy}"
        )
    return points, labels.astype(np.int8)


def read_npz(path: Path) -> tuple[NDArray, NDArray]:
    """Read rows and labels of a file that is not in the catalogue: X, and y with 1 and 0."""
    remedy = "Correct the file or leave it out."
    points, labels = _read_arrays(path, remedy)
    if points.ndim != 2 or labels.shape != points.shape[:1] or not np.isin(labels, (0, 1)).all():
        raise ValueError(
            f"{path} must hold a table X and y with one label a row, 1 for outliers and 0 for "
            f"inliers; got X {points.shape} and y {labels.shape}. {remedy}"
        )
    outliers = int(labels.sum())
    inliers = len(labels) - outliers
    # A split learns from some rows of each kind, and judges other rows of each kind.
    if min(inliers, outliers) < 4 or not np.isfinite(points).all():
        raise ValueError(
            f"{path} must hold finite numbers and at least 4 rows of each kind; got "
            f"{inliers} inliers, {outliers} outliers and {(~np.isfinite(points)).sum()} cells "
            f"that are not finite. {remedy}"
        )
    return points, labels.astype(np.int8)


def _read_arrays(path: Path, remedy: str) -> tuple[NDArray, NDArray]:
    # Broken files raise nearly any exception.
    try:
        with path.open("rb") as file, np.load(file) as held:
            points = np.asarray(held["X"], dtype=np.float64, order="C")
            labels = np.asarray(held["y"], dtype=np.float64)
    except Exception as error:
        raise ValueError(
            f"{path} must be an .npz file with numbers X and y; reading it gave "
            f"{type(error).__name__}: {error}. {remedy}"
        ) from error
    return points, labels


def fetch(original: Original, folder: Path) -> Path:
    """Return the path of an original in a folder, and download it if it is not there.

    A file with another checksum is replaced. A missing folder is made.
    """
    target = folder / original.filename
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == original.sha256:
        return target
    content = _download(original.url, original.size)
    digest = hashlib.sha256(content).hexdigest()
    if digest != original.sha256:
        raise DownloadError(
            f"{original.url} must have the SHA-256 {original.sha256} ({original.size} bytes); got "
            f"{digest} ({len(content)} bytes), which was discarded. Try again. If this happens "
            f"again, check BOREOD_MIRROR or {ELSEWHERE}."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as unfinished:
            unfinished.write_bytes(content)
    except OSError as error:
        raise DownloadError(
            f"The cache must be a folder that can be written to; {folder} gave "
            f"{type(error).__name__}: {error.strerror}. Free disk space, or set BOREOD_CACHE to "
            "another folder."
        ) from error
    return target


def _download(url: str, size: int) -> bytes:
    """Return the content of a file; read at most one byte more than ``size``."""
    try:
        with urlopen(Request(url, headers={"User-Agent": "boreod"}), timeout=TIMEOUT) as response:
            return bytes(response.read(size + 1))
    except HTTPError as error:
        error.close()
        raise DownloadError(
            f"{url} must answer 200; got {error.code} {error.reason}. Try again later, check "
            f"BOREOD_MIRROR if it is set, or {ELSEWHERE}."
        ) from error
    except (OSError, HTTPException) as error:
        raise DownloadError(
            f"{url} must be reachable; got {getattr(error, 'reason', error)}. Connect to a "
            f"network, set BOREOD_MIRROR to the address of a mirror, or {ELSEWHERE}."
        ) from error


def read_originals(info: DatasetInfo, version: int, paths: list[Path]) -> tuple[NDArray, NDArray]:
    """Read the files of one version, and compare the rows with the checksum in the catalogue."""
    kind = paths[0].suffix
    if kind == ".arff":
        points, labels = labelled_rows(read_arff(paths[0]))
    elif kind == ".mat":
        from scipy.io import loadmat

        held = loadmat(paths[0], variable_names=["X", "y"])
        # MATLAB arrays are column-major, ours are row-major.
        points = held["X"].astype(np.float64, order="C")
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


def rows_digest(points: NDArray, labels: NDArray) -> str:
    """Return the SHA-256 of the bytes of X, little-endian on every machine, and of y."""
    rows = np.ascontiguousarray(points, dtype="<f8").tobytes()
    return hashlib.sha256(rows + labels.astype(np.int8).tobytes()).hexdigest()


def read_arff(path: Path) -> NDArray:
    """Read a dense ARFF file whose columns are numbers, except for ``outlier``."""
    head, body = DATA.split(path.read_text(encoding="utf-8"), maxsplit=1)
    kinds = [(name, "U3" if name == "outlier" else "f8") for _, name in ATTRIBUTE.findall(head)]
    return np.loadtxt(body.splitlines(), kinds, comments="%", delimiter=",", quotechar="'")


def read_csv(path: Path) -> NDArray:
    """Read comma-separated text whose first line has the column names."""
    return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")


def labelled_rows(table: NDArray) -> tuple[NDArray, NDArray]:
    """Return X and y of a table that also has the columns ``id`` and ``outlier`` (yes or no)."""
    names = [name for name in table.dtype.names or () if name not in ("id", "outlier")]
    return _numbers(table, names), (table["outlier"] == "yes").astype(np.int8)


def draw_events(
    background: NDArray, signal: NDArray, n: int, outliers: int, seed: int
) -> tuple[NDArray, NDArray]:
    """Draw inliers from background events and outliers from signal events, in order of EventId."""
    random = np.random.default_rng(seed)
    pools = ((background, n - outliers), (signal, outliers))
    drawn = [table[random.choice(len(table), size, replace=False)] for table, size in pools]
    events = np.concatenate(drawn)
    order = np.argsort(events["EventId"])
    names = [name for name in events.dtype.names or () if name.startswith(("DER_", "PRI_"))]
    return _numbers(events[order], names), _labels(n, outliers)[order]


def _numbers(table: NDArray, names: list[str]) -> NDArray:
    return np.column_stack([table[name] for name in names]).astype(np.float64)


def _labels(n: int, outliers: int) -> NDArray:
    """Return the labels of inliers and then outliers."""
    return (np.arange(n) >= n - outliers).astype(np.int8)
