"""Batches of a table with their scores: probability, decision, novelty, reasons on request.

Rows are ranked by a *suspicion*: their log-odds, or for novel rows a number above all log-odds that
grows with their distance. A row unlike all training rows is looked at first, whatever its odds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from boreod.ensemble.novelty import Novelty
from boreod.parallel import plain_interrupts
from boreod.table_model.model import TableModel
from boreod.table_model.reasons import reason_columns
from boreod.tables.arrow import TableError, pa
from boreod.text import listed

ROW = "row"
NOVEL = 1e200  # log-odds stay far below


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
        Probability above which a row is an alert.
    novelty
        Whether rows get columns about their novelty, and novel ones are alerts too.
    """

    model: TableModel
    carry: tuple[str, ...] | None
    reasons: int = 0
    threshold: float = 0.5
    novelty: bool = True

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
    def tells_novelty(self) -> bool:
        """Whether rows get their novelty; a model that searches no neighbors cannot tell."""
        return self.novelty and self.model.detector.fitted_.searches

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said about all rows."""
        if not self.novelty or self.tells_novelty:
            return ()
        return (
            "The model uses raw columns only and searches no neighbors: novel rows are not known "
            "and raise no alert. The column `outside` names values beyond the training range; a "
            "larger budget would tell more.",
        )

    @property
    def added(self) -> list[tuple[str, Any]]:
        """Names and pyarrow types of the columns that scoring adds."""
        columns = [("probability", pa.float64()), ("outlier", pa.bool_())]
        if self.tells_novelty:
            columns.append(("novelty", pa.float64()))
        if self.novelty:
            columns.append(("outside", pa.string()))
        columns += [(f"reason_{place + 1}", pa.string()) for place in range(self.reasons)]
        return columns

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
        detector = self.model.detector.for_workers(n_jobs)
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
                "them, or carry other columns (--id) or none (--no-ids)."
            )

    def score(self, batch: Any, first_row: int = 1) -> tuple[Any, NDArray]:
        """Return what is known of some rows without the others, and how suspicious they are.

        Parameters
        ----------
        batch
            A pyarrow record batch.
        first_row
            Number of its first row.
        """
        with plain_interrupts():
            found = self.model.assess(
                batch, first_row, explain=self.reasons > 0, novelty=self.novelty
            )
        suspicion = suspect(found.log_odds, found.novelty)
        columns = self.carried(batch, first_row)
        columns["probability"] = pa.array(expit(found.log_odds))
        columns["outlier"] = pa.array(is_alert(suspicion, self.threshold))
        if found.novelty is not None:
            if found.novelty.p_values is not None:
                columns["novelty"] = pa.array(1.0 - found.novelty.p_values)
            columns["outside"] = pa.array(found.novelty.outside(), pa.string())
        if found.explanation is not None:
            columns |= reason_columns(found.explanation, self.reasons, found.novelty)
        return pa.RecordBatch.from_pydict(columns, schema=self.schema(batch.schema)), suspicion

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


def suspect(log_odds: NDArray, novelty: Novelty | None) -> NDArray:
    """Return by what rows are ranked: log-odds, and more than any for novel rows.

    Parameters
    ----------
    log_odds
        Of being an outlier.
    novelty
        Of the same rows; None if it does not count.
    """
    if novelty is None:
        return log_odds
    return np.where(novelty.novel, NOVEL * (1.0 + np.log1p(novelty.times_usual)), log_odds)


def is_alert(suspicion: NDArray, threshold: float) -> NDArray:
    """Tell which rows are alerts: above a probability, or novel.

    Parameters
    ----------
    suspicion
        What :func:`suspect` returned.
    threshold
        A probability.
    """
    return (suspicion > logit(threshold)) | is_novel(suspicion)


def is_novel(suspicion: NDArray) -> NDArray:
    """Tell which rows are novel.

    Parameters
    ----------
    suspicion
        What :func:`suspect` returned.
    """
    return suspicion >= NOVEL


def plan_scoring(
    model: TableModel,
    carry: tuple[str, ...] | None,
    all_columns: bool,
    reasons: int,
    threshold: float | str | None,
    novelty: bool,
) -> Scoring:
    """Return what is wanted of scored rows, from what a user says.

    Parameters
    ----------
    model, carry, all_columns, reasons, threshold, novelty
        As in :func:`boreod.table_model.score_table`.
    """
    carried = None if all_columns else model.ids if carry is None else carry
    return Scoring(model, carried, reasons, model.threshold(threshold, novelty), novelty)


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
    novelty: bool = True,
) -> Iterator[Any]:
    """Give each batch as one of ids, probability, decision and so on; memory stays constant.

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
    novelty
        Whether rows get columns about their novelty, and novel ones are alerts too.
    """
    scoring = plan_scoring(model, None, False, reasons, threshold, novelty)
    first_row = 1
    for batch in batches:
        scoring.check(batch.schema.names)
        yield scoring.score(batch, first_row)[0]
        first_row += batch.num_rows
