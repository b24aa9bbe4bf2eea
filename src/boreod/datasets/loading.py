"""Load a data set from wherever it is nearest."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.datasets.builtin import make_builtin
from boreod.datasets.download import fetch
from boreod.datasets.entries import DatasetInfo, catalogue, check_version, find
from boreod.datasets.folders import Folder, data_folder, npz_name, read_npz
from boreod.datasets.readers import draw_events, labelled_rows, read_arff, read_csv, read_mat
from boreod.files import cache_folder


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


def load(
    name: str, version: int = 1, data: Folder | None = None, *, verbose: bool = True
) -> Dataset:
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
    verbose
        Whether a long download may show a progress bar on a terminal.

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
    version = check_version(info, version)
    if info.group == "builtin":
        points, labels = make_builtin(info.name)
    elif (path := _npz(info, version, data_folder(data))) is not None:
        points, labels = read_npz(path, info)
    else:
        folder = cache_folder()
        paths = [fetch(file, folder, verbose=verbose) for file in info.files(version)]
        points, labels = read_originals(info, version, paths)
    return Dataset(points, labels, list(info.feature_names), info)


def available(data: Folder | None = None) -> dict[str, list[int]]:
    """Return the versions of each set that need no network: built in, in a folder or in the cache.

    Parameters
    ----------
    data
        As in ``load``.

    Examples
    --------
    >>> available()["wine"]
    [1]
    """
    folder, cache = data_folder(data), cache_folder()
    found = {}
    for info in catalogue():
        versions = [
            version
            for version in info.versions
            if info.group == "builtin"
            or _npz(info, version, folder) is not None
            or _is_cached(info, version, cache)
        ]
        if versions:
            found[info.name] = versions
    return found


def read_originals(info: DatasetInfo, version: int, paths: list[Path]) -> tuple[NDArray, NDArray]:
    """Read the files of one version, and make sure that the rows are those of the catalogue."""
    kind = paths[0].suffix
    if kind == ".arff":
        points, labels = labelled_rows(read_arff(paths[0]))
    elif kind == ".mat":
        points, labels = read_mat(paths[0])
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


def _npz(info: DatasetInfo, version: int, folder: Path | None) -> Path | None:
    """Return the path of the .npz file of a version, or None if there is none."""
    path = folder / npz_name(info.name, version) if folder else None
    return path if path and path.exists() else None


def _is_cached(info: DatasetInfo, version: int, cache: Path) -> bool:
    """Tell whether files of the right sizes are there; their checksums are checked when loading."""
    paths = [(cache / file.filename, file.size) for file in info.files(version)]
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


def rows_digest(points: NDArray, labels: NDArray) -> str:
    """Return the SHA-256 of the bytes of X, little-endian on every machine, and of y."""
    parts: list[Any] = [np.ascontiguousarray(points, dtype="<f8"), labels.astype(np.int8)]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
