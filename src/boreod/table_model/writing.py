"""A table of scores from a table of any size: read, score, rank, write."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from boreod.parallel import Progress
from boreod.table_model.model import TableModel
from boreod.table_model.row_counts import count_batches
from boreod.table_model.scoring import is_novel, plan_scoring, with_ranks
from boreod.table_model.spool import Spool, rank
from boreod.tables import TableError, TableWriter, as_arrow, like_input, open_table
from boreod.tables.arrow import pa, pc
from boreod.tables.locations import STANDARD

BATCH_ROWS = 20_000


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
    """

    rows: int
    outliers: int
    novel: int | None
    threshold: float
    written: int
    notes: tuple[str, ...] = ()
    files: int = 1


def score_table(
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
        Of the decision, None for that of the model.
    novelty
        Whether rows get columns about their novelty, and novel ones are alerts and rank first.
    batch_rows
        Rows that are scored at once.
    reading
        Options of ``boreod.tables.open_table``.
    verbose
        Show a progress bar if it takes long.
    """
    name = fspath(source)
    scoring = plan_scoring(model, carry, all_columns, reasons, threshold, novelty)
    options = scoring.reading(reading)
    inputs = [] if name == STANDARD else [name]
    outliers = novel = 0
    with (
        TableWriter(output, inputs=inputs) as writer,
        open_table(name, batch_rows=batch_rows, **options) as reader,
        Spool(fspath(output)) as spool,
    ):
        scoring.check(reader.schema.names)
        total = count_batches(name, options.get("format"), batch_rows)
        with Progress("scoring", total, verbose) as progress:
            for batch in reader:
                scored, suspicion = scoring.score(batch, spool.rows + 1)
                outliers += pc.sum(scored.column("outlier")).as_py()
                novel += int(is_novel(suspicion).sum())
                spool.write(scored, suspicion)
                progress.advance()
        notes = (*reader.notes, *scoring.notes)
        with Progress("writing", spool.batches, verbose) as progress:
            for batch in ranked_rows(spool.ranked(), top):
                writer.write(batch)
                progress.advance()
    known = novel if scoring.tells_novelty else None
    return ScoreSummary(spool.rows, outliers, known, scoring.threshold, writer.rows, notes)


def ranked_rows(ranked: Iterable[tuple[Any, Any]], top: int | None) -> Iterator[Any]:
    """Give all rows with their ranks as they come, or the most suspicious ones by rank.

    Parameters
    ----------
    ranked
        Scored batches and their ranks.
    top
        So many rows, the first of equal ones; None for all.
    """
    if top is None:
        yield from (with_ranks(batch, ranks) for batch, ranks in ranked)
        return
    table = None
    for batch, ranks in ranked:
        chosen = np.flatnonzero(ranks <= top)
        part = pa.Table.from_batches([with_ranks(batch, ranks).take(pa.array(chosen))])
        table = part if table is None else pa.concat_tables([table, part])
        order = np.argsort(table.column("rank").to_numpy(), kind="stable")[:top]
        table = table.take(pa.array(order))  # at once: rows of one rank may be many
    if table is not None:
        yield from table.combine_chunks().to_batches()


def score_frame(
    model: TableModel,
    frame: Any,
    *,
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
) -> Any:
    """Return ids, probability, rank, decision, novelty and reasons as the same kind of frame.

    Parameters
    ----------
    model
        Scores the rows.
    frame
        A pandas or polars frame, or an Arrow table or record batch.
    reasons
        How many reasons every row gets.
    threshold
        Of the decision, None for that of the model.
    novelty
        Whether rows get columns about their novelty, and novel ones are alerts and rank first.
    """
    table = as_arrow(frame)
    ids = tuple(name for name in model.ids if name in table.column_names)
    scoring = plan_scoring(model, ids, False, reasons, threshold, novelty)
    scoring.check(table.column_names)
    batches = table.combine_chunks().to_batches()
    if not batches:
        raise TableError("The table has no rows to score.")
    scored, suspicion = scoring.score(batches[0])
    result = with_ranks(scored, rank(suspicion, np.sort(suspicion)))
    return like_input(pa.Table.from_batches([result]), frame)
