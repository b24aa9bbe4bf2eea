"""A folder of scores from a folder of Parquet files, in pieces that an engine spreads."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import whole_file
from boreod.parallel import Engine, Threads, current_engine
from boreod.table_model.model import TableModel
from boreod.table_model.pieces import Piece, PieceScorer, Store, cut, score_piece
from boreod.table_model.scoring import (
    Scoring,
    is_alert,
    is_novel,
    plan_scoring,
    ranked_schema,
    with_ranks,
)
from boreod.table_model.unfinished import check_new_folder, is_folder_name, unfinished_folder
from boreod.table_model.writing import BATCH_ROWS, ScoreSummary, ranked_rows
from boreod.tables import TableError, TableWriter
from boreod.tables.arrow import pa, parquet
from boreod.tables.binary_files import Footer, Member, find_members, read_footer, unified_schema
from boreod.tables.locations import (
    STANDARD,
    SUFFIXES,
    Place,
    find_format,
    find_place,
    is_address,
    refuse_address,
    show_place,
)
from boreod.tables.sources import Options
from boreod.tables.writer import writing

PIECE_ROWS = 200_000
ENOUGH = 64  # pieces of a table that is not long, so that many workers have something to do


def score_folder(
    model: TableModel,
    source: str | PathLike[str],
    output: str | PathLike[str],
    *,
    carry: tuple[str, ...] | None = None,
    all_columns: bool = False,
    reasons: int = 0,
    top: int | None = None,
    threshold: float | str | None = None,
    novelty: bool = True,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
    engine: Engine | None = None,
) -> ScoreSummary:
    """Score Parquet files on all cores or on a cluster, each into a file of the same name.

    The rows are those of :func:`boreod.table_model.score_table`, in the same order; ranks and row
    numbers count over all files. Memory does not depend on their number, but for 8 bytes a row.

    Parameters
    ----------
    model
        Scores the rows.
    source
        A folder of Parquet files, also in folders of its own, or a single Parquet file; or the
        address of one, such as ``s3://bucket/folder``.
    output
        A folder that is new or empty: a name that ends in a slash or has no suffix. A name with a
        suffix is a file, for all scores in one table. On a cluster all workers must see its disk.
    carry, all_columns, reasons, threshold, novelty, reading, verbose
        As in :func:`boreod.table_model.score_table`.
    top
        As in :func:`boreod.table_model.score_table`, if the output is a file.
    engine
        Scores the pieces; None for that of an enclosing ``with boreod.parallel.dask(...)``, or else
        threads of this process, as many as the model's ``n_jobs``.
    """
    name, target = fspath(source), fspath(output)
    into_folder = is_folder_name(target)
    place = _check(name, target, into_folder, top, reading)
    scoring = plan_scoring(model, carry, all_columns, reasons, threshold, novelty)
    if engine is None:
        engine = current_engine(model.detector.n_jobs, verbose)
    table = _Table.open(place, scoring.reading(reading), engine)
    scoring.check(table.schema.names)
    if into_folder:
        with unfinished_folder(target) as folder:
            outliers, novel = _score(table, scoring, Store(folder), engine)
            _write_files(table, scoring, Store(folder), target, engine)
        written, files = table.rows, len(table.members)
    else:
        with (
            TableWriter(target, inputs=[name]) as writer,
            unfinished_folder(target) as folder,
        ):
            outliers, novel = _score(table, scoring, Store(folder), engine)
            for batch in ranked_rows(Store(folder).ranked(range(len(table.pieces))), top):
                writer.write(batch)
        written, files = writer.rows, 1
    known = novel if scoring.tells_novelty else None
    return ScoreSummary(
        table.rows, outliers, known, scoring.threshold, written, scoring.notes, files
    )


@dataclass(frozen=True)
class _Table:
    """All files, what they hold, and how they are cut."""

    members: list[Member]
    footers: list[Footer]
    schema: Any
    pieces: list[Piece]
    rows: int

    @classmethod
    def open(cls, place: Place, reading: dict[str, Any], engine: Engine) -> "_Table":
        options = Options(types=reading["types"], columns=reading["columns"])
        members = find_members(place, options.types)
        footers = engine.map(read_footer, members, "looking into files", [options])
        schema = unified_schema(members, footers)
        groups = [footer.groups for footer in footers]
        rows = sum(map(sum, groups))
        if not rows:
            raise TableError(f"{place.shown} has columns but no rows. A table needs rows.")
        most = min(PIECE_ROWS, max(BATCH_ROWS, -(-rows // ENOUGH)))
        return cls(members, footers, schema, cut(members, groups, most), rows)


def _score(table: _Table, scoring: Scoring, store: Store, engine: Engine) -> tuple[int, int]:
    """Put the scores of all rows into the store; return the numbers of alerts and novel rows."""
    threads = engine.n_threads if isinstance(engine, Threads) else 1
    light = scoring.light(max(1, threads // len(table.pieces)))
    suspicion = np.empty(table.rows)

    def take(piece: Piece, found: NDArray) -> None:
        suspicion[piece.rows] = found

    score = PieceScorer(light, table.schema, store, BATCH_ROWS)
    engine.map_unordered(score_piece, table.pieces, take, "scoring", [score])
    outliers = int(np.count_nonzero(is_alert(suspicion, scoring.threshold)))
    novel = int(np.count_nonzero(is_novel(suspicion)))
    store.rank(suspicion)
    return outliers, novel


@dataclass(frozen=True)
class _File:
    """A file of scores to be written: its pieces, and columns that its folders tell already."""

    number: int
    name: str
    pieces: Sequence[int]
    told: tuple[str, ...]


def _write_files(
    table: _Table, scoring: Scoring, store: Store, target: str, engine: Engine
) -> None:
    numbers: dict[str, list[int]] = {member.name: [] for member in table.members}
    for piece in table.pieces:
        numbers[piece.member.name].append(piece.number)
    files = [
        _File(place, member.name, numbers[member.name], footer.added)
        for place, (member, footer) in enumerate(zip(table.members, table.footers, strict=True))
    ]
    whole = store.path("whole")
    with writing(target):  # now: after Ctrl-C no thread may make a folder again
        for file in files:
            Path(whole, file.name).parent.mkdir(parents=True, exist_ok=True)

    def take(file: _File, written: str) -> None:
        with writing(target):
            os.replace(store.path(written), Path(whole, _output_name(file.name)))

    schema = ranked_schema(scoring.schema(table.schema))
    engine.map_unordered(_write_file, files, take, "writing", [store, schema])
    with writing(target):
        whole.replace(os.path.realpath(target))


def _write_file(store: Store, schema: Any, file: _File) -> str:
    """Write the scores of a file, and return its name in the store; the caller moves it."""
    name = f"{file.number}.parquet"
    kept = [column for column in schema.names if column not in file.told]
    with (
        writing(file.name),
        whole_file(store.path(name)) as unfinished,
        parquet.ParquetWriter(unfinished, pa.schema(map(schema.field, kept))) as writer,
    ):
        for batch, ranks in store.ranked(file.pieces):
            writer.write_batch(with_ranks(batch, ranks).select(kept))
    return name


def _output_name(name: str) -> str:
    """Return the name of a file of scores: that of its rows, but always one of Parquet."""
    is_parquet = SUFFIXES.get(PurePosixPath(name).suffix.lower()) == "parquet"
    return name if is_parquet else f"{name}.parquet"


def _check(
    source: str, output: str, into_folder: bool, top: int | None, reading: dict[str, Any] | None
) -> Place:
    """Refuse what cannot be scored in pieces, and where nothing can be written."""
    refuse_address(output)
    if output == STANDARD:
        raise TableError("Scores of pieces need a place on a disk. Name a file or a folder.")
    if into_folder and top is not None:
        raise TableError(
            f"The most suspicious rows (`top`, --top) are one table, and {output} is a folder. "
            "Name a file, such as top.parquet."
        )
    found = find_format(source, (reading or {}).get("format"))
    place = find_place(source)
    is_told = found == "parquet" or is_address(source)
    if source == STANDARD or found not in (None, "parquet") or not (is_told or place.is_folder):
        remedy = "name a file for the scores (-o scored.csv)" if into_folder else "use threads"
        raise TableError(
            "Only Parquet files and folders of them are scored in pieces, for a folder of scores "
            f"or by a cluster; got {show_place(source)}. Convert it, or {remedy}."
        )
    if into_folder:
        check_new_folder(output, source)
    return place
