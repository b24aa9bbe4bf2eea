"""Predictions for tables: frames, arrays and batches in, probabilities and reasons out.

Nothing here needs scikit-learn, unless a table is a frame of plain numbers, which it checks.
"""

from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.fitted import Assessment
from boreod.ensemble.profile import TrainingProfile
from boreod.parallel.dask_tables import is_collection
from boreod.predictor import Predictor
from boreod.representation.array_rows import (
    PlainColumns,
    is_frame,
    names_of,
    numbered,
    read_array,
    take_columns,
)
from boreod.selection.budgets import BudgetCurve
from boreod.text import shorten
from boreod.tool.reasons import Cells, Output, Reason, ReasonWriter
from boreod.validation import LARGEST, check_fitted, read_rows, same_filters

WORDED = ("level", "other", "odds", "frequency")  # kinds of outputs whose words reasons name
APART = ("label", "id", "left out")  # columns that are no features, as a preparation calls them


class TablePredictor(Predictor):
    """A predictor that prepares its table; parameters and attributes are those of `Detector`."""

    preparation_: Any
    source_: str | None
    curve_: BudgetCurve | None
    profile_: TrainingProfile | None
    _table: Any  # the training rows, for a report; None in a loaded model

    def prepare(self, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64: columns of ``preparation_.names_``.

        Columns are found by name and may be in any order, with others between them.
        ``first_row`` is the number of the first row, for errors.
        """
        check_fitted(self)
        if isinstance(self.preparation_, PlainColumns) and not _is_arrow(X):
            return read_rows(self, X, fitting=False, fill=self.preparation_.middle)
        from boreod.tables import TableError

        batch = self._as_batch(X)
        if not batch.num_rows:
            raise TableError("The table has no rows to score.")
        rows = self.preparation_.transform(batch, first_row=first_row)
        for row, column in np.argwhere(~(np.abs(rows) <= LARGEST))[:1].tolist():
            raise TableError(
                f"Column {shorten(self.preparation_.names_[column])} must hold numbers up to "
                f"{LARGEST:.0e}; row {first_row + row} holds {rows[row, column]:g}. Correct it, or "
                "leave it empty."
            )
        return np.ascontiguousarray(rows)

    def prepare_training(self, X: Any, codes: NDArray) -> NDArray:
        """Return the training rows as the fit computed with them.

        Not all of their columns are those of :meth:`prepare`: what an id with many levels says of a
        row was learned without that row.
        """
        check_fitted(self)
        if isinstance(self.preparation_, PlainColumns):
            return self.prepare(X)
        return np.ascontiguousarray(self.preparation_.transform_training(self._as_batch(X), codes))

    def assess(
        self, X: Any, explain: bool = False, novelty: bool = True, first_row: int = 1
    ) -> Assessment:
        """Return log-odds, and if wanted novelty and reasons, from one search of neighbors.

        Reasons are what raw columns and families of scores added; ``first_row`` is as in
        :meth:`prepare`.
        """
        if is_collection(X):
            return super().assess(X)  # says that it cannot
        return self.assess_rows(self.prepare(X, first_row), explain, novelty)

    def assess_rows(self, rows: NDArray, explain: bool = False, novelty: bool = True) -> Assessment:
        """Return what :meth:`assess` does, of rows that :meth:`prepare` returned."""
        with same_filters(self.estimator is not None):
            return self.fitted_.assess(rows, self._engine, explain, novelty)

    def reason(
        self, X: Any, number: int = 3, *, novelty: bool = True, first_row: int = 1
    ) -> list[list[Reason]]:
        """Return reasons of every row in words, what speaks most for an outlier first.

        :meth:`explain` gives the numbers behind them.
        """
        check_fitted(self)
        if not _is_arrow(X) and not isinstance(self.preparation_, PlainColumns):
            X = self._as_batch(X)
        rows = self.prepare(X, first_row)
        found = self.assess_rows(rows, True, novelty)
        return self.reason_writer.write(rows, found, number, self.words_of(X))

    @property
    def outputs_(self) -> list[Output]:
        """What the columns of ``preparation_.names_`` are made of."""
        check_fitted(self)
        if isinstance(self.preparation_, PlainColumns):
            return [Output(name) for name in self.preparation_.names_]
        return [Output(s.name, *of) for s in self.preparation_.steps_ for of in s.outputs]

    @property
    def reason_writer(self) -> ReasonWriter:
        """What writes reasons in words."""
        check_fitted(self)
        return ReasonWriter(self.fitted_, self.outputs_, self.profile_)

    def words_of(self, batch: Any) -> Cells:
        """Return cells by column: words that reasons name, None for what is missing unmarked."""
        if not _is_arrow(batch) and isinstance(self.preparation_, PlainColumns):
            empty = np.isnan(np.asarray(batch, dtype=np.float64)).T.tolist()
            named = zip(self.preparation_.names_, empty, strict=True)
            return {name: [None if hole else "" for hole in column] for name, column in named}
        from boreod.tables.arrow import column_of, pc

        batch, outputs, cells = self._as_batch(batch), self.outputs_, {}
        marked = {output.column for output in outputs if output.kind == "missing"}
        worded = {output.column for output in outputs if output.kind in WORDED}
        steps = {step.name: step for step in self.preparation_.steps_} if worded else {}
        for name in dict.fromkeys(output.column for output in outputs):
            if name in worded:
                cells[name] = steps[name].words_of(column_of(batch, name)).to_pylist()
            elif name not in marked:
                empty = pc.is_null(column_of(batch, name), nan_is_null=True)
                cells[name] = pc.if_else(empty, None, "").to_pylist()
        return cells

    def alert_threshold(self, spelling: float | str | None = None, novelty: bool = True) -> float:
        """Return the probability above which a row is an alert.

        It is spelled as the parameter ``threshold``, ``"fpr:0.01"`` and so on; None is that of the
        fit. With ``novelty`` novel rows are alerts too: counts of alerts and false positives hold
        both.
        """
        wanted = self.threshold if spelling is None else spelling
        if spelling is None and not (novelty and isinstance(wanted, str)):
            return float(self.threshold_)
        return self.choose_threshold(wanted, novelty)

    @property
    def ids_(self) -> tuple[str, ...]:
        """Columns that name rows."""
        return tuple(self.preparation_.ids_)

    @property
    def inputs_(self) -> list[str] | None:
        """Columns that a table must have; None if they have other names in files without header."""
        return list(self.preparation_.inputs_) if self.is_named else None

    @property
    def types_(self) -> dict[str, Any]:
        """How to read the columns from text: pass it to ``boreod.tables.open_table``."""
        types = dict(self.preparation_.types_)
        return types if self.is_named else types | {numbered(n): k for n, k in types.items()}

    @property
    def is_named(self) -> bool:
        """Whether the columns of the training table had names."""
        return hasattr(self, "feature_names_in_")

    def _by_partition(self, method: str, X: Any, *arguments: Any, **options: Any) -> Any:
        if self.preparation_.since_:
            raise TypeError(
                f"This model uses the {self.preparation_.since_[0].name!r}, and rows of a Dask "
                "collection come in parts. Pass X.compute(), sorted by time."
            )
        return super()._by_partition(method, X, *arguments, **options)

    def for_workers(self, n_jobs: int | None) -> Self:
        """Return the same detector without its training, for ``n_jobs`` threads elsewhere."""
        sent = super().for_workers(n_jobs)
        sent.adopt(self.preparation_, self.is_named, self.source_, profile=self.profile_)
        return sent

    def adopt(
        self,
        preparation: Any,
        named: bool,
        source: str | None = None,
        curve: BudgetCurve | None = None,
        table: Any = None,
        profile: TrainingProfile | None = None,
    ) -> None:
        """Become the detector of the tables that a preparation takes."""
        self.profile_ = profile
        self.preparation_, self.source_, self.curve_ = preparation, source, curve
        self._table = table
        features = _features(preparation)
        self.n_features_in_ = len(features)
        if self.is_named:
            del self.feature_names_in_
        if named:
            self.feature_names_in_ = np.array(features, dtype=object)

    def _as_batch(self, X: Any) -> Any:
        """Return a table as Arrow; an array has the columns of the fit, one after the other."""
        from boreod.tables import as_arrow

        inputs = self.preparation_.inputs_
        if not _is_arrow(X):
            X = as_arrow(_narrow(X, inputs)) if is_frame(X) else self._name_array(X)
        known = X.schema.names
        renamed = {} if self.is_named else {numbered(name): name for name in inputs}
        if renamed and set(renamed) <= set(known):
            X = X.rename_columns([renamed.get(name, name) for name in known])
        return X

    def _name_array(self, X: Any) -> Any:
        """Return an array as an Arrow table with the names of the fit, if it is as wide."""
        from sklearn.utils.validation import validate_data

        from boreod.tables import as_arrow

        if isinstance(X, str | PathLike):
            raise TypeError(
                f"X must hold rows; got a name, {shorten(X)}. Scores of a file are written by "
                "boreod.tool.score_table(model, file, output), or read it and pass the rows."
            )
        array = read_array(X)
        array = np.asarray(X) if array is None else array
        if array.ndim != 2:
            raise ValueError(
                f"X must be a table of rows and columns; got a {type(X).__name__}. Pass a frame, "
                "also for one row: frame.iloc[[0]], pandas.DataFrame(rows)."
            )
        validate_data(self, array, reset=False, skip_check_array=True)
        return as_arrow(array).rename_columns(_features(self.preparation_))


def _features(preparation: Any) -> list[str]:
    """Return the columns of a training table that were looked at, also those that tell nothing."""
    if isinstance(preparation, PlainColumns):
        return preparation.names_
    return [row.column for row in preparation.summary_ if row.done not in APART]


def _narrow(frame: Any, inputs: list[str]) -> Any:
    """Return a frame with the columns of a fit only, if all are there."""
    wanted, known = set(inputs), names_of(frame)
    if not wanted <= set(known):
        return frame
    return take_columns(frame, [place for place, name in enumerate(known) if name in wanted])


def _is_arrow(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pyarrow"
