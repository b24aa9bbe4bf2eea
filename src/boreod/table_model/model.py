"""A detector together with what makes numbers of a table's columns."""

import os
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in

from boreod.detector import BORE
from boreod.ensemble.fitted import Assessment
from boreod.persistence import ModelFileError, load_model, save_model
from boreod.selection import BudgetCurve
from boreod.table_model.curve import curve_from_dict, curve_to_dict
from boreod.table_model.plain_columns import PlainColumns
from boreod.tables import Preparation
from boreod.tables.arrow import TableError, pa
from boreod.tables.writer import check_target
from boreod.text import shorten
from boreod.validation import LARGEST


@dataclass(frozen=True)
class TableModel:
    """A fitted detector for tables: what ``boreod fit`` makes and all other commands use.

    Attributes
    ----------
    detector
        A fitted :class:`boreod.BORE` of the prepared columns.
    preparation
        Makes these of a table; a :class:`PlainColumns` for a detector that was saved alone.
    source
        Name of the training table, without its folder; None if unknown.
    curve
        Out-of-bag quality over budgets; None if it is unknown.
    outlier_label
        The label of outliers in the training table; None if it is one of the usual ones.
    """

    detector: BORE
    preparation: Preparation | PlainColumns = field(repr=False)
    source: str | None = None
    curve: BudgetCurve | None = field(default=None, repr=False)
    outlier_label: str | float | None = None

    @classmethod
    def load(cls, path: str | PathLike[str], n_jobs: int | None = None) -> "TableModel":
        """Read a model file, of ``boreod fit`` or of :func:`boreod.save_model`.

        Parameters
        ----------
        path
            Name of the file. It need not be trusted.
        n_jobs
            Number of threads, None for that of the fit.
        """
        detector = load_model(path)
        detector.set_params(verbose=False)
        if n_jobs is not None:
            detector.set_params(n_jobs=n_jobs)
        try:
            return cls(detector, *_read_extra(detector))
        except (ModelFileError, TableError) as error:
            reason = str(error).partition(". ")[0].rstrip(".")
            reason = reason[0].lower() + reason[1:]
            raise ModelFileError(
                f"The model file {os.fspath(path)!r} cannot be used: {reason}."
            ) from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, which appears when it is complete.

        Parameters
        ----------
        path
            Name of the file, by custom with the ending ``.boreod``.
        """
        if isinstance(self.preparation, PlainColumns):
            save_model(self.detector, path)
            return
        extra = {
            "preparation": self.preparation.to_dict(),
            "budget_curve": None if self.curve is None else curve_to_dict(self.curve),
            "source": self.source,
            "outlier_label": self.outlier_label,
        }
        save_model(self.detector, path, extra=extra)

    @property
    def label(self) -> str | None:
        """The column of labels in the training table."""
        return self.preparation.label_

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that name rows."""
        return tuple(self.preparation.ids_)

    @property
    def inputs(self) -> list[str] | None:
        """Columns that a table must have; None if they have other names in files without header."""
        plain = self.preparation
        return None if isinstance(plain, PlainColumns) and not plain.named else plain.inputs_

    @property
    def types(self) -> dict[str, str]:
        """How to read the columns from text: `types` of ``open_table``."""
        return self.preparation.types_

    @property
    def codes(self) -> NDArray:
        """Labels of the training rows: 1 outlier, 0 inlier, -1 unlabelled."""
        return self.detector.oob_.codes

    def prepare(self, batch: Any, first_row: int = 1) -> Any:
        """Return rows of numbers as the detector takes them.

        Parameters
        ----------
        batch
            A pyarrow record batch or table with the columns of ``inputs``, and perhaps others.
        first_row
            Number of its first row, for errors.
        """
        rows = self.preparation.transform(batch, first_row=first_row)
        _refuse_large(rows, self.preparation.names_, first_row)
        return name_columns(rows, self.preparation.names_) if self._is_named else rows

    def assess(
        self, batch: Any, first_row: int = 1, *, explain: bool = False, novelty: bool = True
    ) -> Assessment:
        """Return log-odds, novelty and reasons of every row.

        Parameters
        ----------
        batch, first_row
            As in :meth:`prepare`.
        explain
            Whether reasons are wanted: what raw columns and families of scores added.
        novelty
            Whether novelty is wanted; without it no row is novel.
        """
        return self.detector.assess(self.prepare(batch, first_row), explain, novelty)

    def log_odds(self, batch: Any, first_row: int = 1) -> NDArray:
        """Return the log-odds of being an outlier for every row.

        Parameters
        ----------
        batch, first_row
            As in :meth:`prepare`.
        """
        return self.assess(batch, first_row, novelty=False).log_odds

    def threshold(self, spelling: float | str | None = None, novelty: bool = True) -> float:
        """Return the probability above which a row is an alert.

        Parameters
        ----------
        spelling
            A probability, ``"fpr:0.01"`` and so on as in :class:`boreod.BORE`; None for that of the
            fit.
        novelty
            Whether novel rows are alerts too: numbers of alerts and false positives count both.
        """
        wanted = self.detector.threshold if spelling is None else spelling
        if spelling is None and not (novelty and isinstance(wanted, str)):
            return float(self.detector.threshold_)
        return self.detector.choose_threshold(wanted, novelty)

    @property
    def _is_named(self) -> bool:
        return hasattr(self.detector, "feature_names_in_")


def name_columns(rows: NDArray, names: list[str]) -> Any:
    """Return rows as a table whose columns have names.

    Parameters
    ----------
    rows
        Numbers.
    names
        One a column.
    """
    columns = [pa.array(np.ascontiguousarray(rows[:, place])) for place in range(len(names))]
    return pa.table(columns, names=names)


def _refuse_large(rows: NDArray, names: list[str], first_row: int) -> None:
    """Refuse values whose squares are not finite, by the number of their row in the table."""
    large = np.abs(rows) > LARGEST
    if large.any():
        row, column = np.argwhere(large)[0]
        raise TableError(
            f"Column {shorten(names[column])} must hold numbers up to {LARGEST:.0e}; row "
            f"{first_row + row} holds {rows[row, column]:g}. Correct it, or leave it empty."
        )


def check_model_path(path: str | PathLike[str], inputs: list[str]) -> None:
    """Refuse a place for a model file before the work that it is to hold.

    Parameters
    ----------
    path
        Name of the file.
    inputs
        Tables that are being read.
    """
    check_target(path, inputs)


def _read_extra(
    detector: Any,
) -> tuple[Preparation | PlainColumns, str | None, BudgetCurve | None, str | float | None]:
    """Return preparation, source, curve and label from the free section of a model file."""
    extra = detector.stored_.extra
    names = [str(name) for name in _check_feature_names_in(detector)]
    if "preparation" not in extra:
        return PlainColumns(names, hasattr(detector, "feature_names_in_")), None, None, None
    preparation = Preparation.from_dict(extra["preparation"])
    if preparation.names_ != names or not hasattr(detector, "feature_names_in_"):
        raise ModelFileError("its preparation makes other columns than its detector takes")
    source, curve = extra.get("source"), extra.get("budget_curve")
    if source is not None and (not isinstance(source, str) or source != Path(source).name):
        raise ModelFileError("the name of its training table is none")
    label = extra.get("outlier_label")
    if not isinstance(label, str | int | float | None):
        raise ModelFileError("its label of outliers is neither a text nor a number")
    return preparation, source, None if curve is None else curve_from_dict(curve), label
