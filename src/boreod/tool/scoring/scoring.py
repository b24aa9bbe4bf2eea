"""Batches of a table with their scores: probability, decision, novelty, reasons on request.

Rows are ranked by a *suspicion*: their log-odds, or for novel rows a number above all log-odds that
grows with their distance. A row unlike all training rows is looked at first, whatever its odds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit, logit, read_threshold
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.fitted import Assessment
from boreod.ensemble.novelty import Novelty
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import plain_interrupts
from boreod.tables import TableError, as_arrow, like_input
from boreod.tables.arrow import pa
from boreod.tables.bad_cells import row_numbers
from boreod.tables.preparing.since import add_to_table, is_whole
from boreod.tables.reading.blocks import check_columns
from boreod.text import listed
from boreod.tool.scoring.checking import Tally
from boreod.tool.scoring.model_files import load_predictor
from boreod.tool.scoring.table_predictor import TablePredictor
from boreod.validation import check_fitted

CERTAIN = 36.0  # log-odds from which on probabilities are 1
NOVEL = 1e200  # suspicion of novel rows; log-odds stay far below
SPARK_TYPES = {pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}
MAX_DECIMAL = 1e5  # contributions from here on are written with an exponent


@dataclass(frozen=True)
class Scoring:
    """What is wanted of scored rows, as in ``score_table``."""

    model: TablePredictor
    carry: tuple[str, ...] | None  # none for row numbers, None for all columns
    reasons: int = 0
    threshold: float = 0.5
    novelty: bool = True
    numbers: bool = False  # whether reasons are names and contributions, not words
    alerts: int | None = None  # number of the rows of this table that are alerts

    @classmethod
    def plan(
        cls,
        model: TablePredictor,
        carry: Sequence[str] | None = None,
        all_columns: bool = False,
        reasons: int = 0,
        threshold: float | str | None = None,
        novelty: bool = True,
        numbers: bool = False,
    ) -> "Scoring":
        """Return what is wanted from what a user says.

        ``"alerts:20"`` are twenty rows of the table that is scored: then the threshold is where
        they end, which only all rows tell.
        """
        check_fitted(model)
        carried = None if all_columns else model.ids_ if carry is None else tuple(carry)
        alerts = count_of_alerts(threshold)
        found = 1.0 if alerts is not None else model.alert_threshold(threshold, novelty)
        return cls(model, carried, reasons, found, novelty, numbers, alerts)

    @property
    def columns(self) -> list[str] | None:
        """Columns of the table that have to be read; None for all."""
        if self.carry is None or self.model.inputs_ is None:
            return None
        return list(dict.fromkeys([*self.carry, *self.model.inputs_]))

    def reading(self, options: dict[str, Any] | None) -> dict[str, Any]:
        """Return options of ``open_table``: columns and types are those that scoring needs."""
        given = options or {}
        carried = dict.fromkeys(self.carry or (), "text")  # as it is
        types = {**carried, **given.get("types", {}), **self.model.types_}
        since = self.model.preparation_.since_
        chosen = {"columns": self.columns, "since": since, "computed": self.model.types_}
        return {**given, "types": types, **chosen}

    @property
    def tells_novelty(self) -> bool:
        """Whether rows get their novelty; a model that searches no neighbors cannot tell."""
        return self.novelty and self.model.fitted_.searches

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
        """Return the schema of scored batches."""
        names = given.names if self.carry is None else dict.fromkeys(self.carry)
        carried = [given.field(name) for name in names] or [pa.field("row", pa.int64())]
        return pa.schema([*carried, *(pa.field(*pair) for pair in self.added)])

    def without_training(self, n_jobs: int | None) -> "Scoring":
        """Return the same without what only a fit needs: little to pickle."""
        return replace(self, model=self.model.for_workers(n_jobs))

    def cut(self, suspicion: NDArray) -> "Cut | None":
        """Return where the alerts that were asked for end, given all rows in their order."""
        return None if self.alerts is None else Cut.find(suspicion, self.alerts)

    def check(self, known: list[str]) -> None:
        """Refuse tables that lack a column, and columns whose names are those of results."""
        check_columns(self.columns, known, "The table", self.model.types_)
        carried = known if self.carry is None else self.carry
        added = {"rank", *(name for name, _ in self.added)}
        twice = [name for name in carried if name in added]
        if twice:
            raise TableError(
                f"The table has columns that are called like results: {listed(twice)}. Rename "
                "them, or carry other columns (--id) or none (--no-ids)."
            )

    def score(
        self, batch: Any, first_row: int = 1, tally: Tally | None = None
    ) -> tuple[Any, NDArray]:
        """Return what is known of some rows without the others, and how suspicious they are.

        What a check of the table needs is counted in the ``tally``.
        """
        with plain_interrupts():
            rows = self.model.prepare(batch, first_row)
            found = self.model.assess_rows(rows, self.reasons > 0, self.novelty)
        if tally is not None:
            tally.add(self.model, batch, rows, first_row)
            odds, novelty, places = judge_rows(self.model, rows, found, first_row - 1)
            judged = suspicion_of(odds, novelty)
            tally.known += int(np.count_nonzero(places != UNKNOWN))
            tally.judged += int(np.count_nonzero(~np.isnan(judged)))
            tally.alerts += int(np.count_nonzero(is_alert(judged, self.threshold)))
            tally.novel += int(np.count_nonzero(judged >= NOVEL))
        suspicion = suspicion_of(found.log_odds, found.novelty)
        names = batch.schema.names if self.carry is None else self.carry
        columns = {name: batch.column(name) for name in names}
        if not columns:
            columns["row"] = pa.array(row_numbers(batch, first_row))
        columns["probability"] = pa.array(expit(found.log_odds))
        columns["outlier"] = pa.array(is_alert(suspicion, self.threshold))
        if found.novelty is not None:
            if found.novelty.p_values is not None:
                columns["novelty"] = pa.array(1.0 - found.novelty.p_values)
            columns["outside"] = pa.array(found.novelty.outside(), pa.string())
        if found.explanation is not None:
            columns |= self._reason_columns(batch, rows, found)
        return pa.RecordBatch.from_pydict(columns, schema=self.schema(batch.schema)), suspicion

    def _reason_columns(self, batch: Any, rows: NDArray, found: Assessment) -> dict[str, Any]:
        """Return columns ``reason_1``, ``reason_2`` and so on, empty where there are no more."""
        assert found.explanation is not None
        if self.numbers:
            pairs = top_reasons(found.explanation, self.reasons)
            texts = [[write_reason(*pair) for pair in row] for row in pairs]
            for row, words in enumerate([] if found.novelty is None else found.novelty.words()):
                texts[row] = texts[row] if words is None else [words, *texts[row]]
        else:
            cells = self.model.words_of(batch)
            written = self.model.reason_writer.write(rows, found, self.reasons, cells)
            texts = [[reason.shown for reason in row] for row in written]
        return {
            f"reason_{place + 1}": pa.array(
                [row[place] if place < len(row) else None for row in texts], pa.string()
            )
            for place in range(self.reasons)
        }

    def score_all(
        self, batches: Iterable[Any], first_row: int = 1, tally: Tally | None = None
    ) -> Iterator[tuple[Any, NDArray]]:
        """Give scores and suspicions of batches that follow one another; memory stays constant."""
        for batch in batches:
            self.check(batch.schema.names)
            if batch.num_rows:
                yield self.score(batch, first_row, tally)
            first_row += batch.num_rows


def score_frame(
    model: TablePredictor,
    frame: Any,
    *,
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
    numbers: bool = False,
) -> Any:
    """Return ids, probability, rank, decision, novelty and reasons as the same kind of frame.

    Parameters
    ----------
    model
        Scores the rows.
    frame
        A pandas or polars frame, or an Arrow table or record batch.
    reasons, threshold, novelty, numbers
        As in :func:`boreod.tool.score_table`.
    """
    table = as_arrow(frame)
    ids = [name for name in model.ids_ if name in table.column_names]
    scoring = Scoring.plan(model, ids, False, reasons, threshold, novelty, numbers)
    scoring.check(table.column_names)
    if is_whole(table):  # as a batch it would be a part of a table
        made = table.column_names
        since = [since for since in model.preparation_.since_ if since.name not in made]
        table = add_to_table(table, since)
    batches = table.combine_chunks().to_batches()
    if not batches:
        raise TableError("The table has no rows to score.")
    scored, suspicion = scoring.score(batches[0])
    cut = scoring.cut(suspicion)
    if cut is not None:
        scored = with_alerts(scored, cut.tells(suspicion, 1))
    result = with_ranks(scored, rank(suspicion, np.sort(suspicion)))
    return like_input(pa.Table.from_batches([result]), frame)


def map_in_arrow(
    model: TablePredictor | str | PathLike[str],
    *,
    carry: Sequence[str] = (),
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
    numbers: bool = False,
) -> "ArrowMap":
    """Return a function for ``DataFrame.mapInArrow`` of Spark, which also tells its schema.

    Parameters
    ----------
    model
        A model, or the name of its file; it travels with the function.
    carry
        Columns to carry through; none for the model's ids, or all columns if it has no ids.
    reasons, threshold, novelty, numbers
        As in :func:`boreod.tool.score_table`; there are no ranks, and alerts are a rate,
        ``"alerts:20/5000"``.

    Examples
    --------
    Of a Spark frame: ``frame.mapInArrow(score, score.schema(frame.schema))``. Of any batches:

    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> from boreod.tool import fit_table
    >>> fraud = np.arange(60) < 10
    >>> table = pa.table({"x": np.random.default_rng(0).normal(9 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> fast = {"method": "bore", "representation": few, "random_state": 0}
    >>> score = map_in_arrow(fit_table(table, label="fraud", **fast))
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.1, 9.2]})
    >>> [batch.column("outlier").to_pylist() for batch in score([batch])]
    [[False, True]]
    >>> score.schema(batch.schema).names
    ['x', 'probability', 'outlier', 'novelty', 'outside']
    """
    loaded = model if isinstance(model, TablePredictor) else load_predictor(model)
    wanted = carry or loaded.ids_
    if count_of_alerts(threshold) is not None:
        raise TableError(
            f"{threshold!r} is a number of rows of one table, and here they come in parts. Say in "
            f"how many rows there are to be so many alerts: '{threshold}/5000'."
        )
    scoring = Scoring.plan(loaded, wanted, not wanted, reasons, threshold, novelty, numbers)
    return ArrowMap(scoring.without_training(1))


@dataclass(frozen=True)
class ArrowMap:
    """Score batches as they come, in whatever process: what :func:`map_in_arrow` makes."""

    scoring: Scoring

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Give ids, probability, decision, novelty and reasons of all rows of record batches."""
        for scored, _ in self.scoring.score_all(batches):
            yield scored

    def schema(self, given: Any) -> Any:
        """Return the schema of the scores, of the same kind as that of the rows: Spark or Arrow."""
        self.scoring.check(given.names)
        if isinstance(given, pa.Schema):
            return self.scoring.schema(given)
        result = type(given)()
        for name in given.names if self.scoring.carry is None else self.scoring.carry:
            result.add(given[name])
        for name, kind in self.scoring.added:
            result.add(name, SPARK_TYPES[kind])
        return result


@dataclass(frozen=True)
class Cut:
    """Where so many alerts of a table end: a suspicion, and the last row of those that have it."""

    suspicion: float
    last_row: int

    @classmethod
    def find(cls, suspicion: NDArray, alerts: int) -> "Cut":
        """Return the cut of rows in their order; of equal ones the first are alerts.

        Examples
        --------
        >>> Cut.find(np.array([0.5, 3.0, 0.5, -1.0]), 2)
        Cut(suspicion=0.5, last_row=1)
        """
        if alerts >= len(suspicion):
            return cls(-np.inf, 0)
        lowest = float(np.partition(suspicion, -alerts)[-alerts])
        left = alerts - int(np.count_nonzero(suspicion > lowest))
        return cls(lowest, int(np.flatnonzero(suspicion == lowest)[left - 1]) + 1)

    def tells(self, suspicion: NDArray, first_row: int) -> NDArray:
        """Tell which rows are alerts, given the number of the first of them."""
        numbers = np.arange(first_row, first_row + len(suspicion))
        return (suspicion > self.suspicion) | (
            (suspicion == self.suspicion) & (numbers <= self.last_row)
        )


def count_of_alerts(threshold: Any) -> int | None:
    """Return how many rows of a table are asked for by ``"alerts:20"``, None if none are.

    Examples
    --------
    >>> count_of_alerts("alerts:20"), count_of_alerts("alerts:20/5000"), count_of_alerts(0.5)
    (20, None, None)
    """
    if not isinstance(threshold, str):
        return None
    kind, number, rows = read_threshold(threshold)
    return int(number) if kind == "alerts" and rows is None else None


def suspicion_of(log_odds: NDArray, novelty: Novelty | None) -> NDArray:
    """Return by what rows are ranked: log-odds, and more than any for novel rows."""
    if novelty is None:
        return log_odds
    return np.where(novelty.novel, NOVEL * (1.0 + np.log1p(novelty.times_usual)), log_odds)


def judge_rows(
    model: TablePredictor, rows: NDArray, found: Assessment, start: int = 0
) -> tuple[NDArray, Novelty | None, NDArray]:
    """Return log-odds and novelty by which a model is judged, and places of equal training rows.

    Those of training rows are out of bag, NaN if every bag holds them; ``start`` is the place of
    the first row in the table.
    """
    learned, novelty = model.learned_rows_, found.novelty
    places = np.full(len(rows), UNKNOWN) if learned is None else learned.find(rows, start)
    known = places != UNKNOWN
    odds = np.where(known, logit(model.oob_proba_[places]), found.log_odds)
    odds = np.clip(odds, -CERTAIN, CERTAIN)  # out-of-bag probabilities tell no more
    if not known.any():
        return odds, novelty, places
    if novelty is not None:
        novel = model.fitted_.seen.novel_training_rows()[places]
        novelty = replace(novelty, novel=np.where(known, novel, novelty.novel))
    return odds, novelty, places


def is_alert(suspicion: NDArray, threshold: float) -> NDArray:
    """Tell which rows are alerts: above a probability, or novel."""
    return (suspicion > logit(threshold)) | (suspicion >= NOVEL)


def rank(suspicion: NDArray, ascending: NDArray) -> NDArray:
    """Return ranks among sorted numbers: 1 for the highest; equal ones share the best rank.

    Examples
    --------
    >>> rank(np.array([0.5, 3.0, 0.5, -1.0]), np.array([-1.0, 0.5, 0.5, 3.0]))
    array([2, 1, 2, 4])
    """
    return len(ascending) - np.searchsorted(ascending, suspicion, side="right") + 1


def ranked_schema(schema: Any) -> Any:
    """Return the schema of scored batches that have a column of ranks."""
    return schema.insert(schema.names.index("probability") + 1, pa.field("rank", pa.int64()))


def with_alerts(batch: Any, alerts: NDArray) -> Any:
    """Return a scored batch with other decisions."""
    place = batch.schema.names.index("outlier")
    return batch.set_column(place, batch.schema.field(place), pa.array(alerts))


def with_ranks(batch: Any, ranks: NDArray) -> Any:
    """Return a scored batch with a column of ranks after that of probabilities."""
    schema = ranked_schema(batch.schema)
    place = schema.names.index("rank")
    return batch.add_column(place, schema.field(place), pa.array(ranks, pa.int64()))


def top_reasons(explanation: Explanation, number: int) -> list[list[tuple[str, float]]]:
    """Return the reasons that moved each row most; what moved nothing is none."""
    return [[pair for pair in row if pair[1] != 0.0] for row in explanation.top(number)]


def write_reason(name: str, contribution: float) -> str:
    """Return a reason in a few words.

    Examples
    --------
    >>> write_reason("amount", 2.31), write_reason("knn", 4.0772e150)
    ('amount +2.3', 'knn +4.08e+150')
    """
    short = abs(contribution) < MAX_DECIMAL
    return f"{name} {contribution:+.1f}" if short else f"{name} {contribution:+.3g}"
