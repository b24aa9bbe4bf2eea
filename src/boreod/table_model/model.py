"""The detector of tables: frames, arrays and files in, probabilities, reasons and pages out."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from boreod.detector import NumericDetector
from boreod.detector.facade import draw_seeds
from boreod.detector.parameters import check_parameters
from boreod.detector.profile import TrainingProfile
from boreod.detector.reasons import Cells, Output, Reason, ReasonWriter
from boreod.ensemble.fitted import Assessment
from boreod.parallel import plain_interrupts
from boreod.parallel.dask_tables import is_collection
from boreod.selection.budgets import BudgetCurve
from boreod.table_model.plain_columns import (
    PlainColumns,
    is_frame,
    medians,
    names_of,
    numbered,
    read_array,
    take_columns,
)
from boreod.text import shorten
from boreod.validation import LARGEST, all_or_nothing, read_rows, same_filters

Names = str | Iterable[str]
WORDED = ("level", "other", "odds", "frequency")  # kinds of outputs whose words reasons name
APART = ("label", "id", "left out")  # columns that are no features, as a preparation calls them


class Detector(NumericDetector):
    """Outlier detection for a table and a few labelled outliers, or none yet.

    Several heads on raw columns and a few outlier scores, fitted to bags with ten inliers for each
    outlier, averaged by what they are worth out of bag. Unlabelled rows count as inliers where few
    are labelled, so ``y`` may be 1 for some known outliers and -1 for all other rows; probabilities
    then mean "would be labelled an outlier". Without any label rows are ranked by a consensus of
    scores, and ``predict_proba`` is the share of training rows that look less like an outlier.

    ``X`` is a table wherever it is asked for: a pandas, polars, Arrow or Dask frame, whose columns
    may hold words, dates and missing values and are found by their names, or an array. What becomes
    of every column is learned in ``fit``, see ``preparation_``. An array of finite numbers is taken
    as it is. Frames, and arrays with words or missing values, need ``pip install boreod[data]``.

    Parameters and other attributes are those of :class:`BORE`, with other defaults:
    ``Detector(**BORE().get_params())`` is the printed method, for frames too.

    Attributes
    ----------
    preparation_
        What makes numbers of the columns, a :class:`boreod.tables.Preparation`: ``summary_`` and
        ``notes_`` tell what was done. A ``PlainColumns`` if nothing was.
    source_
        Name of the file of the training table, without its folder; None for others.
    curve_
        Out-of-bag quality over budgets, if `boreod fit --curve` traced it; None otherwise.
    profile_
        Quantiles of the training rows and a few known outliers with their ids, for reasons in
        words and for checks of later tables; None in files of a BORE.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"amount": random.normal(size=210), "country": ["DE", "FR"] * 105})
    >>> frame["fraud"] = np.arange(210) < 10
    >>> frame.loc[frame["fraud"], "amount"] += 5
    >>> model = Detector(random_state=0).fit(frame, label="fraud")
    >>> model.predict(pd.DataFrame({"country": ["FR", None], "amount": [0.0, 6.0]})).tolist()
    [0, 1]
    """

    preparation_: Any
    source_: str | None
    curve_: BudgetCurve | None
    profile_: TrainingProfile | None
    feature_names_in_: NDArray
    _table: Any  # the training rows, for a report; None in a loaded model

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        label: str | None = None,
        ids: Names | None = None,
        drop: Names | None = None,
        keep: Names | None = None,
        since: Names | None = None,
        reading: dict[str, Any] | None = None,
        **unsupported: Any,
    ) -> "Detector":
        """Learn what becomes of the columns, and then from labelled rows and others.

        Parameters
        ----------
        X
            A frame or an array, or the name of a file, which may be larger than memory if there is
            a ``reference_size``.
        y
            1 for outliers, 0 for inliers, -1, NaN or None for unlabelled rows; or any labels with
            ``outlier_label``. None if a column holds them, or nothing does.
        label
            In place of ``y`` the column of labels: 1 and 0, true and false, yes and no, or others
            with ``outlier_label``; empty cells are unlabelled. ``predict`` gives 1 and 0 then.
        ids
            Columns that name a row, which are not learned from. Here and below names may have
            commas between them.
        drop, keep
            Columns to leave out; the only columns to learn from.
        since
            Columns of ids, such as ``card`` or ``card:time`` (needed where there are several
            columns of dates): learn from the time since the last row of the same id, too. Tables
            must be sorted by time then, and rows alone or in parts cannot be scored.
        reading
            Options of ``boreod.tables.open_table`` for a file.
        **unsupported
            Nothing; ``sample_weight`` is refused with a reason.
        """
        self._refuse(unsupported)
        with plain_interrupts(), all_or_nothing(self), same_filters():
            if isinstance(X, str | PathLike) or is_frame(X):
                roles = () if ids is None else ids, () if drop is None else drop, keep
                options = {**(reading or {}), **({"since": since} if since else {})}
                self._fit_table(X, y, label, roles, options)
                return self
            asked = {"label": label, "ids": ids, "drop": drop, "keep": keep, "reading": reading}
            for name, value in {**asked, "since": since}.items():
                if value is not None:
                    raise TypeError(
                        f"`{name}` is of frames and files, whose columns have names; X is a "
                        f"{type(X).__name__}. Pass a frame, or labels as y."
                    )
            array = read_array(X)
            if array is not None:
                self._fit_table(array, y, None, ((), (), None), None)
                return self
            self._fit(X, y)
            plain = PlainColumns(list(self.fitted_.seen.columns), medians(self._table))
            profile = TrainingProfile.learn(self._table, self.oob_.labels)
            self.adopt(plain, self.is_named, table=self._table, profile=profile)
        return self

    def prepare(self, X: Any, first_row: int = 1) -> NDArray:
        """Return the rows of a table as float64: columns of ``preparation_.names_``.

        Columns are found by name and may be in any order, with others between them.
        ``first_row`` is the number of the first row, for errors.
        """
        check_is_fitted(self)
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
        check_is_fitted(self)
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
        check_is_fitted(self)
        if not _is_arrow(X) and not isinstance(self.preparation_, PlainColumns):
            X = self._as_batch(X)
        rows = self.prepare(X, first_row)
        found = self.assess_rows(rows, True, novelty)
        return self.reason_writer.write(rows, found, number, self.words_of(X))

    @property
    def outputs_(self) -> list[Output]:
        """What the columns of ``preparation_.names_`` are made of."""
        check_is_fitted(self)
        if isinstance(self.preparation_, PlainColumns):
            return [Output(name) for name in self.preparation_.names_]
        return [Output(s.name, *of) for s in self.preparation_.steps_ for of in s.outputs]

    @property
    def reason_writer(self) -> ReasonWriter:
        """What writes reasons in words."""
        check_is_fitted(self)
        return ReasonWriter(self.fitted_, self.outputs_, self.profile_)

    def words_of(self, batch: Any) -> Cells:
        """Return cells by column: words that reasons name, None for what is missing unmarked."""
        if not _is_arrow(batch) and isinstance(self.preparation_, PlainColumns):
            return {}
        from boreod.tables.arrow import column_of, pc
        from boreod.tables.cells import as_text

        batch, outputs, cells = self._as_batch(batch), self.outputs_, {}
        marked = {output.column for output in outputs if output.kind == "missing"}
        worded = {output.column for output in outputs if output.kind in WORDED}
        for name in dict.fromkeys(output.column for output in outputs):
            if name in worded:
                cells[name] = as_text(column_of(batch, name), name).to_pylist()
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

    def report(self, path: str | PathLike[str], table: Any = None, **options: Any) -> None:
        """Write a page about the detector: its quality, alerts, suspects and columns.

        Parameters
        ----------
        path
            The page, one HTML file.
        table
            Rows with their labels, or a file of them: those of the fit are judged out of bag. None
            for these, unless the detector was loaded from a file, which holds no rows.
        **options
            Of :func:`boreod.table_model.write_report`: ``y`` or ``label``, ``title``,
            ``rows_per_day`` and others.
        """
        from boreod.table_model.reporting import write_report

        write_report(self, path, table, **options)

    def save(self, path: str | PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write everything that predictions need to one file, by custom ``.boreod``.

        :func:`boreod.load` reads it. ``extra`` is anything that JSON can hold, for your own use;
        ``stored_.extra`` of the loaded detector gives it back.
        """
        from boreod.table_model.files import save

        save(self, path, extra=extra)

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

    @property
    def training_table(self) -> Any:
        """The rows that were learned from, of a detector that was fitted in this session."""
        return self._table

    def _by_partition(self, method: str, X: Any, *arguments: Any, **options: Any) -> Any:
        if self.preparation_.since_:
            raise TypeError(
                f"This model uses the {self.preparation_.since_[0].name!r}, and rows of a Dask "
                "collection come in parts. Pass X.compute(), sorted by time."
            )
        return super()._by_partition(method, X, *arguments, **options)

    def for_workers(self, n_jobs: int | None) -> "Detector":
        """Return the same detector without its training, for ``n_jobs`` threads elsewhere."""
        sent: Detector = super().for_workers(n_jobs)
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

    def __sklearn_tags__(self) -> Any:
        """Say that values may be missing, and that columns may hold words."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _fit_table(
        self,
        source: Any,
        y: Any,
        label: str | None,
        roles: tuple[Names, Names, Names | None],
        reading: dict[str, Any] | None,
    ) -> None:
        """Learn a preparation from the rows that are wanted, and then from what it makes."""
        from boreod.table_model.fitting import (
            check_source,
            name_rows,
            name_source,
            prepare_training,
            read_only,
            read_training_rows,
        )

        check_parameters(self)
        check_source(source, y, label, self)
        seeds = draw_seeds(self.random_state)
        is_file = isinstance(source, str | PathLike)
        reading = read_only(reading, label, *roles)
        roles = (roles[0], (), roles[2])  # what is dropped is not read
        found = read_training_rows(source, self, y, label, seeds, reading)
        preparation, matrix = prepare_training(found, self, label, *roles, reading)
        rows = read_rows(self, matrix, fitting=True, names=preparation.names_)
        self._learn(rows, (found.codes, found.classes, found.shares), seeds)
        n_rows = len(found.codes)
        self.reference_rows_ = np.arange(n_rows) if found.rows is None else found.rows
        name = name_source(fspath(source)) if is_file else None
        called = name_rows(found, preparation.ids_)
        profile = TrainingProfile.learn(rows, found.codes, called)
        named = not isinstance(source, np.ndarray)
        self.adopt(preparation, named, name, table=found.table, profile=profile)

    def _learn(self, rows: NDArray, labels: Any, seeds: list[int]) -> None:
        super()._learn(rows, labels, seeds)
        self._table = rows

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
                "boreod.table_model.score_table(model, file, output), or read it and pass the rows."
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
