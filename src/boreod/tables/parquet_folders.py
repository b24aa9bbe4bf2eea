"""The Parquet files of a folder, of its folders too, and what names of folders say: ``day=7``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from boreod.tables.arrow import fs, pa
from boreod.tables.cells import TYPES, Cell, find_kind, to_kind
from boreod.tables.errors import TableError
from boreod.tables.formats import SUFFIXES
from boreod.tables.locations import Place, reaching
from boreod.text import shorten

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Member:
    """One of the files of a table.

    Attributes
    ----------
    place
        Where it is.
    name
        Its name from the folder on, with slashes between; of a single file the name alone.
    values
        What the names of its folders say: a pyarrow scalar a column, the same for all its rows.
    """

    place: Place
    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


def find_members(place: Place, types: Mapping[str, str]) -> list[Member]:
    """Return a Parquet file, or those of a folder in the order of their names.

    Files and folders whose names begin with ``.`` or ``_`` are left out. Folders may be called
    ``column=value``, as Spark and others write them.

    Parameters
    ----------
    place
        A file or a folder.
    types
        Declared types of columns, for values in the names of folders.
    """
    if not place.is_folder:
        return [Member(place, PurePosixPath(place.path.replace(os.sep, "/")).name)]
    with reaching(place.shown):
        names = _local_names(place.path) if place.is_local else _remote_names(place)
    found = sorted(name for name in map(PurePosixPath, names) if _is_wanted(name))
    if not found:
        raise TableError(
            f"The folder {place.shown} holds no Parquet files (.parquet, .pq). Pass the name of a "
            "file, or a folder that holds them."
        )
    values = _read_values([_keys(name) for name in found], types)
    return [
        Member(_within(place, str(name)), str(name), own)
        for name, own in zip(found, values, strict=True)
    ]


def _local_names(folder: str) -> list[str]:
    """Return the names of all files; a folder that links lead to again is read once."""
    names, seen = [], {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, onerror=_fail, followlinks=True):
        found, folders[:] = sorted(folders), []
        for name in found:
            real = os.path.realpath(os.path.join(parent, name))
            if real not in seen and not _is_hidden(name):  # who writes there may be gone at once
                folders.append(name)
                seen.add(real)
        names += [os.path.relpath(os.path.join(parent, name), folder) for name in files]
    return [name.replace(os.sep, "/") for name in names]


def _fail(error: OSError) -> None:
    raise error


def _remote_names(place: Place) -> list[str]:
    found = place.filesystem.get_file_info(fs.FileSelector(place.path, recursive=True))
    base = len(place.path.rstrip("/")) + 1
    return [info.path[base:] for info in found if info.type == fs.FileType.File]


def _is_wanted(name: PurePosixPath) -> bool:
    is_parquet = SUFFIXES.get(name.suffix.lower()) == "parquet"
    return is_parquet and not any(map(_is_hidden, name.parts))


def _is_hidden(name: str) -> bool:
    return name[0] in "._"


def _within(place: Place, name: str) -> Place:
    parts = ("/".join([start.rstrip("/"), name]) for start in (place.path, place.shown))
    return Place(place.filesystem, *parts)


def _keys(name: PurePosixPath) -> dict[str, str | None]:
    pairs = (part.partition("=") for part in name.parts[:-1])
    return {
        unquote(key): None if value == NO_VALUE else unquote(value)
        for key, between, value in pairs
        if key and between
    }


def _read_values(
    keys: list[dict[str, str | None]], types: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the values of folders as numbers, booleans or text, as they look or are declared."""
    result: list[dict[str, Any]] = [{} for _ in keys]
    for name in dict.fromkeys(name for own in keys for name in own):
        places = [place for place, own in enumerate(keys) if name in own]
        cells = pa.array([keys[place][name] for place in places], pa.string())
        kind = types.get(name) or find_kind(cells)
        typed = to_kind(cells, kind)
        if isinstance(typed, Cell):
            raise TableError(
                f"Column {shorten(name)} must hold {kind}s; a folder is called "
                f"{shorten(f'{name}={typed.value}')}. Rename it, or move it elsewhere."
            )
        for place, value in zip(places, typed.cast(TYPES[kind]), strict=True):
            result[place][name] = value
    return result
