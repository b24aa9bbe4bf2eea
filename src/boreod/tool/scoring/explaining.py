"""The most suspicious rows of a table, or rows that were asked for, with their reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.parallel import Progress, plain_interrupts
from boreod.tables import TableError
from boreod.tables.arrow import column_of, pa, pc
from boreod.tables.bad_cells import ROWS, row_numbers
from boreod.tables.cells import as_text
from boreod.text import listed
from boreod.tool.scoring.scoring import is_alert, suspicion_of, top_reasons
from boreod.tool.scoring.table_predictor import TablePredictor

REASONS = 5


@dataclass(frozen=True)
class ExplainedRow:
    """A row with its probability and reasons.

    Attributes
    ----------
    row
        Its number in the table, from 1.
    ids
        Values of the id columns.
    probability
        Of being an outlier.
    outlier
        Whether it is an alert: above the model's threshold, or novel.
    reasons
        Names of columns or families of scores, and what they added to the log-odds.
    words
        The same for people: values beside those of normal rows, neighborhoods, known outliers.
    novelty
        Share of training rows that are less isolated; None if that is not known.
    novel
        Why it is unlike all training rows, in words; None if it is not.
    outside
        Columns outside the range of the training rows, in words; None if there are none.
    """

    row: int
    ids: dict[str, Any]
    probability: float
    outlier: bool
    reasons: list[tuple[str, float]]
    words: list[str]
    novelty: float | None = None
    novel: str | None = None
    outside: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        named = [{"name": name, "contribution": value} for name, value in self.reasons]
        return {**asdict(self), "reasons": named}


def explain_top(
    model: TablePredictor,
    batches: Iterable[Any],
    number: int = 20,
    *,
    ids: Sequence[str] | None = None,
    reasons: int = REASONS,
    novelty: bool = True,
    verbose: bool = False,
) -> list[ExplainedRow]:
    """Return the most suspicious rows of a table, the most suspicious first.

    Parameters
    ----------
    model
        Scores the rows.
    batches
        Pyarrow record batches.
    number
        How many rows.
    ids
        Columns that name rows, None for those of the fit.
    reasons
        How many reasons every row gets.
    novelty
        Whether novel rows are alerts and come first.
    verbose
        Show a progress bar if it takes long.
    """
    best: Any = None  # their rows, with the numbers of these in the table and their suspicions
    numbers, suspicion = np.empty(0, np.int64), np.empty(0)
    seen = 0
    with Progress("scoring", None, verbose) as progress, plain_interrupts():
        for batch in filter(len, batches):
            found = model.assess(batch, novelty=novelty, first_row=seen + 1)
            own = suspicion_of(found.log_odds, found.novelty)
            chosen = np.argsort(-own, kind="stable")[:number]
            part = pa.Table.from_batches([batch.take(pa.array(chosen))])
            suspicion = np.concatenate([suspicion, own[chosen]])
            numbers = np.concatenate([numbers, row_numbers(batch, seen + 1)[chosen]])
            order = np.argsort(-suspicion, kind="stable")[:number]
            best = part if best is None else pa.concat_tables([best, part])
            best, numbers, suspicion = best.take(pa.array(order)), numbers[order], suspicion[order]
            seen += batch.num_rows
            progress.advance()
        if best is None:
            raise TableError("The table has no rows to explain.")
        names = model.ids_ if ids is None else ids
        first = best.combine_chunks().to_batches()[0]
        return _explain(model, first, numbers, names, reasons, novelty)


def explain_rows(
    model: TablePredictor,
    batches: Iterable[Any],
    *,
    rows: Iterable[int] = (),
    cases: Iterable[str] = (),
    ids: Sequence[str] | None = None,
    reasons: int = REASONS,
    novelty: bool = True,
) -> list[ExplainedRow]:
    """Return rows that are asked for by number or name, in the order of the table.

    Parameters
    ----------
    rows
        Numbers of rows, from 1.
    cases
        Names of rows: values of the columns ``ids``, as text.
    model, batches, ids, reasons, novelty
        As in :func:`explain_top`.
    """
    wanted, named = set(rows), set(cases)
    ids = model.ids_ if ids is None else ids
    if named and not ids:
        raise TableError(
            "The model knows no columns that name rows. Name one (--id), or ask by the number of "
            "the row (--row)."
        )
    result: list[ExplainedRow] = []
    seen, met, there = 0, set(), set()
    some_left_out = False
    for batch in batches:
        numbers = row_numbers(batch, seen + 1)
        some_left_out |= ROWS in (batch.schema.metadata or {})
        chosen = np.isin(numbers, list(wanted))
        there |= set(numbers[chosen].tolist())
        for name in ids if named else ():
            values = as_text(column_of(batch, name), name)
            hit = pc.is_in(values, value_set=pa.array(sorted(named), pa.string()))
            chosen |= hit.to_numpy(zero_copy_only=False)
            met |= named & set(values.filter(hit).to_pylist())
        with plain_interrupts():
            for place in np.flatnonzero(chosen):  # one by one: errors name the row
                one = numbers[place : place + 1]
                result += _explain(model, batch.slice(place, 1), one, ids, reasons, novelty)
        seen += batch.num_rows
    missing = sorted(wanted - there)
    if missing and some_left_out:
        raise TableError(
            f"Row {listed(missing, 5)} is not there, or was left out because of a bad cell. To "
            "read all rows, take such cells for missing: `bad_cells` (--bad-cells) missing."
        )
    if missing:
        raise TableError(f"The table has rows 1 to {seen}; there is no row {listed(missing, 5)}.")
    if named - met:
        raise TableError(f"No row of the table has the id {listed(sorted(named - met), 5)}.")
    return result


def _explain(
    model: TablePredictor,
    batch: Any,
    numbers: NDArray,
    names: Sequence[str],
    reasons: int,
    novelty: bool,
) -> list[ExplainedRow]:
    rows = model.prepare(batch, int(numbers[0]))
    found = model.assess_rows(rows, True, novelty)
    written = model.reason_writer.write(rows, found, reasons, model.words_of(batch))
    assert found.explanation is not None
    ids = batch.select(list(names)).to_pylist() if names else [{}] * len(numbers)
    suspicion = suspicion_of(found.log_odds, found.novelty)
    unknown: list[Any] = [None] * len(numbers)
    shares = words = outside = unknown
    if found.novelty is not None:
        words, outside = found.novelty.words(), found.novelty.outside()
        if found.novelty.p_values is not None:
            shares = (1.0 - found.novelty.p_values).tolist()
    columns = (
        numbers.tolist(),
        ids,
        expit(found.log_odds).tolist(),
        is_alert(suspicion, model.alert_threshold(novelty=novelty)).tolist(),
        top_reasons(found.explanation, reasons),
        [[reason.shown for reason in row] for row in written],
        shares,
        words,
        outside,
    )
    return [ExplainedRow(*row) for row in zip(*columns, strict=True)]
