"""A folder of scores from a folder of Parquet files, in chunks that an engine spreads."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import whole_file
from boreod.parallel import Engine, Threads, current_engine, use_engine
from boreod.tables import TableError, TableWriter
from boreod.tables.arrow import pa, parquet, rebatch
from boreod.tables.reading.binary_files import (
    Member,
    find_members,
    read_footer,
    read_rows,
    unified_schema,
)
from boreod.tables.reading.blocks import Options
from boreod.tables.reading.locations import (
    STANDARD,
    SUFFIXES,
    Place,
    find_format,
    find_place,
    is_address,
    local_path,
    refuse_address,
    show_place,
)
from boreod.tables.writer import writing
from boreod.tool.scoring.checking import Tally
from boreod.tool.scoring.scoring import Cut, Scoring, ranked_schema
from boreod.tool.scoring.table_predictor import TablePredictor
from boreod.tool.scoring.writing import (
    BATCH_ROWS,
    TEMPORARY,
    ScoreSummary,
    choose_rows,
    read_ranked,
    summarize,
    write_scored,
)

MAX_CHUNK_ROWS = 200_000
MIN_CHUNKS = 64  # of a table that is not long, so that many workers have something to do


def score_folder(
    model: TablePredictor,
    source: str | PathLike[str],
    output: str | PathLike[str],
    *,
    carry: Sequence[str] | None = None,
    all_columns: bool = False,
    reasons: int = 0,
    top: int | None = None,
    threshold: float | str | None = None,
    novelty: bool = True,
    numbers: bool = False,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> ScoreSummary:
    """Score Parquet files on all cores or on a cluster, each into a file of the same name.

    The rows are those of :func:`boreod.tool.score_table`, in the same order; ranks and row
    numbers count over all files. Memory does not depend on their number, but for 8 bytes a row.
    Chunks are scored by the cluster of an enclosing ``with boreod.parallel.dask(...)``, or else by
    threads, as many as the model's ``n_jobs``.

    Parameters
    ----------
    source
        A folder of Parquet files, also in folders of its own, or a single Parquet file; or the
        address of one, such as ``s3://bucket/folder``.
    output
        A folder that is new or empty: a name that ends in a slash or has no suffix. A name with a
        suffix is a file, for all scores in one table. On a cluster all workers must see its disk.
    model, carry, all_columns, reasons, top, threshold, novelty, numbers, reading, verbose
        As in :func:`boreod.tool.score_table`; ``top`` needs an output that is a file.
    """
    name, target = fspath(source), fspath(output)
    into_folder = is_folder_name(target)
    place = _check(name, target, into_folder, top, reading)
    scoring = Scoring.plan(model, carry, all_columns, reasons, threshold, novelty, numbers)
    tally = Tally()
    engine = current_engine(model.n_jobs, verbose)
    if model.preparation_.since_:
        raise TableError(
            f"This model uses the {model.preparation_.since_[0].name!r}, for which rows must be "
            "read one after the other, not in chunks. Name a file for the scores (-o "
            "scored.parquet), without --engine."
        )
    files, schema = _open_files(place, scoring.reading(reading), engine)
    scoring.check(schema.names)
    chunks = [chunk for file in files for chunk in file.chunks]
    if into_folder:
        with _temporary_folder(target) as store:
            suspicion, cut = _score(chunks, schema, scoring, store, engine, tally)
            schema = ranked_schema(scoring.schema(schema))
            _write_files(files, schema, store, target, engine, cut)
        return summarize(suspicion, scoring, len(suspicion), tally, files=len(files))
    with TableWriter(target, inputs=[name]) as writer, _temporary_folder(target) as store:
        suspicion, cut = _score(chunks, schema, scoring, store, engine, tally)
        for batch in choose_rows(store.read_ranked(chunks, cut), top):
            writer.write(batch)
    return summarize(suspicion, scoring, writer.rows, tally)


def is_folder_name(path: str) -> bool:
    """Tell whether an output is a folder: by a slash at its end, being there, or having no suffix.

    Examples
    --------
    >>> is_folder_name("scores/"), is_folder_name("scores"), is_folder_name("scores.parquet")
    (True, True, False)
    """
    if path == STANDARD:
        return False
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return True
    return not Path(path).suffix and not os.path.exists(path)


@dataclass(frozen=True)
class _Chunk:
    """Rows ``start`` to ``stop`` of a file, from 0; ``first_row`` counts all files, from 1."""

    number: int
    member: Member
    start: int
    stop: int
    first_row: int


@dataclass(frozen=True)
class _File:
    """A file, its chunks, and columns that only the names of its folders have."""

    number: int
    name: str
    chunks: list[_Chunk]
    added: tuple[str, ...]


def _open_files(place: Place, reading: dict[str, Any], engine: Engine) -> tuple[list[_File], Any]:
    """Return all files, and the schema that they have together."""
    options = Options(types=reading["types"], columns=reading["columns"])
    members = find_members(place, options.types)
    footers = engine.map(read_footer, members, "looking into files", [options])
    schema = unified_schema(members, footers)
    rows = sum(sum(footer.groups) for footer in footers)
    if not rows:
        raise TableError(f"{place.shown} has columns but no rows. A table needs rows.")
    most = min(MAX_CHUNK_ROWS, max(BATCH_ROWS, -(-rows // MIN_CHUNKS)))
    files: list[_File] = []
    n_chunks, first_row = 0, 1
    for member, footer in zip(members, footers, strict=True):
        chunks = [
            _Chunk(number, member, start, stop, first_row + start)
            for number, (start, stop) in enumerate(split_rows(footer.groups, most), n_chunks)
        ]
        files.append(_File(len(files), member.name, chunks, footer.added))
        n_chunks, first_row = n_chunks + len(chunks), first_row + sum(footer.groups)
    return files, schema


def split_rows(groups: Iterable[int], most: int) -> list[tuple[int, int]]:
    """Return first and last rows of chunks; they end where row groups do, unless these are long.

    Examples
    --------
    >>> split_rows([40, 40, 40, 250], 100)
    [(0, 80), (80, 120), (120, 220), (220, 320), (320, 370)]
    """
    found, start, stop = [], 0, 0
    for rows in groups:
        if stop > start and stop + rows - start > most:
            found.append((start, stop))
            start = stop
        stop += rows
        while stop - start > most:
            found.append((start, start + most))
            start += most
    return [*found, (start, stop)] if stop > start else found


@dataclass(frozen=True)
class ScoreStore:
    """A temporary folder of scores that all workers see."""

    folder: str

    def path(self, name: str) -> Path:
        """Return the path of a file; refuse if there is no folder."""
        if not os.path.isdir(self.folder):
            raise TableError(
                f"There is no folder {os.path.dirname(self.folder)} where rows were scored. All "
                "workers must see it under this name: choose one on a disk that they share."
            )
        return Path(self.folder, name)

    def read_ranked(self, chunks: Iterable[_Chunk], cut: Cut | None) -> Iterator[Any]:
        """Give the scored batches of some chunks, with their ranks."""
        ascending = np.load(self.path("sorted.npy"), mmap_mode="r")  # no worker has to hold it
        for chunk in chunks:
            with pa.OSFile(str(self.path(f"{chunk.number}.scores"))) as file:
                yield from read_ranked(file, ascending, cut, chunk.first_row)


def _score(
    chunks: list[_Chunk],
    schema: Any,
    scoring: Scoring,
    store: ScoreStore,
    engine: Engine,
    tally: Tally,
) -> tuple[NDArray, Cut | None]:
    """Put the scores of all rows into the store; return their suspicions, sorted, and the cut."""
    threads = engine.n_threads if isinstance(engine, Threads) else 1
    small = scoring.without_training(max(1, threads // len(chunks)))
    suspicion = np.empty(sum(chunk.stop - chunk.start for chunk in chunks))

    def take(chunk: _Chunk, found: tuple[NDArray, Tally]) -> None:
        suspicion[chunk.first_row - 1 :][: len(found[0])] = found[0]
        tally.merge(found[1])

    engine.map_unordered(_score_chunk, chunks, take, "scoring", [small, schema, store, BATCH_ROWS])
    cut = scoring.cut(suspicion)
    suspicion.sort()
    with writing(TEMPORARY):
        np.save(store.path("sorted.npy"), suspicion)
    return suspicion, cut


def _score_chunk(
    scoring: Scoring, schema: Any, store: ScoreStore, batch_rows: int, chunk: _Chunk
) -> tuple[NDArray, Tally]:
    """Write the scores of a chunk, and return what is known of it; again does no harm."""
    tally = Tally()
    batches = _read_chunk(store, schema, batch_rows, chunk)
    with (
        use_engine(Threads),  # chunks are what is spread over workers, not what is within them
        writing(TEMPORARY),
        whole_file(store.path(f"{chunk.number}.scores")) as unfinished,
        pa.OSFile(str(unfinished), "wb") as file,
    ):
        return write_scored(file, scoring, schema, batches, chunk.first_row, tally), tally


def _read_chunk(store: ScoreStore, schema: Any, batch_rows: int, chunk: _Chunk) -> Iterator[Any]:
    rows = 0
    read = read_rows(chunk.member, schema, batch_rows, chunk.start, chunk.stop)
    for batch in rebatch(read, batch_rows):
        store.path("")  # after Ctrl-C nobody waits for the rest
        yield batch
        rows += batch.num_rows
    if rows != chunk.stop - chunk.start:
        raise TableError(
            f"{chunk.member.place.shown} has changed while it was being read. Start again."
        )


def _write_files(
    files: list[_File],
    schema: Any,
    store: ScoreStore,
    target: str,
    engine: Engine,
    cut: Cut | None,
) -> None:
    whole = store.path("whole")
    with writing(target):  # now: after Ctrl-C no thread may make a folder again
        for file in files:
            Path(whole, file.name).parent.mkdir(parents=True, exist_ok=True)

    def take(file: _File, written: str) -> None:
        with writing(target):
            is_parquet = SUFFIXES.get(PurePosixPath(file.name).suffix.lower()) == "parquet"
            name = file.name if is_parquet else f"{file.name}.parquet"
            os.replace(store.path(written), Path(whole, name))

    engine.map_unordered(_write_file, files, take, "writing", [store, schema, cut])
    with writing(target):
        whole.replace(os.path.realpath(target))


def _write_file(store: ScoreStore, schema: Any, cut: Cut | None, file: _File) -> str:
    """Write the scores of a file, and return its name in the store; the caller moves it."""
    name = f"{file.number}.parquet"
    kept = [column for column in schema.names if column not in file.added]
    with (
        writing(file.name),
        whole_file(store.path(name)) as unfinished,
        parquet.ParquetWriter(unfinished, pa.schema(map(schema.field, kept))) as writer,
    ):
        for batch in store.read_ranked(file.chunks, cut):
            writer.write_batch(batch.select(kept))
    return name


@contextmanager
def _temporary_folder(path: str) -> Iterator[ScoreStore]:
    """Give a hidden folder beside a place; in the end nothing is left of it, whatever happens."""
    parent, name = os.path.split(os.path.realpath(path))
    folder = os.path.join(parent, f".{name}.{secrets.token_hex(6)}.part")
    gone = f"{folder}.gone"
    try:
        with writing(path):
            os.mkdir(folder)
        yield ScoreStore(folder)
    finally:
        with suppress(OSError):  # under another name nobody who still works can add to it
            os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _check(
    source: str, output: str, into_folder: bool, top: int | None, reading: dict[str, Any] | None
) -> Place:
    """Refuse what cannot be scored in chunks, and where nothing can be written."""
    refuse_address(output)
    if output == STANDARD:
        raise TableError("Scores in chunks need a place on a disk. Name a file or a folder.")
    if into_folder and top is not None:
        raise TableError(
            f"The most suspicious rows (`top`, --top) are one table, and {output} is a folder. "
            "Name a file, such as top.parquet."
        )
    given = reading or {}
    if given.get("bad_cells", "missing") != "missing" or given.get("query") is not None:
        raise TableError(
            "Scores in chunks are of Parquet files as they are: `bad_cells` (--bad-cells) must be "
            "missing, and `query` (--query) is for databases and workbooks. Leave them out, or "
            "name a file for the scores (-o scored.csv), without --engine."
        )
    found = find_format(source, given.get("format"))
    place = find_place(source)
    is_known = found == "parquet" or is_address(source)
    if source == STANDARD or found not in (None, "parquet") or not (is_known or place.is_folder):
        remedy = "name a file for the scores (-o scored.csv)" if into_folder else "use threads"
        raise TableError(
            "Only Parquet files and folders of them are scored in chunks, for a folder of scores "
            f"or by a cluster; got {show_place(source)}. Convert it, or {remedy}."
        )
    if into_folder:
        _check_new_folder(output, source)
    return place


def _check_new_folder(path: str, source: str) -> None:
    """Refuse a folder that cannot be new, or would be read with the table the next time."""
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise TableError(
            f"{path} is no folder or is not empty, and nothing in it is overwritten. Name a new "
            "folder, or empty it first."
        )
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent} to write to. Make it first.")
    read = local_path(source)
    if read is not None and Path(os.path.realpath(read)) in target.parents:
        raise TableError(
            f"{path} is in the folder that is being read, and would be part of the table the next "
            "time. Choose another folder."
        )
