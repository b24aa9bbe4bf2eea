"""Where data sets are on this machine, and the .npz files among them."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boreod.datasets.entries import DatasetInfo

REMEDY = "Replace the file, or remove it to use the original."
Folder = str | os.PathLike[str]


def data_folder(data: Folder | None) -> Path | None:
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


def npz_name(name: str, version: int) -> str:
    """Return the name of the file of one version.

    Examples
    --------
    >>> npz_name("pima", 1), npz_name("pima", 2)
    ('pima.npz', 'pima_v02.npz')
    """
    return f"{name}.npz" if version == 1 else f"{name}_v{version:02d}.npz"


def read_npz(path: Path, info: DatasetInfo) -> tuple[NDArray, NDArray]:
    """Read X and y of a file and compare their shapes and labels with the catalogue."""
    try:
        with path.open("rb") as file, np.load(file) as held:
            points = np.asarray(held["X"], dtype=np.float64, order="C")
            labels = np.asarray(held["y"], dtype=np.float64)
    except Exception as error:  # broken files raise nearly anything
        raise ValueError(
            f"{path} must be an .npz file with numbers X and y; reading it gave "
            f"{type(error).__name__}: {error}. {REMEDY}"
        ) from error
    got = _describe(points.shape, labels.shape, int((labels == 1).sum()))
    expected = _describe((info.n, info.d), (info.n,), info.outliers)
    if got != expected:
        raise ValueError(
            f"{path} must hold {expected}, as the catalogue says of {info.name!r}; got {got}. "
            f"{REMEDY}"
        )
    others = np.setdiff1d(labels, [0, 1])
    if len(others) > 0:
        raise ValueError(
            f"y in {path} must be 1 for outliers and 0 for inliers; got {others[0]:g}, too. "
            f"{REMEDY}"
        )
    return points, labels.astype(np.int8)


def _describe(points: tuple[int, ...], labels: tuple[int, ...], outliers: int) -> str:
    """Put shapes and the number of outliers into words."""
    return f"X {points} and y {labels} with {outliers} outliers"
