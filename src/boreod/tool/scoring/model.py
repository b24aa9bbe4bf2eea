"""The detector of tables: frames, arrays and files in, probabilities, reasons and pages out."""

import warnings
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.bore import NumericDetector
from boreod.detector import draw_seeds
from boreod.ensemble.profile import LearnedRows, TrainingProfile
from boreod.parallel import plain_interrupts
from boreod.predictor import check_parameters
from boreod.representation.array_rows import PlainColumns, is_frame, medians, read_array
from boreod.tool.scoring.table_predictor import TablePredictor
from boreod.validation import all_or_nothing, read_rows, same_filters

Names = str | Iterable[str]


class Detector(TablePredictor, NumericDetector):
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
        labels: Any = None,
        inlier_label: Any = None,
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
            ``outlier_label``. None if a column holds them, or nothing does. ``classes_`` and
            ``predict`` are of the kind of ``y``: False and True if it holds booleans.
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
        labels
            A second table of ``ids`` and labels, a frame or a file: its answers replace those of X.
        inlier_label
            The label of inliers, if labels other than it and ``outlier_label`` are none.
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
                self._fit_table(X, y, label, roles, options, (labels, inlier_label))
                return self
            asked = {"label": label, "ids": ids, "drop": drop, "keep": keep, "reading": reading}
            asked |= {"since": since, "labels": labels, "inlier_label": inlier_label}
            for name, value in asked.items():
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
            Of :func:`boreod.tool.write_report`: ``y`` or ``label``, ``title``,
            ``rows_per_day`` and others.
        """
        from boreod.tool.report.writing import write_report

        write_report(self, path, table, **options)

    def save(self, path: str | PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write everything that predictions need to one file, by custom ``.boreod``.

        :func:`boreod.load` reads it. ``extra`` is anything that JSON can hold, for your own use;
        ``stored_.extra`` of the loaded detector gives it back.
        """
        from boreod.tool.scoring.model_files import save

        save(self, path, extra=extra)

    @property
    def training_table(self) -> Any:
        """The rows that were learned from, of a detector that was fitted in this session."""
        return self._table

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
        told: tuple[Any, Any] = (None, None),
    ) -> None:
        """Learn a preparation from the rows that are wanted, and then from what it makes."""
        from boreod.tables.preparing.labels import label_options
        from boreod.tool.scoring.fitting import (
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
        reading = read_only(reading, label, *roles)
        reading |= label_options(label, roles[0], told[0], self.outlier_label, told[1])
        roles = (roles[0], (), roles[2])  # what is dropped is not read
        found = read_training_rows(source, self, y, label, seeds, reading)
        preparation, matrix = prepare_training(found, self, label, *roles, reading)
        rows = read_rows(self, matrix, fitting=True, names=preparation.names_)
        self._learn(rows, (found.codes, found.classes, found.shares), seeds)
        if preparation.tells_training_rows:  # as they would be if they came again
            with warnings.catch_warnings(action="ignore"):  # they were told
                later, seen = preparation.transform(found.table), self.fitted_.seen
            self.learned_rows_ = LearnedRows.of(later)
            np.minimum(seen.low, later.min(axis=0), out=seen.low)
            np.maximum(seen.high, later.max(axis=0), out=seen.high)
        self.reference_rows_ = found.positions
        name = name_source(fspath(source)) if isinstance(source, str | PathLike) else None
        called = name_rows(found, preparation.ids_)
        profile = TrainingProfile.learn(rows, found.codes, called, preparation.marks_)
        named = not isinstance(source, np.ndarray)
        self.adopt(preparation, named, name, table=found.table, profile=profile)

    def _learn(self, rows: NDArray, labels: Any, seeds: list[int]) -> None:
        super()._learn(rows, labels, seeds)
        self._table = rows
