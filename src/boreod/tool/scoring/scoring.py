"""Score record batches: probability, decision, novelty, and reasons on request."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit, logit
from boreod.ensemble.fitted import Assessment
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import plain_interrupts
from boreod.persistence import load_predictor
from boreod.predictor import Predictor, assess, for_workers, prepare
from boreod.tables import TableError, as_arrow, like_input
from boreod.tables.arrow import pa
from boreod.tables.preparing.since import add_to_table, is_whole
from boreod.tables.reading.blocks import check_columns, row_numbers
from boreod.text import listed
from boreod.tool.reasons import as_prose, write_reasons
from boreod.tool.scoring import judging
from boreod.tool.scoring.checking import Finding, Limits, Tally, find_all
from boreod.validation import check_fitted

BATCH_ROWS = 20_000


@dataclass(frozen=True)
class ScoreOptions:
    """What a scored table holds.

    Attributes
    ----------
    carry
        Columns to copy to the output. If None, these are the id columns of the model. If empty, the
        output has row numbers instead.
    all_columns
        Whether to copy all columns.
    reasons
        Maximum number of reasons for each row.
    top
        Number of rows to write, the most suspicious first. If None, all rows are written in the
        order of the table.
    threshold
        Threshold of the decision. If None, it is the threshold of the model. If ``"alerts:20"``,
        the twenty most suspicious rows of this table are alerts. Novel rows are more suspicious
        than other rows. Among rows with equal suspicion, the first in the table are alerts.
    novelty
        Whether novel rows are alerts and rank first, and the output has columns about novelty. If
        more than ``judging.MAX_NOVEL`` of the rows of a whole table are novel, the probability
        alone decides which rows rank first and are alerts.
    numbers
        Whether reasons are column names with contributions to the log-odds instead of sentences.
    batch_rows
        Number of rows that are scored at once.
    """

    carry: Sequence[str] | None = None
    all_columns: bool = False
    reasons: int = 0
    top: int | None = None
    threshold: float | str | None = None
    novelty: bool = True
    numbers: bool = False
    batch_rows: int = BATCH_ROWS


@dataclass(frozen=True)
class Scoring:
    """A model, and the options for scoring rows with it.

    ``carry`` holds the columns to copy. If it is empty, rows are numbered. If it is None, all
    columns are copied. ``alerts`` is the requested number of alerts in this table, if any.
    ``alone`` is the threshold if novel rows are not counted. If ``by_probability`` is True, this
    threshold decides, and novelty does not.
    """

    model: Predictor
    carry: tuple[str, ...] | None
    options: ScoreOptions = ScoreOptions()
    threshold: float = 0.5
    alerts: int | None = None
    alone: float = 0.5
    by_probability: bool = False

    @classmethod
    def plan(cls, model: Predictor, options: ScoreOptions) -> "Scoring":
        """Check the user's options, and replace missing options by those of the model.

        If the threshold is ``"alerts:20"``, it is known only after all rows are scored. Until then
        it is 1.
        """
        check_fitted(model)
        carried = model.preparation_.ids_ if options.carry is None else tuple(options.carry)
        alerts = judging.count_of_alerts(options.threshold)
        limits = [
            1.0 if alerts else judging.alert_threshold(model, options.threshold, novelty)
            for novelty in (options.novelty, False)
        ]
        return cls(
            model, None if options.all_columns else carried, options, limits[0], alerts, limits[1]
        )

    @property
    def columns(self) -> list[str] | None:
        """Columns of the table that must be read; None if all columns must be read."""
        needed = columns_to_read(self.model.preparation_)
        if self.carry is None or needed is None:
            return None
        return list(dict.fromkeys([*self.carry, *needed]))

    def reading(self, options: dict[str, Any] | None) -> dict[str, Any]:
        """Return options for ``open_table``, with the columns and types that scoring needs."""
        given = options or {}
        needed = types_to_read(self.model.preparation_)
        # Ids are read as text, so that the output has them unchanged.
        carried = dict.fromkeys(self.carry or (), "text")
        return {
            **given,
            "types": {**carried, **given.get("types", {}), **needed},
            "columns": self.columns,
            "since": self.model.preparation_.since_,
            "computed": needed,
        }

    @property
    def knows_novelty(self) -> bool:
        """Whether rows get a novelty; a model that searches no neighbors cannot compute it."""
        return self.options.novelty and self.model.fitted_.columns.widest is not None

    @property
    def added(self) -> list[tuple[str, Any]]:
        """Names and pyarrow types of the columns that scoring adds."""
        columns = [("probability", pa.float64()), ("outlier", pa.bool_())]
        if self.knows_novelty:
            columns.append(("novelty", pa.float64()))
        if self.options.novelty:
            columns.append(("outside", pa.string()))
        columns += [(f"reason_{place + 1}", pa.string()) for place in range(self.options.reasons)]
        return columns

    def schema(self, given: Any) -> Any:
        """Return the schema of scored batches."""
        names = given.names if self.carry is None else dict.fromkeys(self.carry)
        carried = [given.field(name) for name in names] or [pa.field("row", pa.int64())]
        return pa.schema([*carried, *(pa.field(*pair) for pair in self.added)])

    def ranked(self, novel: int, rows: int) -> "Scoring":
        """Return how to rank a table with so many novel rows: by novelty, or by probability."""
        is_unlike = self.knows_novelty and judging.is_unlike_training(self.model, novel, rows)
        return replace(self, threshold=self.alone, by_probability=True) if is_unlike else self

    def find(self, tally: Tally, limits: Limits, header: list[str]) -> list[Finding]:
        """Return the findings about a table, given all its columns and a tally of its rows."""
        judged_by = {
            # If the user asks for a number of alerts, this number is not checked.
            "threshold": self.threshold if self.alerts is None else None,
            "novelty": self.knows_novelty,
            "by_probability": self.by_probability,
        }
        return find_all(self.model, header, tally, limits, **judged_by)

    def without_training(self, n_jobs: int | None) -> "Scoring":
        """Return a copy for workers, without the data that only a fit needs."""
        return replace(self, model=for_workers(self.model, n_jobs))

    def cut(self, suspicion: NDArray) -> judging.Cut | None:
        """Return where alerts end; None if scores already say which rows are alerts.

        ``suspicion`` holds all rows in the order of the table.
        """
        if self.alerts is not None:
            return judging.Cut.find(suspicion, self.alerts, self.by_probability)
        if self.by_probability:
            return judging.Cut(float(logit(self.threshold)), 0, True)
        return None

    def check(self, known: list[str]) -> None:
        """Raise if a column is missing, or if a column to copy has the name of a result."""
        check_columns(self.columns, known, "The table", types_to_read(self.model.preparation_))
        carried = known if self.carry is None else self.carry
        added = {"rank", *dict(self.added)}
        twice = [name for name in carried if name in added]
        if twice:
            raise TableError(
                f"The table has columns that are called like results: {listed(twice)}. Rename "
                "them, or carry other columns (--id) or none (--no-ids)."
            )

    def score(
        self, batch: Any, first_row: int = 1, tally: Tally | None = None
    ) -> tuple[Any, NDArray, NDArray]:
        """Return the scores of a batch without ranks, and suspicions and log-odds of its rows.

        If a ``tally`` is given, it counts the rows for a check of the table.
        """
        with plain_interrupts():
            rows = prepare(self.model, batch, first_row)
            found = assess(self.model, rows, self.options.reasons > 0, self.options.novelty)
        if tally is not None:
            tally.add(self.model, batch, rows, first_row)
            self._count_alerts(tally, rows, found, first_row)
        suspicion = judging.suspicion_of(found.log_odds, found.novelty)
        names = batch.schema.names if self.carry is None else self.carry
        columns = {name: batch.column(name) for name in names}
        if not columns:
            columns["row"] = pa.array(row_numbers(batch, first_row))
        columns["probability"] = pa.array(expit(found.log_odds))
        columns["outlier"] = pa.array(judging.is_alert(suspicion, self.threshold))
        if found.novelty is not None:
            if found.novelty.p_values is not None:
                columns["novelty"] = pa.array(1.0 - found.novelty.p_values)
            outside = [text and as_prose(text) for text in found.novelty.outside()]
            columns["outside"] = pa.array(outside, pa.string())
        if found.explanation is not None:
            columns |= self._reason_columns(batch, rows, found)
        scores = pa.RecordBatch.from_pydict(columns, schema=self.schema(batch.schema))
        return scores, suspicion, found.log_odds

    def _count_alerts(self, tally: Tally, rows: NDArray, found: Assessment, first_row: int) -> None:
        """Count alerts and novel rows; rows of the training table are judged out of bag."""
        odds, novelty, places = judging.judge_rows(self.model, rows, found, first_row - 1)
        judged = judging.suspicion_of(odds, novelty)
        counts = Tally(
            known=int(np.count_nonzero(places != UNKNOWN)),
            judged=int(np.count_nonzero(~np.isnan(judged))),
            alerts=int(np.count_nonzero(judging.is_alert(judged, self.threshold))),
            above=int(np.count_nonzero(odds > logit(self.alone))),
            novel=int(np.count_nonzero(judged >= judging.NOVEL)),
        )
        tally.merge(counts)

    def _reason_columns(self, batch: Any, rows: NDArray, found: Assessment) -> dict[str, Any]:
        """Return columns ``reason_1``, ``reason_2`` and so on; null if a row has fewer reasons."""
        number = self.options.reasons
        if self.options.numbers:
            texts = _numeric_reasons(found, number)
        else:
            written = write_reasons(self.model, rows, found, number, batch)
            texts = [[reason.shown for reason in row] for row in written]
        columns = {}
        for place in range(number):
            reasons = [row[place] if place < len(row) else None for row in texts]
            columns[f"reason_{place + 1}"] = pa.array(reasons, pa.string())
        return columns

    def score_all(
        self, batches: Iterable[Any], first_row: int = 1, tally: Tally | None = None
    ) -> Iterator[tuple[Any, NDArray, NDArray]]:
        """Yield the scores of consecutive batches; memory does not grow with them."""
        for batch in batches:
            self.check(batch.schema.names)
            if batch.num_rows:
                yield self.score(batch, first_row, tally)
            first_row += batch.num_rows


def _numeric_reasons(found: Assessment, number: int) -> list[list[str]]:
    """Return reasons as names and contributions; the first reason of a novel row is novelty."""
    assert found.explanation is not None
    top = judging.top_reasons(found.explanation, number)
    texts = [[judging.write_reason(*pair) for pair in row] for row in top]
    if found.novelty is not None:
        for row, novel in zip(texts, found.novelty.words(), strict=True):
            if novel is not None:
                row.insert(0, novel)
    return texts


def score_frame(
    model: Predictor,
    frame: Any,
    *,
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
    numbers: bool = False,
) -> Any:
    """Return ids, probability, rank, decision, novelty and reasons, in the same kind of frame.

    If very many rows are novel, a warning says that they are ranked by probability.

    Parameters
    ----------
    model
        The model that scores the rows.
    frame
        A pandas or polars frame, or an Arrow table or record batch.
    reasons, threshold, novelty, numbers
        As in :class:`boreod.tool.ScoreOptions`.
    """
    table = as_arrow(frame)
    ids = [name for name in model.preparation_.ids_ if name in table.column_names]
    options = ScoreOptions(
        ids, reasons=reasons, threshold=threshold, novelty=novelty, numbers=numbers
    )
    scoring = Scoring.plan(model, options)
    scoring.check(table.column_names)
    # The time since the last row of an id can be computed for a whole table, not for one row.
    if is_whole(table):
        missing = [
            made for made in model.preparation_.since_ if made.name not in table.column_names
        ]
        table = add_to_table(table, missing)
    batches = table.combine_chunks().to_batches()
    if not batches:
        raise TableError("The table has no rows to score.")
    scored, suspicion, log_odds = scoring.score(batches[0])
    novel = int(np.count_nonzero(suspicion >= judging.NOVEL))
    scoring = scoring.ranked(novel, len(suspicion))
    if scoring.by_probability:
        warnings.warn(judging.say_unlike(novel, len(suspicion)), stacklevel=2)
        suspicion = log_odds
    result = with_ranks(scored, suspicion, np.sort(suspicion), scoring.cut(suspicion))
    return like_input(pa.Table.from_batches([result]), frame)


def map_in_arrow(
    model: Predictor | str | PathLike[str],
    *,
    carry: Sequence[str] = (),
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
    numbers: bool = False,
) -> "ArrowMap":
    """Return a function for ``DataFrame.mapInArrow`` of Spark, with a method for its schema.

    Rows come in parts, so nobody knows whether the whole table is unlike the training table: novel
    rows are always alerts.

    Parameters
    ----------
    model
        A model, or the name of its file. The function holds the model.
    carry
        Columns to copy to the output. If empty, these are the id columns of the model, or all
        columns if the model has no id columns.
    reasons, threshold, novelty, numbers
        As in :class:`boreod.tool.ScoreOptions`. A number of alerts must be a rate, such as
        ``"alerts:20/5000"``. The output has no ranks.

    Examples
    --------
    With a Spark frame: ``frame.mapInArrow(score, score.schema(frame.schema))``. With any batches:

    >>> import numpy as np, pyarrow as pa
    >>> from boreod import Heads, OutlierRepresentation
    >>> from boreod.tool import fit_table
    >>> fraud = np.arange(60) < 10
    >>> table = pa.table({"x": np.random.default_rng(0).normal(9 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> heads = Heads("logistic")
    >>> fast = {"heads": heads, "representation": few, "random_state": 0}
    >>> score = map_in_arrow(fit_table(table, label="fraud", **fast))
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.1, 9.2]})
    >>> [batch.column("outlier").to_pylist() for batch in score([batch])]
    [[False, True]]
    >>> score.schema(batch.schema).names
    ['x', 'probability', 'outlier', 'novelty', 'outside']
    """
    loaded = model if isinstance(model, Predictor) else load_predictor(model)
    wanted = carry or loaded.preparation_.ids_
    if judging.count_of_alerts(threshold) is not None:
        raise TableError(
            f"{threshold!r} is a number of rows of one table, and here they come in parts. Say in "
            f"how many rows you want so many alerts: '{threshold}/5000'."
        )
    options = ScoreOptions(wanted, not wanted, reasons, None, threshold, novelty, numbers)
    return ArrowMap(Scoring.plan(loaded, options).without_training(1))


@dataclass(frozen=True)
class ArrowMap:
    """A function that scores batches, in any process; made by :func:`map_in_arrow`."""

    scoring: Scoring

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield record batches with ids, probability, decision, novelty and reasons of all rows."""
        for scored, _, _ in self.scoring.score_all(batches):
            yield scored

    def schema(self, given: Any) -> Any:
        """Return the schema of the scores, which is a Spark or an Arrow schema, like ``given``."""
        self.scoring.check(given.names)
        if isinstance(given, pa.Schema):
            return self.scoring.schema(given)
        spark_types = {pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}
        result = type(given)()
        for name in given.names if self.scoring.carry is None else self.scoring.carry:
            result.add(given[name])
        for name, kind in self.scoring.added:
            result.add(name, spark_types[kind])
        return result


def ranked_schema(schema: Any) -> Any:
    """Return the schema of scored batches that have a column of ranks."""
    return schema.insert(schema.names.index("probability") + 1, pa.field("rank", pa.int64()))


def with_ranks(
    batch: Any, suspicion: NDArray, ascending: NDArray, cut: judging.Cut | None, first_row: int = 1
) -> Any:
    """Return a scored batch with a column of ranks; ``ascending`` holds all suspicions, sorted.

    If there is a ``cut``, it decides which rows are alerts. ``first_row`` is the row number of the
    first row in the batch.
    """
    if cut is not None:
        place = batch.schema.names.index("outlier")
        alerts = pa.array(cut.alerts(suspicion, first_row))
        batch = batch.set_column(place, batch.schema.field(place), alerts)
    # Searching for sorted values is four times as fast, because memory is read in order.
    order = np.argsort(suspicion)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = judging.rank(suspicion[order], ascending)
    schema = ranked_schema(batch.schema)
    place = schema.names.index("rank")
    return batch.add_column(place, schema.field(place), pa.array(ranks))


def columns_to_read(preparation: Any) -> list[str] | None:
    """Return the columns that a table must have; None if the training table had no column names."""
    return list(preparation.inputs_) if preparation.is_named else None


def types_to_read(preparation: Any) -> dict[str, Any]:
    """Return the type of each column, for reading it from text.

    Columns of a file without header are named c0, c1 and so on.
    """
    types = dict(preparation.types_)
    if preparation.is_named:
        return types
    return types | {"c" + name[1:]: kind for name, kind in types.items()}
