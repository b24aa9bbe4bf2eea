"""Batches of a table with their scores: probability, decision, and reasons on request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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

    def reading(self, options: dict[str, Any] | None) -> dict[str, Any]:
        """Return options of ``open_table``: columns and types are those that scoring needs.

        Parameters
        ----------
        options
            Given by the user.
        """
        given = options or {}
        carried = dict.fromkeys(self.carry or (), "text")  # as it is
        types = {**carried, **given.get("types", {}), **self.model.types}
        return {**given, "types": types, "columns": self.columns}

    @property
    def added(self) -> list[tuple[str, Any]]:
        """Names and pyarrow types of the columns that scoring adds."""
        reasons = [(f"reason_{place + 1}", pa.string()) for place in range(self.reasons)]
        return [("probability", pa.float64()), ("outlier", pa.bool_()), *reasons]

    def schema(self, given: Any) -> Any:
        """Return the schema of scored batches.

        Parameters
        ----------
        given
            The pyarrow schema of the table.
        """
        names = given.names if self.carry is None else dict.fromkeys(self.carry)
        carried = [given.field(name) for name in names] or [pa.field(ROW, pa.int64())]
        return pa.schema([*carried, *(pa.field(*pair) for pair in self.added)])

    def light(self, n_jobs: int | None) -> "Scoring":
        """Return the same without what only a fit needs: little to pickle.

        Parameters
        ----------
        n_jobs
            Number of threads.
        """
        detector = self.model.detector.without_training()
        detector.representation_.set_params(n_jobs=n_jobs)
        return replace(self, model=replace(self.model, detector=detector, curve=None))

    def check(self, known: list[str]) -> None:
        """Refuse columns whose names are those of results.

        Parameters
        ----------
        known
            Columns of the table.
        """
        carried = known if self.carry is None else self.carry
        added = {"rank", *(name for name, _ in self.added)}
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
        columns |= texts
        return pa.RecordBatch.from_pydict(columns, schema=self.schema(batch.schema)), odds

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


def plan_scoring(
    model: TableModel,
    carry: tuple[str, ...] | None,
    all_columns: bool,
    reasons: int,
    threshold: float | str | None,
) -> Scoring:
    """Return what is wanted of scored rows, from what a user says.

    Parameters
    ----------
    model, carry, all_columns, reasons, threshold
        As in :func:`boreod.deployment.score_table`.
    """
    carried = None if all_columns else model.ids if carry is None else carry
    return Scoring(model, carried, reasons, model.threshold(threshold))


def ranked_schema(schema: Any) -> Any:
    """Return the schema of scored batches that have a column of ranks.

    Parameters
    ----------
    schema
        What :meth:`Scoring.schema` returned.
    """
    return schema.insert(schema.names.index("probability") + 1, pa.field("rank", pa.int64()))


def with_ranks(batch: Any, ranks: Any) -> Any:
    """Return a scored batch with a column of ranks after that of probabilities.

    Parameters
    ----------
    batch
        What :meth:`Scoring.score` returned.
    ranks
        Of its rows.
    """
    schema = ranked_schema(batch.schema)
    place = schema.names.index("rank")
    return batch.add_column(place, schema.field(place), pa.array(ranks, pa.int64()))


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
