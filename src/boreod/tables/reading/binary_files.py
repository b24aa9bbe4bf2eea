"""Read files that store column types: Arrow, Parquet, and folders of Parquet files as one table.

Folder names may hold values, as in ``day=7``. Parquet is read page by page to save memory. A folder
of 217 MB (four files, each of one row group with 500,000 rows) takes 270 MB at the peak. With
``pyarrow.dataset`` and ``use_buffered_stream`` it would take 360 to 450 MB.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from boreod.tables.arrow import TableError, check_same, fs, pa, parquet, plain_batch, plain_schema
from boreod.tables.cells import TYPES, declared_kind, find_kind, to_kind
from boreod.tables.reading import blocks, locations
from boreod.text import shorten

PARQUET = "a Parquet file"


@dataclass(frozen=True)
class Member:
    """A Parquet file of a table."""

    place: locations.Place
    # The path of the file within the folder, with slashes, or the name of a single file.
    name: str
    # The values in the names of the file's folders: a pyarrow scalar for each column.
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Footer:
    """What the footer of a Parquet file says."""

    # The plain types of the columns to read.
    schema: Any
    # The number of rows in each row group.
    groups: tuple[int, ...]
    # The columns whose values are only in the names of the file's folders.
    added: tuple[str, ...]
    # All columns, read or not, with their new names.
    header: tuple[str, ...]


def open_arrow(path: str, options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open an Arrow (Feather) file, in the file or the stream format, or a stream in a pipe."""
    kind = "an Arrow or Feather file"
    shown = "standard input" if path == locations.STANDARD else path
    with locations.reading(shown, kind):
        is_stream = locations.is_pipe(path)
        if is_stream:
            stream = pa.PythonFile(locations.open_bytes(path, stack), mode="r")
        else:
            stream = stack.enter_context(pa.OSFile(path))
            is_stream = stream.read(6) != b"ARROW1"
            stream.seek(0)
        opened = pa.ipc.open_stream(stream) if is_stream else pa.ipc.open_file(stream)
        schema = _chosen_schema(opened.schema, options, shown)

    def batches() -> Iterator[Any]:
        with locations.reading(shown, kind):
            found = opened if is_stream else map(opened.get_batch, range(opened.num_record_batches))
            for batch in found:
                # The offsets in a damaged file may point anywhere.
                batch.validate(full=True)
                yield plain_batch(batch, schema)

    return blocks.cleaned(schema, batches(), options)


def open_parquet(path: str, options: blocks.Options) -> blocks.Typed:
    """Open a Parquet file, or the Parquet files of a folder as one table, ordered by name."""
    members = find_members(locations.find_place(path), options.types)
    schema = unified_schema(members, [read_footer(options, member) for member in members])

    def batches() -> Iterator[Any]:
        for member in members:
            yield from read_rows(member, schema, options.batch_rows)

    return blocks.cleaned(schema, batches(), options)


def find_members(place: locations.Place, types: Mapping[str, Any]) -> list[Member]:
    """Return a Parquet file, or the Parquet files of a folder, ordered by name.

    Files and folders whose names begin with ``.`` or ``_`` are left out. Folders may be called
    ``column=value``, as Spark and others write them. Declared types apply to these values.
    """
    if not place.is_folder:
        return [Member(place, PurePosixPath(place.path.replace(os.sep, "/")).name, {})]
    with locations.reading(place.shown):
        names = _local_names(place.path) if place.is_local else _remote_names(place)
    found = sorted(filter(_is_wanted, map(PurePosixPath, names)))
    if not found:
        raise TableError(
            f"The folder {place.shown} holds no Parquet files (.parquet, .pq). Pass the name of a "
            "file, or a folder that holds them; text files of a folder are read as one table, and "
            "scored into one file (-o scores.csv)."
        )
    values = _read_values([_keys(name) for name in found], types)
    path, shown = place.path.rstrip("/"), place.shown.rstrip("/")
    return [
        Member(
            locations.Place(place.filesystem, f"{path}/{name}", f"{shown}/{name}"), str(name), own
        )
        for name, own in zip(found, values, strict=True)
    ]


def find_text_files(folder: str, asked: str | None) -> list[str]:
    """Return the text files of a folder, ordered by name; none if it holds Parquet files."""
    with locations.reading(folder):
        names = [PurePosixPath(name) for name in sorted(_local_names(folder))]
    if asked in (None, "parquet") and any(map(_is_wanted, names)):
        return []
    wanted = locations.TEXT_FORMATS if asked is None else (asked,)
    found = [
        name for name in names if locations.find_format(str(name), None, to_read=True) in wanted
    ]
    return [os.path.join(folder, str(name)) for name in found]


def read_footer(options: blocks.Options, member: Member) -> Footer:
    """Return the footer of a file; refuse missing columns and columns without a plain type."""
    shown = member.place.shown
    with locations.reading(shown, PARQUET), _opened(member) as file:
        schema, groups = file.schema_arrow, _group_rows(file.metadata)
    added = tuple(name for name in member.values if name not in schema.names)
    for name in added:
        schema = schema.append(pa.field(name, member.values[name].type))
    chosen = _chosen_schema(schema, options, shown)
    return Footer(chosen, groups, added, tuple(options.seen))


def unified_schema(members: list[Member], footers: list[Footer]) -> Any:
    """Return one schema that can hold all files; refuse files with different columns."""
    first = members[0].place.shown
    for footer, member in zip(footers, members, strict=True):
        check_same(footers[0].schema.names, footer.schema.names, first, member.place.shown)
    try:
        return pa.unify_schemas([f.schema for f in footers], promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"Files of one folder must have columns of the same types, unlike those of "
            f"{PurePosixPath(first).parent}: {str(error).splitlines()[0]}."
        ) from None


def read_rows(
    member: Member, schema: Any, batch_rows: int, start: int = 0, stop: int = sys.maxsize
) -> Iterator[Any]:
    """Yield the rows from ``start`` to ``stop - 1``, in batches of at most ``batch_rows``."""
    with locations.reading(member.place.shown, PARQUET), _opened(member) as file:
        ends = [0, *accumulate(_group_rows(file.metadata))]
        groups = [i for i, (a, b) in enumerate(pairwise(ends)) if b > start and a < stop]
        seen = ends[groups[0]] if groups else 0
        known = [name for name in schema.names if name in file.schema_arrow.names]
        # For the Parquet reader, a dot separates the names of nested columns.
        columns = None if any("." in name for name in known) else known
        for batch in file.iter_batches(batch_rows, row_groups=groups, columns=columns):
            low = max(start - seen, 0)
            high = min(stop - seen, batch.num_rows)
            seen += batch.num_rows
            if low < high:
                part = batch.slice(low, high - low)
                for name in schema.names:
                    if name not in part.schema.names:
                        value = member.values[name]
                        part = part.append_column(name, pa.repeat(value, part.num_rows))
                yield plain_batch(part, schema)
            # The rest of the row group need not be unpacked.
            if seen >= stop:
                return


def _chosen_schema(schema: Any, options: blocks.Options, shown: str) -> Any:
    """Return the plain schema of the columns to read; other columns may be of any type."""
    if not schema.names:
        raise TableError(f"{shown} has no columns. A table needs columns and rows.")
    places = options.chosen(schema.names, shown)
    return plain_schema(pa.schema([schema.field(place) for place in places]), shown)


def _opened(member: Member) -> Any:
    place = member.place
    # On a disk, each page is read when it is needed. Over a network, each read is expensive.
    by_page = {"pre_buffer": False, "buffer_size": 1 << 16} if place.is_local else {}
    return parquet.ParquetFile(place.path, filesystem=place.filesystem, **by_page)


def _group_rows(data: Any) -> tuple[int, ...]:
    return tuple(data.row_group(place).num_rows for place in range(data.num_row_groups))


def _local_names(folder: str) -> list[str]:
    """Return the names of files that are not hidden; a linked folder is read only once."""
    names = []
    seen = {os.path.realpath(folder)}
    for parent, folders, files in os.walk(folder, onerror=_fail, followlinks=True):
        found = sorted(folders)
        folders.clear()
        for name in found:
            real = os.path.realpath(os.path.join(parent, name))
            # A hidden folder belongs to a program that is writing, and may vanish at any time.
            if real not in seen and name[0] not in "._":
                folders.append(name)
                seen.add(real)
        names += [
            os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/")
            for name in files
            if name[0] not in "._"
        ]
    return names


def _fail(error: OSError) -> None:
    raise error


def _remote_names(place: locations.Place) -> list[str]:
    found = place.filesystem.get_file_info(fs.FileSelector(place.path, recursive=True))
    base = len(place.path.rstrip("/")) + 1
    return [info.path[base:] for info in found if info.type == fs.FileType.File]


def _is_wanted(name: PurePosixPath) -> bool:
    is_parquet = locations.SUFFIXES.get(name.suffix.lower()) == "parquet"
    return is_parquet and not any(part[0] in "._" for part in name.parts)


def _keys(name: PurePosixPath) -> dict[str, str | None]:
    return {
        unquote(key): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
        for key, between, value in (part.partition("=") for part in name.parts[:-1])
        if key and between
    }


def _read_values(
    keys: list[dict[str, str | None]], types: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the values in folder names, with declared types or, if there are none, found types."""
    result: list[dict[str, Any]] = [{} for _ in keys]
    for name in dict.fromkeys(name for own in keys for name in own):
        places = [place for place, own in enumerate(keys) if name in own]
        cells = pa.array([keys[place][name] for place in places], pa.string())
        kind = declared_kind(types[name]) if name in types else find_kind(cells)
        typed, bad = to_kind(cells, kind)
        if bad.any():
            wrong = f"{name}={cells[int(bad.argmax())].as_py()}"
            raise TableError(
                f"Column {shorten(name)} must hold {kind.type}s; a folder is called "
                f"{shorten(wrong)}. Rename it, or move it elsewhere."
            )
        for place, value in zip(places, typed.cast(TYPES[kind.type]), strict=True):
            result[place][name] = value
    return result
