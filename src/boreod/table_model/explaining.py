"""The most suspicious rows of a table, or rows that were asked for, with their reasons."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from boreod.ensemble.novelty import Novelty
from boreod.parallel import Progress, plain_interrupts
from boreod.table_model.model import TableModel
from boreod.table_model.reasons import top
from boreod.table_model.scoring import is_alert, suspect
from boreod.tables.arrow import TableError, column_of, pa, pc
from boreod.tables.cells import as_text
from boreod.text import listed

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
    novelty: float | None = None
    novel: str | None = None
    outside: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        named = [{"name": name, "contribution": value} for name, value in self.reasons]
        return {**asdict(self), "reasons": named}


def explain_top(
    model: TableModel,
    batches: Iterable[Any],
    number: int = 20,
    *,
    reasons: int = REASONS,
    novelty: bool = True,
    total: int | None = None,
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
    reasons
        How many reasons every row gets.
    novelty
        Whether novel rows are alerts and come first.
    total
        Number of batches if it is known, for the progress bar.
    verbose
        Show a progress bar if it takes long.
    """
    best: _Held | None = None
    seen = 0
    with Progress("scoring", total, verbose) as progress, plain_interrupts():
        for batch in batches:
            assessed = model.assess(batch, seen + 1, novelty=novelty)
            suspicion = suspect(assessed.log_odds, assessed.novelty)
            chosen = np.argsort(-suspicion, kind="stable")[:number]
            found = _Held(batch.take(pa.array(chosen)), chosen + seen + 1, suspicion[chosen])
            best = found if best is None else best.joined(found).most(number)
            seen += batch.num_rows
            progress.advance()
        if best is None:
            raise TableError("The table has no rows to explain.")
        return best.explained(model, reasons, novelty)


def explain_rows(
    model: TableModel,
    batches: Iterable[Any],
    *,
    rows: Iterable[int] = (),
    ids: Iterable[str] = (),
    reasons: int = REASONS,
    novelty: bool = True,
) -> list[ExplainedRow]:
    """Return rows that are asked for by number or id, in the order of the table.

    Parameters
    ----------
    model
        Scores the rows.
    batches
        Pyarrow record batches.
    rows
        Numbers of rows, from 1.
    ids
        Values of id columns, as text.
    reasons
        How many reasons every row gets.
    novelty
        Whether novel rows are alerts.
    """
    wanted, named = set(rows), set(ids)
    if named and not model.ids:
        raise TableError("The model knows no id columns, so ask by the number of the row (--row).")
    result: list[ExplainedRow] = []
    seen, met = 0, set()
    for batch in batches:
        numbers = np.arange(seen + 1, seen + batch.num_rows + 1)
        chosen = np.isin(numbers, list(wanted))
        for name in model.ids if named else ():
            values = as_text(column_of(batch, name), name)
            hit = pc.is_in(values, value_set=pa.array(sorted(named), pa.string()))
            chosen |= hit.to_numpy(zero_copy_only=False)
            met |= named & set(values.filter(hit).to_pylist())
        if chosen.any():
            with plain_interrupts():
                for place in np.flatnonzero(chosen):  # one by one: errors name the row
                    held = _Held(batch.slice(place, 1), numbers[place : place + 1])
                    result += held.explained(model, reasons, novelty)
        seen += batch.num_rows
    _check_all_met(wanted, named - met, seen)
    return result


def _check_all_met(rows: set[int], ids: set[str], seen: int) -> None:
    missing = sorted(row for row in rows if not 1 <= row <= seen)
    if missing:
        raise TableError(f"The table has rows 1 to {seen}; there is no row {listed(missing, 5)}.")
    if ids:
        raise TableError(f"No row of the table has the id {listed(sorted(ids), 5)}.")


@dataclass(frozen=True)
class _Held:
    """Some rows of a table, their numbers and how suspicious they are."""

    table: Any
    numbers: NDArray
    suspicion: NDArray | None = None

    def joined(self, other: "_Held") -> "_Held":
        """Return these rows and others."""
        assert self.suspicion is not None
        assert other.suspicion is not None
        tables = [pa.Table.from_batches([held.table]) for held in (self, other)]
        both = pa.concat_tables(tables).combine_chunks().to_batches()[0]
        return _Held(both, *(np.concatenate(pair) for pair in (
            (self.numbers, other.numbers), (self.suspicion, other.suspicion)
        )))  # fmt: skip

    def most(self, number: int) -> "_Held":
        """Return the most suspicious rows."""
        assert self.suspicion is not None
        order = np.argsort(-self.suspicion, kind="stable")[:number]
        return _Held(self.table.take(pa.array(order)), self.numbers[order], self.suspicion[order])

    def explained(self, model: TableModel, reasons: int, novelty: bool) -> list[ExplainedRow]:
        """Return the rows with their reasons."""
        found = model.assess(self.table, int(self.numbers[0]), explain=True, novelty=novelty)
        assert found.explanation is not None
        carried = {name: self.table.column(name).to_pylist() for name in model.ids}
        alerts = is_alert(suspect(found.log_odds, found.novelty), model.threshold(novelty=novelty))
        why, unlike = top(found.explanation, reasons), _tell(found.novelty, len(self.numbers))
        return [
            ExplainedRow(
                int(number),
                {name: values[place] for name, values in carried.items()},
                float(expit(found.log_odds[place])),
                bool(alerts[place]),
                why[place],
                *unlike[place],
            )
            for place, number in enumerate(self.numbers)
        ]


def _tell(
    novelty: Novelty | None, n_rows: int
) -> list[tuple[float | None, str | None, str | None]]:
    """Return novelty, why a row is novel, and what is outside, for every row."""
    if novelty is None:
        return [(None, None, None)] * n_rows
    unknown: list[float | None] = [None] * n_rows
    shares = unknown if novelty.p_values is None else (1.0 - novelty.p_values).tolist()
    return list(zip(shares, novelty.words(), novelty.outside(), strict=True))
