"""Explain the most suspicious rows of a table, or the rows that a user asks for."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.parallel import Progress, plain_interrupts
from boreod.predictor import Predictor, assess, prepare
from boreod.tables import TableError
from boreod.tables.arrow import column_of, pa, pc
from boreod.tables.cells import as_text
from boreod.tables.reading.blocks import ROWS, row_numbers
from boreod.text import listed
from boreod.tool.reasons import as_prose, write_reasons
from boreod.tool.scoring import judging


@dataclass(frozen=True)
class ExplainedRow:
    """A row with its probability and reasons.

    Attributes
    ----------
    row
        Row number in the table, from 1.
    ids
        Values of the id columns.
    probability
        Probability of being an outlier.
    outlier
        Whether the row is an alert: above the model's threshold, or novel.
    reasons
        Names of columns or families of scores, and what each of them added to the log-odds.
    words
        The reasons in words. They compare the row with normal rows and with known outliers.
    novelty
        Share of training rows that are less isolated than the row; None if it was not computed.
    novel
        Why the row is novel, in words; None if it is not novel.
    outside
        Columns whose value is outside the training range, in words; None if there are none.
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
    model: Predictor,
    batches: Iterable[Any],
    number: int = 20,
    *,
    ids: Sequence[str] | None = None,
    reasons: int = 5,
    novelty: bool = True,
    verbose: bool = False,
) -> list[ExplainedRow]:
    """Return the most suspicious rows of a table, the most suspicious first.

    Parameters
    ----------
    model
        The model that scores the rows.
    batches
        Pyarrow record batches.
    number
        Number of rows to return.
    ids
        Columns with the ids of rows. If None, these are the id columns of the model.
    reasons
        Maximum number of reasons for each row.
    novelty
        Whether novel rows are alerts and come first, unless very many rows are novel.
    verbose
        Whether to show a progress bar if the work takes long.
    """
    # The most suspicious rows so far, by novelty or by probability alone, in their order.
    best: list[Any] = []
    numbers = np.empty(0, np.int64)
    # For each of these rows, its suspicion and its log-odds.
    keys = np.empty((2, 0))
    seen = novel = 0
    with Progress("scoring", None, verbose) as progress, plain_interrupts():
        for batch in filter(len, batches):
            found = assess(model, prepare(model, batch, seen + 1), novelty=novelty)
            own = judging.suspicion_of(found.log_odds, found.novelty)
            keys = np.hstack([keys, [own, found.log_odds]])
            numbers = np.concatenate([numbers, row_numbers(batch, seen + 1)])
            kept = np.unique(np.argsort(-keys, axis=1, kind="stable")[:, :number])
            keys = keys[:, kept]
            numbers = numbers[kept]
            both = pa.concat_tables([*best, pa.Table.from_batches([batch])])
            best = [both.take(pa.array(kept))]
            novel += int(np.count_nonzero(own >= judging.NOVEL))
            seen += batch.num_rows
            progress.advance()
        if not best:
            raise TableError("The table has no rows to explain.")
        by_probability = novel > 0 and judging.is_unlike_training(model, novel, seen)
        if by_probability:
            warnings.warn(judging.say_unlike(novel, seen), stacklevel=2)
        order = np.argsort(-keys[int(by_probability)], kind="stable")[:number]
        batch = best[0].take(pa.array(order)).combine_chunks().to_batches()[0]
        return _explain(model, batch, numbers[order], ids, reasons, novelty, by_probability)


def explain_rows(
    model: Predictor,
    batches: Iterable[Any],
    *,
    rows: Iterable[int] = (),
    cases: Iterable[str] = (),
    ids: Sequence[str] | None = None,
    reasons: int = 5,
    novelty: bool = True,
) -> list[ExplainedRow]:
    """Return the requested rows with their reasons, in the order of the table.

    Parameters
    ----------
    rows
        Row numbers, from 1.
    cases
        Ids of rows: values of any of the columns ``ids``, as text.
    model, batches, ids, reasons, novelty
        As in :func:`explain_top`.
    """
    named = set(cases)
    ids = model.preparation_.ids_ if ids is None else ids
    if named and not ids:
        raise TableError(
            "The model knows no columns that name rows. Name one (--id), or ask by the number of "
            "the row (--row)."
        )
    result: list[ExplainedRow] = []
    seen = 0
    missing = set(rows)
    wanted = list(missing)
    unmet = set(named)
    some_left_out = False
    for batch in batches:
        numbers = row_numbers(batch, seen + 1)
        some_left_out |= ROWS in (batch.schema.metadata or {})
        chosen = np.isin(numbers, wanted)
        missing.difference_update(numbers[chosen].tolist())
        for name in ids if named else ():
            values = as_text(column_of(batch, name), name)
            hit = pc.is_in(values, value_set=pa.array(sorted(named), pa.string()))
            chosen |= hit.to_numpy(zero_copy_only=False)
            unmet -= set(values.filter(hit).to_pylist())
        with plain_interrupts():
            # Rows are explained one by one, so that errors name the row.
            for place in np.flatnonzero(chosen):
                row = batch.slice(place, 1)
                result += _explain(model, row, numbers[[place]], ids, reasons, novelty)
        seen += batch.num_rows
    if missing and some_left_out:
        raise TableError(
            f"Row {listed(sorted(missing), 5)} is not there, or was left out because of a bad "
            "cell. To read all rows, take such cells for missing: `bad_cells` (--bad-cells) "
            "missing."
        )
    if missing:
        raise TableError(
            f"The table has rows 1 to {seen}; there is no row {listed(sorted(missing), 5)}."
        )
    if unmet:
        raise TableError(f"No row of the table has the id {listed(sorted(unmet), 5)}.")
    return result


def _explain(
    model: Predictor,
    batch: Any,
    numbers: NDArray,
    ids: Sequence[str] | None,
    reasons: int,
    novelty: bool,
    by_probability: bool = False,
) -> list[ExplainedRow]:
    rows = prepare(model, batch, int(numbers[0]))
    found = assess(model, rows, True, novelty)
    assert found.explanation is not None
    names = model.preparation_.ids_ if ids is None else ids
    counts_novelty = novelty and not by_probability
    suspicion = judging.suspicion_of(found.log_odds, found.novelty if counts_novelty else None)
    limit = judging.alert_threshold(model, novelty=counts_novelty)
    columns: dict[str, Any] = {
        "row": numbers.tolist(),
        "ids": batch.select(list(names)).to_pylist() if names else [{} for _ in numbers],
        "probability": expit(found.log_odds).tolist(),
        "outlier": judging.is_alert(suspicion, limit).tolist(),
        "reasons": judging.top_reasons(found.explanation, reasons),
        "words": [
            [reason.shown for reason in row]
            for row in write_reasons(model, rows, found, reasons, batch)
        ],
    }
    if found.novelty is not None:
        columns["novel"] = found.novelty.words()
        columns["outside"] = [text and as_prose(text) for text in found.novelty.outside()]
        if found.novelty.p_values is not None:
            columns["novelty"] = (1.0 - found.novelty.p_values).tolist()
    rows_of_cells = zip(*columns.values(), strict=True)
    return [ExplainedRow(**dict(zip(columns, cells, strict=True))) for cells in rows_of_cells]
