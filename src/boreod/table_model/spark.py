"""Scores inside Spark: a function for ``DataFrame.mapInArrow``, and the schema that it needs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from boreod.table_model.model import TableModel
from boreod.table_model.scoring import Scoring
from boreod.tables.arrow import pa

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
        A model, or the name of its file; it travels with the function.
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
    loaded = model if isinstance(model, TableModel) else TableModel.load(model)
    carried = tuple(carry) or loaded.ids
    scoring = Scoring.plan(loaded, carried, not carried, reasons, threshold, novelty)
    return ArrowMap(scoring.without_training(1))


@dataclass(frozen=True)
class ArrowMap:
    """Score batches as they come, in whatever process: what :func:`map_in_arrow` makes."""

    scoring: Scoring

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Give ids, probability, decision, novelty and reasons of all rows.

        Parameters
        ----------
        batches
            Pyarrow record batches.
        """
        for scored, _ in self.scoring.score_all(batches):
            yield scored

    def schema(self, given: Any) -> Any:
        """Return the schema of the scores, of the same kind as that of the rows.

        Parameters
        ----------
        given
            ``frame.schema`` of a Spark frame, or a pyarrow schema.
        """
        self.scoring.check(given.names)
        if isinstance(given, pa.Schema):
            return self.scoring.schema(given)
        result = type(given)()
        for name in given.names if self.scoring.carry is None else self.scoring.carry:
            result.add(given[name])
        for name, kind in self.scoring.added:
            result.add(name, SPARK_TYPES[kind])
        return result
