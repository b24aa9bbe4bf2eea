"""Batches of a table with their scores: probability, decision, and reasons on request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from boreod.deployment.model import TableModel
from boreod.deployment.reasons import reason_columns
from boreod.engine import plain_interrupts
from boreod.tables.arrow import pa
from boreod.tables.errors import TableError, listed

ROW = "row"
RESULTS = ("probability", "rank", "outlier")


@dataclass(frozen=True)
class Scoring:
    """What is wanted of scored rows.

    Attributes
    ----------
    model
        Scores them.
    carry
        Columns of the table to carry through; none for row numbers, None for all columns.
    reasons
        How many reasons every row gets.
    threshold
        Probability above which a row is an outlier.
    """

    model: TableModel
    carry: tuple[str, ...] | None
    reasons: int = 0
    threshold: float = 0.5

    @property
    def columns(self) -> list[str] | None:
        """Columns of the table that have to be read; None for all."""
        if self.carry is None or self.model.inputs is None:
            return None
        return list(dict.fromkeys([*self.carry, *self.model.inputs]))

    def check(self, known: list[str]) -> None:
        """Refuse columns whose names are those of results.

        Parameters
        ----------
        known
            Columns of the table.
        """
        carried = known if self.carry is None else self.carry
        added = {*RESULTS, *(f"reason_{number + 1}" for number in range(self.reasons))}
        twice = [name for name in carried if name in added]
        if twice:
            raise TableError(
                f"The table has columns that are called like results: {listed(twice)}. Rename "
                "them, or carry other columns (--id)."
            )

    def score(self, batch: Any, first_row: int = 1) -> tuple[Any, NDArray]:
        """Return what is known of some rows without the others, and their log-odds.

        Parameters
        ----------
        batch
            A pyarrow record batch.
        first_row
            Number of its first row.
        """
        with plain_interrupts():
            if self.reasons:
                explanation = self.model.explain(batch, first_row)
                odds, texts = explanation.log_odds, reason_columns(explanation, self.reasons)
            else:
                odds, texts = self.model.log_odds(batch, first_row), {}
        columns = self.carried(batch, first_row)
        columns["probability"] = pa.array(expit(odds))
        columns["outlier"] = pa.array(odds > logit(self.threshold))
        return pa.RecordBatch.from_pydict({**columns, **texts}), odds

    def carried(self, batch: Any, first_row: int = 1) -> dict[str, Any]:
        """Return the columns that name rows.

        Parameters
        ----------
        batch, first_row
            As in :meth:`score`.
        """
        names = batch.schema.names if self.carry is None else self.carry
        if not names:
            return {ROW: pa.array(np.arange(first_row, first_row + batch.num_rows))}
        return {name: batch.column(name) for name in names}


def score_batches(
    model: TableModel,
    batches: Iterable[Any],
    *,
    reasons: int = 0,
    threshold: float | str | None = None,
) -> Iterator[Any]:
    """Give each batch as one of ids, probability, decision and reasons; memory stays constant.

    Parameters
    ----------
    model
        Scores the rows.
    batches
        Pyarrow record batches, for example a ``TableReader``.
    reasons
        How many reasons every row gets.
    threshold
        Of the decision, None for that of the model.
    """
    scoring = Scoring(model, model.ids, reasons, model.threshold(threshold))
    first_row = 1
    for batch in batches:
        scoring.check(batch.schema.names)
        yield scoring.score(batch, first_row)[0]
        first_row += batch.num_rows
