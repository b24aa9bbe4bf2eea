"""The catalogue of data sets, read from ``sets.csv`` and ``originals.csv``."""

import csv
import os
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from boreod.text import shorten, suggest

HOST = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Original:
    """A published file.

    Attributes
    ----------
    version
        Number of the sample that the file holds.
    path
        Repository, commit and path of the file.
    size
        Number of bytes of the file.
    sha256
        Checksum of the file.
    rows_sha256
        Checksum of the rows: of the bytes of X (float64), followed by the bytes of y (int8).
    """

    version: int
    path: str
    size: int
    sha256: str
    rows_sha256: str

    @property
    def filename(self) -> str:
        """Last part of the path; no two originals of the catalogue share it."""
        return self.path.rpartition("/")[2]

    @property
    def source(self) -> str:
        """Address at the public source."""
        return f"{HOST}/{self.path}"

    @property
    def url(self) -> str:
        """Address to download from: the public source, or the mirror in BOREOD_MIRROR."""
        mirror = os.environ.get("BOREOD_MIRROR") or HOST
        if not mirror.startswith(("http://", "https://")):
            raise ValueError(
                "BOREOD_MIRROR must be an address that begins with http:// or https://; "
                f"got {mirror!r}. Correct it, or unset it to use {HOST}."
            )
        return f"{mirror.rstrip('/')}/{self.path}"


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the catalogue. All versions of a set have the same size.

    Attributes
    ----------
    name
        Name for ``load``.
    group
        ``"paper"``, ``"variant"`` (another form of a set of the paper) or ``"builtin"`` (a set that
        needs no download).
    n, d, outliers
        Numbers of rows, columns and outliers.
    license
        License of the repository of the original file. The data may have another license.
    source, checksum
        Address and SHA-256 of the original file of version 1. For ``higgs``, they hold two of each,
        separated by a space. For built-in sets, the source is the function of scikit-learn that
        returns the set, and the checksum is empty.
    versions
        Numbers of the samples that can be loaded.
    note
        What to know before comparing results.
    feature_names
        Names of the columns.
    originals
        Files of all versions.
    """

    name: str
    group: str
    n: int
    d: int
    outliers: int
    license: str
    source: str
    checksum: str
    versions: tuple[int, ...]
    note: str
    feature_names: tuple[str, ...] = field(repr=False)
    originals: tuple[Original, ...] = field(repr=False)

    def files(self, version: int) -> list[Original]:
        """Return the files of one version."""
        return [original for original in self.originals if original.version == version]


def catalogue() -> list[DatasetInfo]:
    """Return all data sets: sets of the paper, then variants, then built-in sets.

    Examples
    --------
    >>> [info.name for info in catalogue() if info.group == "builtin"]
    ['digits', 'wdbc', 'wine']
    >>> pima = next(info for info in catalogue() if info.name == "pima")
    >>> pima.n, pima.d, pima.outliers, len(pima.versions)
    (526, 8, 26, 10)
    """
    return list(_entries().values())


def find(name: Any) -> DatasetInfo:
    """Return the entry of a name."""
    entries = _entries()
    if isinstance(name, str) and name in entries:
        return entries[name]
    raise ValueError(
        f"`name` must be a data set of the catalogue; got {shorten(name)}. "
        f"{suggest(str(name).lower(), entries, 'data sets')} "
        "See catalogue(), or `boreod datasets`."
    )


@cache
def _entries() -> dict[str, DatasetInfo]:
    """Join ``sets.csv`` and ``originals.csv``; built-in sets have no files."""
    entries = {}
    originals = _read("originals.csv")
    for name, group, n, d, outliers, terms, origin, note, features in _read("sets.csv"):
        own = tuple(
            Original(int(version), f"{origin}/{path}", int(size), *checksums)
            for owner, version, path, size, *checksums in originals
            if owner == name
        )
        first = [file for file in own if file.version == 1]
        entries[name] = DatasetInfo(
            name,
            group,
            int(n),
            int(d),
            int(outliers),
            terms,
            source=" ".join(file.source for file in first) or origin,
            checksum=" ".join(file.sha256 for file in first),
            versions=tuple(sorted({file.version for file in own})) or (1,),
            note=note,
            feature_names=tuple(features.split(" | ")),
            originals=own,
        )
    return entries


def _read(table: str) -> list[list[str]]:
    text = files("boreod.paper.datasets").joinpath(table).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]
