"""The parts of a table that is scored, and the temporary storage of scores.

Any table can be a single part, which this process reads from beginning to end. A Parquet file, or
a folder of Parquet files, can also be split into chunks that any worker of an engine can read.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from boreod.files import whole_file
from boreod.parallel import Engine, Progress
from boreod.tables import TableError, open_table
from boreod.tables.arrow import pa, parquet, rebatch
from boreod.tables.reader import settle
from boreod.tables.reading import locations
from boreod.tables.reading.binary_files import (
    Member,
    find_members,
    read_footer,
    read_rows,
    unified_schema,
)
from boreod.tables.reading.blocks import Options, ReadOptions
from boreod.tables.writer import writing
from boreod.tool.scoring.scoring import ScoreOptions, Scoring

TEMPORARY = "The temporary file of scores"
MAX_CHUNK_ROWS = 200_000
# A table of many batches has at least this many chunks, which keeps many workers busy.
MIN_CHUNKS = 64


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a table; ``first_row`` is the number of the first one, from 1.

    ``read`` takes a schema and a number of rows per batch, and yields the batches.
    """

    first_row: int
    read: Callable[[Any, int], Iterator[Any]]


@dataclass(frozen=True)
class ChunkedFile:
    """A Parquet file and its chunks; the names of its folders hold the columns ``added``."""

    number: int
    name: str
    chunks: list[Part]
    added: tuple[str, ...]


class PartedTable(NamedTuple):
    """A table with its parts; only a table that is read in chunks has ``files`` and ``rows``.

    ``header`` names all columns of the table, read or not.
    """

    schema: Any
    header: list[str]
    parts: list[Part]
    files: list[ChunkedFile]
    rows: int | None


@contextmanager
def open_whole(
    path: str, scoring: Scoring, reading: dict[str, Any] | None, verbose: bool
) -> Iterator[PartedTable]:
    """Open any table as a single part."""
    batch_rows = scoring.options.batch_rows
    options = scoring.reading(reading)
    with open_table(path, batch_rows=batch_rows, **options) as reader:
        steps = count_batches(path, options.get("format"), batch_rows)

        def read(*_: Any) -> Iterator[Any]:
            with Progress("scoring", steps, verbose) as progress:
                for batch in reader:
                    yield batch
                    progress.advance()

        yield PartedTable(reader.schema, reader.header, [Part(1, read)], [], None)


def open_chunks(
    path: str, scoring: Scoring, reading: dict[str, Any] | None, engine: Engine
) -> PartedTable:
    """Open a Parquet file, or a folder of Parquet files, in chunks."""
    if scoring.model.preparation_.since_:
        raise TableError(
            f"This model uses the {scoring.model.preparation_.since_[0].name!r}, for which rows "
            "must be read one after the other, not in chunks. Name a file for the scores (-o "
            "scored.parquet), without --engine."
        )
    place = locations.find_place(path)
    options = settle(ReadOptions(**scoring.reading(reading)))
    members = find_members(place, options.types)
    footers = engine.map(read_footer, members, "looking into files", [options])
    schema = unified_schema(members, footers)
    rows = sum(sum(footer.groups) for footer in footers)
    if not rows:
        raise TableError(f"{place.shown} has columns but no rows. A table needs rows.")
    most = min(MAX_CHUNK_ROWS, max(scoring.options.batch_rows, -(-rows // MIN_CHUNKS)))
    files: list[ChunkedFile] = []
    chunks: list[Part] = []
    first_row = 1
    for member, footer in zip(members, footers, strict=True):
        own = [
            Part(first_row + start, partial(_read_chunk, member, schema, options, start, stop))
            for start, stop in split_rows(footer.groups, most)
        ]
        files.append(ChunkedFile(len(files), member.name, own, footer.added))
        chunks += own
        first_row += sum(footer.groups)
    header = list(dict.fromkeys(name for footer in footers for name in footer.header))
    return PartedTable(options.repaired(schema), header, chunks, files, rows)


def _read_chunk(
    member: Member, schema: Any, options: Options, start: int, stop: int, _: Any, batch_rows: int
) -> Iterator[Any]:
    """Yield rows ``start`` to ``stop`` of a file; raise if the file has fewer rows by now."""
    rows = 0
    for batch in rebatch(read_rows(member, schema, batch_rows, start, stop), batch_rows):
        yield options.repair(batch) if options.rename or options.scale else batch
        rows += batch.num_rows
    if rows != stop - start:
        raise TableError(f"{member.place.shown} has changed while it was being read. Start again.")


def split_rows(groups: Iterable[int], most: int) -> list[tuple[int, int]]:
    """Return where each chunk starts and stops.

    A chunk ends where a row group ends, but a row group of more than ``most`` rows is split.

    Examples
    --------
    >>> split_rows([40, 40, 40, 250], 100)
    [(0, 80), (80, 120), (120, 220), (220, 320), (320, 370)]
    """
    found = []
    start = stop = 0
    for rows in groups:
        if stop > start and stop + rows - start > most:
            found.append((start, stop))
            start = stop
        stop += rows
        while stop - start > most:
            found.append((start, start + most))
            start += most
    return [*found, (start, stop)] if stop > start else found


def check_chunks(
    source: str, options: ScoreOptions, reading: dict[str, Any] | None, folder: str | None
) -> None:
    """Raise if a table cannot be scored in chunks; ``folder`` is the output if it is a folder."""
    if folder is not None and options.top is not None:
        raise TableError(
            f"The most suspicious rows (`top`, --top) are one table, and {folder} is a folder. "
            "Name a file, such as top.parquet."
        )
    given = reading or {}
    if given.get("bad_cells", "missing") != "missing" or given.get("query") is not None:
        raise TableError(
            "Scores in chunks are of Parquet files as they are: `bad_cells` (--bad-cells) must be "
            "missing, and `query` (--query) is for databases and workbooks. Leave them out, or "
            "name a file for the scores (-o scored.csv), without --engine."
        )
    found = locations.find_format(source, given.get("format"))
    place = locations.find_place(source)
    is_known = found == "parquet" or locations.is_address(source)
    is_other = found not in (None, "parquet")
    if source == locations.STANDARD or is_other or not (is_known or place.is_folder):
        remedy = "use threads" if folder is None else "name a file for the scores (-o scored.csv)"
        raise TableError(
            "Only Parquet files and folders of them are scored in chunks, for a folder of scores "
            f"or by a cluster; got {locations.show_place(source)}. Convert it, or {remedy}."
        )


def count_batches(path: str, asked: str | None, batch_rows: int) -> int | None:
    """Return about how many batches a table has; None if that is unknown before it is read."""
    kind = locations.find_format(path, asked, to_read=True)
    is_packed = path.lower().endswith(locations.PACKED)
    if not os.path.isfile(path) or kind not in (*locations.TEXT_FORMATS, "parquet") or is_packed:
        return None
    try:
        if kind == "parquet":
            rows = int(parquet.read_metadata(path).num_rows)
        else:
            with open(path, "rb") as file:
                sample = file.read(1 << 16)
            rows = os.path.getsize(path) * sample.count(b"\n") // max(1, len(sample))
    except (OSError, pa.ArrowException):
        return None
    return -(-rows // batch_rows)


@dataclass(frozen=True)
class FileStore:
    """A temporary file for the scores of one part."""

    file: Any

    def check(self) -> None:
        """Do nothing: an open file cannot be removed before it is closed."""

    @contextmanager
    def create(self, _: int) -> Iterator[Any]:
        """Yield the file, open for writing."""
        yield self.file
        self.file.seek(0)

    def open(self, _: int) -> AbstractContextManager[Any]:
        """Return the file, open for reading from its beginning."""
        self.file.seek(0)
        return nullcontext(self.file)


@dataclass(frozen=True)
class FolderStore:
    """A temporary folder for the scores of many parts; all workers can read and write it."""

    folder: str

    def check(self) -> None:
        """Raise if the folder is missing: this worker cannot see it, or Ctrl-C removed it."""
        if not os.path.isdir(self.folder):
            raise TableError(
                f"There is no folder {os.path.dirname(self.folder)} where rows were scored. All "
                "workers must see it under this name: choose one on a disk that they share."
            )

    def path(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        self.check()
        return Path(self.folder, name)

    @contextmanager
    def create(self, first_row: int) -> Iterator[Any]:
        """Yield a file for the scores of a part; a part may be written more than once."""
        with (
            whole_file(self.path(f"{first_row}.scores")) as unfinished,
            pa.OSFile(str(unfinished), "wb") as file,
        ):
            yield file

    def open(self, first_row: int) -> AbstractContextManager[Any]:
        """Return the file of a part, open for reading."""
        return pa.OSFile(str(self.path(f"{first_row}.scores")))


Store = FileStore | FolderStore


@contextmanager
def temporary_file(output: str) -> Iterator[FileStore]:
    """Yield a store in a temporary file, on the disk of the output.

    If the system allows it, the file has no name, so nothing is left if the process is killed.
    """
    folder = None if output == locations.STANDARD else os.path.dirname(os.path.realpath(output))
    with writing(TEMPORARY):
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
    try:
        yield FileStore(file)
    finally:
        # A full disk was already reported.
        with suppress(OSError):
            file.close()


@contextmanager
def temporary_folder(path: str) -> Iterator[FolderStore]:
    """Yield a store in a hidden folder next to ``path``, which is removed at the end."""
    parent, name = os.path.split(os.path.realpath(path))
    folder = os.path.join(parent, f".{name}.{secrets.token_hex(6)}.part")
    gone = f"{folder}.gone"
    try:
        with writing(path):
            # The scores may be less public than a new folder is.
            os.mkdir(folder, 0o700)
        yield FolderStore(folder)
    finally:
        # The folder is renamed first, so that running workers cannot add files to it.
        with suppress(OSError):
            os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)
