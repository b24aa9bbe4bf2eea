"""Parquet files, and folders of them: what they hold, and any stretch of their rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from boreod.tables.arrow import pa, parquet
from boreod.tables.binary_files import chosen_schema
from boreod.tables.errors import TableError, reading
from boreod.tables.locations import find_place
from boreod.tables.parquet_folders import Member, find_members
from boreod.tables.plain_types import plain_batch
from boreod.tables.typed_text import Opened, Options
from boreod.text import listed

PARQUET = "a Parquet file"


@dataclass(frozen=True)
class Footer:
    """What the end of a Parquet file tells.

    Attributes
    ----------
    schema
        Of the columns to read, with plain types.
    groups
        Number of rows in each of its row groups.
    added
        Columns that only the names of its folders have.
    """

    schema: Any
    groups: tuple[int, ...]
    added: tuple[str, ...]


def open_parquet(path: str, options: Options, batch_rows: int) -> Opened:
    """Open a Parquet file, or all of a folder in the order of their names as one table.

    Parameters
    ----------
    path
        A file or a folder, or the address of one.
    options
        Columns to read.
    batch_rows
        How many rows to read at once.
    """
    members = find_members(find_place(path), options.types)
    schema = unified_schema(members, [read_footer(options, member) for member in members])

    def batches() -> Iterator[Any]:
        for member in members:
            yield from read_rows(member, schema, batch_rows)

    return Opened(schema, batches(), [])


def read_footer(options: Options, member: Member) -> Footer:
    """Return what a file tells of itself; refuse columns that it lacks or that are not plain.

    Parameters
    ----------
    options
        Columns to read.
    member
        The file.
    """
    shown = member.place.shown
    with reading(shown, PARQUET), _opened(member) as file:
        schema, data = file.schema_arrow, file.metadata
        groups = tuple(data.row_group(place).num_rows for place in range(data.num_row_groups))
    added = tuple(name for name in member.values if name not in schema.names)
    for name in added:
        schema = schema.append(pa.field(name, member.values[name].type))
    return Footer(chosen_schema(schema, options, shown), groups, added)


def unified_schema(members: list[Member], footers: list[Footer]) -> Any:
    """Return the schema of all files: same names, and types that hold the values of all.

    Parameters
    ----------
    members, footers
        The files.
    """
    names = set(footers[0].schema.names)
    for footer, member in zip(footers, members, strict=True):
        if set(footer.schema.names) != names:
            differing = listed(sorted(names ^ set(footer.schema.names)), 5)
            raise TableError(
                f"All files of a folder must have the same columns; {member.place.shown} differs "
                f"from {members[0].place.shown} in {differing}. Move it elsewhere."
            )
    try:
        schemas = [footer.schema for footer in footers]
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"Files of one folder must have columns of the same types, unlike those of "
            f"{PurePosixPath(members[0].place.shown).parent}: {str(error).splitlines()[0]}."
        ) from None


def read_rows(
    member: Member, schema: Any, batch_rows: int, start: int = 0, stop: int | None = None
) -> Iterator[Any]:
    """Give rows of a file as batches of at most so many rows.

    Parameters
    ----------
    member
        The file.
    schema
        Plain columns to read.
    batch_rows
        The most rows of a batch.
    start, stop
        The first row, from 0, and the one after the last; None for all to the end.
    """
    with reading(member.place.shown, PARQUET), _opened(member) as file:
        groups, seen = _groups(file.metadata, start, stop)
        columns = _quoted([name for name in schema.names if name in file.schema_arrow.names])
        for batch in file.iter_batches(batch_rows, row_groups=groups, columns=columns):
            first, seen = seen, seen + batch.num_rows
            low = max(start - first, 0)
            high = batch.num_rows if stop is None else min(stop - first, batch.num_rows)
            if low < high:
                part = batch.slice(low, high - low)
                yield plain_batch(_with_values(part, member, schema), schema)
            if stop is not None and seen >= stop:
                return  # the rest of a row group need not be unpacked


def _opened(member: Member) -> Any:
    # on a disk pages are read as they are needed, not whole columns of a row group; over a network
    # every single read is dear
    frugal = {"pre_buffer": False, "buffer_size": 1 << 16} if member.place.is_local else {}
    place = member.place
    return parquet.ParquetFile(place.path, filesystem=place.filesystem, **frugal)


def _groups(data: Any, start: int, stop: int | None) -> tuple[list[int], int]:
    """Return the row groups that hold some rows, and the number of rows before the first."""
    groups, before, seen = [], 0, 0
    for place in range(data.num_row_groups):
        rows = data.row_group(place).num_rows
        if seen + rows <= start:
            before = seen + rows
        elif stop is None or seen < stop:
            groups.append(place)
        seen += rows
    return groups, before


def _with_values(batch: Any, member: Member, schema: Any) -> Any:
    for name, value in member.values.items():
        if name in schema.names and name not in batch.schema.names:
            batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
    return batch


def _quoted(names: list[str]) -> list[str] | None:
    """Return names for the Parquet reader, which takes a dot for a way into nested columns."""
    return None if any("." in name for name in names) else names
