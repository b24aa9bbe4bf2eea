"""A table of scores from a table of any size: read, score, rank, write.

A rank needs all rows. Scored batches therefore wait in a temporary file until the last one has
come, and 8 bytes a row are kept in memory.
"""

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.parallel import Progress
from boreod.tables import TableError, TableWriter, open_table
from boreod.tables.arrow import no_rows, pa, parquet
from boreod.tables.reading.locations import PACKED, STANDARD, TEXT_FORMATS, find_format
from boreod.tables.writer import writing
from boreod.tool.scoring.checking import (
    Finding,
    Limits,
    Tally,
    check_columns_of,
    find_changes,
)
from boreod.tool.scoring.scoring import (
    NOVEL,
    Cut,
    Scoring,
    is_alert,
    rank,
    ranked_schema,
    with_alerts,
    with_ranks,
)
from boreod.tool.scoring.table_predictor import TablePredictor

BATCH_ROWS = 20_000
SAMPLE_BYTES = 1 << 16  # of text, to guess its number of lines
SUSPICION = "suspicion"
TEMPORARY = "The temporary file of scores"
NO_NOVELTY = (
    "The model searches no neighbors: novel rows are not known and raise "
    "no alert. The column `outside` names values beyond the training range; a larger budget would "
    "tell more."
)


@dataclass(frozen=True)
class ScoreSummary:
    """What was written.

    Attributes
    ----------
    rows
        Number of rows that were scored.
    outliers
        Number of alerts: rows above the threshold, and novel ones.
    novel
        Number of novel rows, None if novelty was not asked for or is not known.
    threshold
        Probability above which a row is an alert.
    written
        Number of rows in the output.
    notes
        Remarks for the user.
    files
        Number of files in the output.
    asked
        Number of alerts that was asked for, None if the threshold made them.
    """

    rows: int
    outliers: int
    novel: int | None
    threshold: float
    written: int
    notes: tuple[str, ...] = ()
    files: int = 1
    asked: int | None = None


def score_table(
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
    batch_rows: int = BATCH_ROWS,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> ScoreSummary:
    """Score a file; memory does not depend on its length, but for 8 bytes a row.

    Parameters
    ----------
    model
        Scores the rows.
    source
        A table, ``-`` for standard input.
    output
        A file whose suffix tells its format, ``-`` for standard output. It has the columns that
        name rows, ``probability``, ``rank``, ``outlier``, ``novelty``, ``outside``, and reasons.
    carry
        Columns to carry through, in place of the model's ids; empty for row numbers.
    all_columns
        Carry all columns.
    reasons
        How many reasons every row gets.
    top
        Write so many of the most suspicious rows, by rank; None for all rows as they come.
    threshold
        Of the decision, None for that of the model. ``"alerts:20"`` are the twenty rows of this
        table that rank first, novel ones before others; of equal ones those that come first.
    novelty
        Whether rows get columns about their novelty, and novel ones are alerts and rank first.
    numbers
        Whether reasons are names of columns and what they add to the log-odds, not words.
    batch_rows
        Rows that are scored at once.
    reading
        Options of ``boreod.tables.open_table``.
    verbose
        Show a progress bar if it takes long.
    """
    name = fspath(source)
    scoring = Scoring.plan(model, carry, all_columns, reasons, threshold, novelty, numbers)
    tally = Tally()
    options = scoring.reading(reading)
    with (
        TableWriter(output, inputs=[name]) as writer,
        open_table(name, batch_rows=batch_rows, **options) as reader,
        _temporary_file(fspath(output)) as file,
    ):
        scoring.check(reader.schema.names)
        total = count_batches(name, options.get("format"), batch_rows)
        with Progress("scoring", total, verbose) as progress, writing(TEMPORARY):
            batches = counted(reader, progress)
            suspicion = write_scored(file, scoring, reader.schema, batches, tally=tally)
            file.seek(0)
        cut = scoring.cut(suspicion)
        suspicion.sort()
        total = -(-len(suspicion) // batch_rows)
        with Progress("writing", total, verbose) as progress:
            for batch in counted(choose_rows(read_ranked(file, suspicion, cut), top), progress):
                writer.write(batch)
        if not len(suspicion):
            writer.write(no_rows(ranked_schema(scoring.schema(reader.schema))))
    return summarize(suspicion, scoring, writer.rows, tally)


@dataclass(frozen=True)
class CheckedTable:
    """How a table differs from the training table: its number of rows, and findings."""

    rows: int
    findings: list[Finding]


def check_table(
    model: TablePredictor,
    source: str | PathLike[str],
    *,
    limits: Limits | None = None,
    threshold: float | str | None = None,
    novelty: bool = True,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> CheckedTable:
    """Return how a file differs from the training table; memory does not depend on its length.

    Parameters
    ----------
    limits
        What is allowed; None for the usual limits.
    model, source, threshold, novelty, reading, verbose
        As in :func:`score_table`; a number of alerts is not judged.
    """
    name, tally = fspath(source), Tally()
    scoring = Scoring.plan(model, (), False, 0, threshold, novelty)
    findings = []
    if name != STANDARD:  # a pipe is read once
        given = reading or {}
        types = {**given.get("types", {}), **model.types_}
        # faults of columns that the model does not use do not matter, and others are told below
        with (
            suppress(TableError),
            open_table(name, **{**given, "types": types, "bad_cells": "missing"}) as reader,
        ):
            findings = check_columns_of(model, reader.schema.names)
        if any(finding.is_alarm for finding in findings):
            return CheckedTable(0, findings)
    options = scoring.reading(reading)
    with (
        open_table(name, batch_rows=BATCH_ROWS, **options) as reader,
        Progress("scoring", None, verbose) as progress,
    ):
        for _ in scoring.score_all(counted(reader, progress), tally=tally):
            pass
    findings += _find_changes(scoring, tally, limits or Limits())
    return CheckedTable(tally.rows, findings)


def _find_changes(scoring: Scoring, tally: Tally, limits: Limits) -> list[Finding]:
    threshold = scoring.threshold if scoring.alerts is None else None  # a number is as asked for
    return find_changes(scoring.model, tally, limits, threshold, novelty=scoring.tells_novelty)


def summarize(
    suspicion: NDArray, scoring: Scoring, written: int, tally: Tally, files: int = 1
) -> ScoreSummary:
    """Return what was written."""
    novel = int(np.count_nonzero(suspicion >= NOVEL)) if scoring.tells_novelty else None
    notes = [NO_NOVELTY] if scoring.novelty and novel is None else []
    if scoring.alerts is None:
        outliers = int(np.count_nonzero(is_alert(suspicion, scoring.threshold)))
        threshold = scoring.threshold
    else:  # as many as were asked for
        outliers = min(scoring.alerts, len(suspicion))
        lowest = suspicion[-outliers] if outliers else 0.0
        threshold = float(expit(min(lowest, NOVEL)))
        tied = int(np.count_nonzero(suspicion == lowest)) - 1
        if tied and outliers < len(suspicion) and suspicion[-outliers - 1] == lowest:
            notes.append(
                f"The last alerts are {tied + 1:,} rows with the same score; of these the first in "
                "the table were taken."
            )
    notes += [finding.text for finding in _find_changes(scoring, tally, Limits())]
    return ScoreSummary(
        len(suspicion), outliers, novel, threshold, written, tuple(notes), files, scoring.alerts
    )


def write_scored(
    file: Any,
    scoring: Scoring,
    schema: Any,
    batches: Iterable[Any],
    first_row: int = 1,
    tally: Tally | None = None,
) -> NDArray:
    """Write the scores of batches to an open file, and return how suspicious their rows are."""
    suspicion = array("d")
    schema = scoring.schema(schema).append(pa.field(SUSPICION, pa.float64()))
    with pa.ipc.new_stream(file, schema) as sink:
        for scored, part in scoring.score_all(batches, first_row, tally):
            sink.write_batch(scored.append_column(SUSPICION, pa.array(part)))
            suspicion.frombytes(np.ascontiguousarray(part, np.float64).tobytes())
    return np.frombuffer(suspicion, np.float64)


def read_ranked(
    file: Any, ascending: NDArray, cut: Cut | None = None, first_row: int = 1
) -> Iterator[Any]:
    """Give the batches that ``write_scored`` wrote, with ranks among the sorted suspicions.

    With a ``cut`` it decides what is an alert; ``first_row`` is the number of the first row.
    """
    for batch in pa.ipc.open_stream(file):
        last = batch.num_columns - 1  # by place: a table may have a column of the same name
        suspicion = batch.column(last).to_numpy()
        order = np.argsort(suspicion)  # in this order the search stays within few pages of memory
        ranks = np.empty(len(order), np.int64)
        ranks[order] = rank(suspicion[order], ascending)
        found = with_ranks(batch.select(list(range(last))), ranks)
        yield found if cut is None else with_alerts(found, cut.tells(suspicion, first_row))
        first_row += batch.num_rows


def choose_rows(batches: Iterable[Any], top: int | None) -> Iterator[Any]:
    """Give all ranked batches as they come, or so many of the most suspicious rows by rank."""
    if top is None:
        yield from batches
        return
    table = None
    for batch in batches:
        chosen = np.flatnonzero(batch.column("rank").to_numpy() <= top)
        part = pa.Table.from_batches([batch.take(pa.array(chosen))])
        table = part if table is None else pa.concat_tables([table, part])
        order = np.argsort(table.column("rank").to_numpy(), kind="stable")[:top]
        table = table.take(pa.array(order))  # at once: rows of one rank may be many
    if table is not None:
        yield from table.combine_chunks().to_batches()


def counted(batches: Iterable[Any], progress: Progress) -> Iterator[Any]:
    """Give batches, and count each when it is done with."""
    for batch in batches:
        yield batch
        progress.advance()


def count_batches(path: str, asked: str | None, batch_rows: int) -> int | None:
    """Return about how many batches a table has; None if only reading it would tell."""
    kind = find_format(path, asked, to_read=True)
    is_packed = path.lower().endswith(PACKED)
    if not os.path.isfile(path) or kind not in (*TEXT_FORMATS, "parquet") or is_packed:
        return None
    try:
        if kind == "parquet":
            rows = int(parquet.read_metadata(path).num_rows)
        else:
            with open(path, "rb") as file:
                lines = file.read(SAMPLE_BYTES)
            rows = os.path.getsize(path) * lines.count(b"\n") // max(1, len(lines))
    except (OSError, pa.ArrowException):
        return None
    return -(-rows // batch_rows)


@contextmanager
def _temporary_file(output: str) -> Iterator[Any]:
    """Give a file on the disk of the output, without a name where the system allows it.

    Nothing is left of it however the process ends.
    """
    folder = None if output == STANDARD else os.path.dirname(os.path.realpath(output))
    with writing(TEMPORARY):
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
    try:
        yield file
    finally:
        with suppress(OSError):  # a full disk was told of before
            file.close()
