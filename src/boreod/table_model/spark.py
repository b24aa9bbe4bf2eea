"""Scores inside Spark: a function for ``DataFrame.mapInArrow``, and the schema that it needs."""

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from os import PathLike, fspath
from typing import Any

from boreod.parallel import Threads, use_engine
from boreod.table_model.model import TableModel
from boreod.table_model.scoring import Scoring
from boreod.table_model.writing import BATCH_ROWS
from boreod.tables.arrow import pa
from boreod.tables.sources import check_columns

SPARK_TYPES = {pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


def map_in_arrow(
    model: TableModel | str | PathLike[str],
    *,
    carry: Sequence[str] = (),
    reasons: int = 0,
    threshold: float | str | None = None,
    novelty: bool = True,
) -> "ArrowMap":
    """Return a function for ``DataFrame.mapInArrow`` of Spark, which also tells its schema.

    Parameters
    ----------
    model
        Name of a model file that all workers see, or a model, which then travels with the function.
    carry
        Columns to carry through; none for the model's ids, or all columns if it has no ids.
    reasons, threshold, novelty
        As in :func:`boreod.table_model.score_table`; there are no ranks.

    Examples
    --------
    Of a Spark frame: ``frame.mapInArrow(score, score.schema(frame.schema))``. Of any batches:

    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> from boreod.table_model import fit_table
    >>> fraud = np.arange(60) < 10
    >>> table = pa.table({"x": np.random.default_rng(0).normal(9 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> score = map_in_arrow(fit_table(table, label="fraud", representation=few, random_state=0))
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.1, 9.2]})
    >>> [batch.column("outlier").to_pylist() for batch in score([batch])]
    [[False, True]]
    >>> score.schema(batch.schema).names
    ['x', 'probability', 'outlier', 'novelty', 'outside']
    """
    path = None if isinstance(model, TableModel) else fspath(model)
    loaded = model if isinstance(model, TableModel) else _load(fspath(model))
    carried = tuple(carry) or loaded.ids
    scoring = Scoring.plan(loaded, carried, not carried, reasons, threshold, novelty)
    return ArrowMap(scoring, path)


class ArrowMap:
    """Score batches as they come, in whatever process: what Spark calls.

    :func:`map_in_arrow` makes it. It is pickled with the name of the model file, or with the model
    if it has no name; every process loads either once.
    """

    def __init__(self, scoring: Scoring, path: str | None) -> None:
        self._wanted = (scoring.carry, scoring.reasons, scoring.threshold, scoring.novelty)
        self._path = path
        self._pickled = None if path is not None else pickle.dumps(scoring.without_training(1))

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Give ids, probability, decision, novelty and reasons of all rows.

        Parameters
        ----------
        batches
            Pyarrow record batches.
        """
        scoring = self._scoring()
        seen = 0
        for batch in batches:
            _check(scoring, batch.schema.names)
            for start in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                with use_engine(Threads):
                    scored, _ = scoring.score(part, seen + start + 1)
                yield scored
            seen += batch.num_rows

    def schema(self, given: Any) -> Any:
        """Return the schema of the scores, of the same kind as that of the rows.

        Parameters
        ----------
        given
            ``frame.schema`` of a Spark frame, or a pyarrow schema.
        """
        scoring = self._scoring()
        _check(scoring, given.names)
        if isinstance(given, pa.Schema):
            return scoring.schema(given)
        result = type(given)()
        for name in given.names if scoring.carry is None else scoring.carry:
            result.add(given[name])
        for name, kind in scoring.added:
            result.add(name, SPARK_TYPES[kind])
        return result

    def _scoring(self) -> Scoring:
        if self._pickled is not None:
            return _unpickle(self._pickled)
        assert self._path is not None
        return Scoring(_load(self._path), *self._wanted)


def _check(scoring: Scoring, names: list[str]) -> None:
    check_columns(scoring.columns, names, "The table")
    scoring.check(names)


def _load(path: str) -> TableModel:
    """Return the model of a file, which is read once as long as it does not change."""
    changed, size = 0, 0
    with suppress(OSError):  # loading will say what is wrong
        changed, size = os.stat(path).st_mtime_ns, os.stat(path).st_size
    return _load_once(path, changed, size)


@lru_cache(maxsize=2)
def _load_once(path: str, changed: int, size: int) -> TableModel:  # noqa: ARG001
    return TableModel.load(path, n_jobs=1)


@lru_cache(maxsize=2)
def _unpickle(content: bytes) -> Scoring:
    return pickle.loads(content)
