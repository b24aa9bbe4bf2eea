"""A detector together with what makes numbers of a table's columns."""

import os
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.detector import OutlierDetector
from boreod.detector.words import list_heads, tell_assumptions
from boreod.ensemble.fitted import Assessment
from boreod.parallel import current_engine
from boreod.persistence import ModelFileError, load_model, save_model
from boreod.persistence.manifest import FORMAT
from boreod.persistence.saving import package_versions
from boreod.selection.budgets import BudgetCurve, read_budget
from boreod.selection.costs import SECONDS
from boreod.tables import ColumnSummary, Preparation, TableError
from boreod.tables.arrow import column_of
from boreod.tables.cells import as_numbers
from boreod.tables.sources import check_columns
from boreod.text import shorten
from boreod.validation import LARGEST, check_values

CURVE = ("budgets", "costs", "n_columns", "auc", "average_precision")
CURVE_OF_TREES = ("n_trees", "tree_costs")  # of detectors with tree heads


class PlainColumns:
    """What stands for a preparation if a detector was fitted to numbers in Python.

    If its training table had no names, they are x0, x1 and so on, and those of a file without
    header (c0, c1) are taken as well.
    """

    label_: str | None = None
    ids_: tuple[str, ...] = ()
    notes_: tuple[str, ...] = ()

    def __init__(self, names: list[str], named: bool) -> None:
        self.names_ = self.inputs_ = names
        self.named = named
        self.summary_ = [ColumnSummary(name, "number", "as it is", 1) for name in names]
        self._numbered = [] if named else [f"c{place}" for place in range(len(names))]
        self.types_ = dict.fromkeys([*names, *self._numbered], "number")

    def transform(self, batch: Any, *, first_row: int = 1) -> NDArray:
        """Return rows as float64, as :class:`Preparation` does."""
        known = batch.schema.names
        numbered = not self.named and set(self._numbered) <= set(known)
        names = self._numbered if numbered else self.names_
        check_columns(names, known, "The table")
        columns = [as_numbers(column_of(batch, name), name, "number", first_row) for name in names]
        rows = np.column_stack(columns)
        for row, column in np.argwhere(np.isnan(rows))[:1].tolist():
            raise TableError(
                f"Row {first_row + row} has no value in column {shorten(names[column])}, "
                "and this model was fitted without a preparation that fills it. Fill it, or fit "
                "with `boreod fit`."
            )
        return rows


@dataclass(frozen=True)
class TableModel:
    """A fitted detector for tables: what ``boreod fit`` makes and all other commands use.

    Attributes
    ----------
    detector
        A fitted :class:`boreod.Detector` or :class:`boreod.BORE` of the prepared columns.
    preparation
        Makes these of a table; a ``PlainColumns`` for a detector that was saved alone.
    source
        Name of the training table, without its folder; None if unknown.
    curve
        Out-of-bag quality over budgets; None if it is unknown.
    outlier_label
        The label of outliers in the training table; None if it is one of the usual ones.
    """

    detector: OutlierDetector
    preparation: Preparation | PlainColumns = field(repr=False)
    source: str | None = None
    curve: BudgetCurve | None = field(default=None, repr=False)
    outlier_label: str | float | None = None

    @classmethod
    def load(cls, path: str | PathLike[str], n_jobs: int | None = None) -> "TableModel":
        """Read a model file, of ``boreod fit`` or of :func:`boreod.save_model`.

        It need not be trusted. Without ``n_jobs`` it has as many threads as the fit.
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
        """Write everything to one file, by custom ``.boreod``; it appears when it is complete."""
        extra: dict[str, Any] | None = None
        if isinstance(self.preparation, Preparation):
            extra = {
                "preparation": self.preparation.to_dict(),
                "budget_curve": curve_to_dict(self.curve),
                "source": self.source,
                "outlier_label": self.outlier_label,
            }
        save_model(self.detector, path, extra=extra)

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that name rows."""
        return tuple(self.preparation.ids_)

    @property
    def inputs(self) -> list[str] | None:
        """Columns that a table must have; None if they have other names in files without header."""
        plain = self.preparation
        return None if isinstance(plain, PlainColumns) and not plain.named else plain.inputs_

    def prepare(self, batch: Any, first_row: int = 1) -> NDArray:
        """Return rows of numbers, one column for each of the detector's.

        A batch is a pyarrow record batch or table with the columns of ``inputs``, and perhaps
        others; ``first_row`` is the number of its first row, for errors.
        """
        if not batch.num_rows:
            raise TableError("The table has no rows to score.")
        rows = self.preparation.transform(batch, first_row=first_row)
        names = self.preparation.names_
        for row, column in np.argwhere(np.abs(rows) > LARGEST)[:1].tolist():
            raise TableError(
                f"Column {shorten(names[column])} must hold numbers up to {LARGEST:.0e}; row "
                f"{first_row + row} holds {rows[row, column]:g}. Correct it, or leave it empty."
            )
        check_values(self.detector, rows)
        return np.ascontiguousarray(rows)

    def assess(
        self, batch: Any, first_row: int = 1, *, explain: bool = False, novelty: bool = True
    ) -> Assessment:
        """Return log-odds, and if wanted novelty and reasons, of every row of a batch.

        Reasons are what raw columns and families of scores added. Without novelty no row is novel.
        """
        rows, detector = self.prepare(batch, first_row), self.detector
        engine = current_engine(detector.n_jobs, detector.verbose)
        return detector.fitted_.assess(rows, engine, explain, novelty)

    def log_odds(self, batch: Any, first_row: int = 1) -> NDArray:
        """Return the log-odds of being an outlier for every row, as in :meth:`assess`."""
        return self.assess(batch, first_row, novelty=False).log_odds

    def threshold(self, spelling: float | str | None = None, novelty: bool = True) -> float:
        """Return the probability above which a row is an alert.

        It is spelled as in the fit, ``"fpr:0.01"`` and so on; None is that of the fit.
        With ``novelty`` novel rows are alerts too: counts of alerts and false positives hold both.
        """
        wanted = self.detector.threshold if spelling is None else spelling
        if spelling is None and not (novelty and isinstance(wanted, str)):
            return float(self.detector.threshold_)
        return self.detector.choose_threshold(wanted, novelty)


def describe(model: TableModel) -> dict[str, Any]:
    """Return what is to be known of a model as plain data, ready for JSON.

    Prices of columns are None if nobody asked for them in the fit.
    """
    detector, preparation = model.detector, model.preparation
    stored, costs, seen = detector.stored_, detector.known_costs, detector.fitted_.seen
    oob = detector.oob_proba_
    novelty = None
    if detector.fitted_.searches:  # distances to the 10th reference row
        novelty = {"usual_distance": seen.usual, "novel_beyond": seen.limit}
    return {
        "format": FORMAT if stored is None else stored.format,
        "versions": package_versions() if stored is None else stored.versions,
        "method": type(detector).__name__,
        "heads": [head._asdict() for head in list_heads(detector)],
        "assumptions": tell_assumptions(detector),
        "source": model.source,
        "label": preparation.label_,
        "ids": list(model.ids),
        "training": asdict(detector.oob_.summarize()),
        "preparation": [row._asdict() for row in preparation.summary_],
        "notes": list(preparation.notes_),
        "columns": _columns(detector),
        "unit": "" if costs is None else costs.unit,
        "cost": detector.cost_,
        "budget": detector.budget,
        "trees": _trees(detector),
        "costs": _name_costs(detector),
        "prices": None if costs is None else asdict(costs),
        "threshold": float(detector.threshold_),
        "threshold_rule": detector.threshold,
        "training_rows_above": int(np.sum(oob[np.isfinite(oob)] > detector.threshold_)),
        "novelty": novelty,
        "budget_curve": curve_to_dict(model.curve),
        "cheapest_budget": None if model.curve is None else model.curve.cheapest(),
    }


def _trees(detector: OutlierDetector) -> dict[str, Any] | None:
    """Return how many trees of every bag a budget bought, by head, and for how much."""
    choice = detector.selection_
    if choice is None or not choice.trees:
        return None
    return {"of_every_bag": dict(choice.trees), "cost": choice.cost_of_trees}


def _name_costs(detector: OutlierDetector) -> str:
    if detector.costs is not None:
        return detector.costs if isinstance(detector.costs, str) else "declared"
    in_seconds = detector.budget is None or read_budget(detector.budget)[1] == SECONDS
    return "measured:shared" if in_seconds else "complexity:additive"


def _columns(detector: OutlierDetector) -> list[dict[str, Any]]:
    """Return the columns in use, the most stable first, with what each adds to the cost."""
    costs, names, choice = detector.known_costs, detector.columns_, detector.selection_
    order, stability = (names, {}) if choice is None else (choice.columns, choice.frequencies)
    added: dict[str, float] = {}
    if costs is not None:
        priced = [name for name in names if name in costs.own]
        added = {
            name: costs.marginal(name, [other for other in priced if other != name])
            for name in priced
        }
    return [
        {"name": name, "cost": added.get(name), "stability": stability.get(name)} for name in order
    ]


def curve_to_dict(curve: BudgetCurve | None) -> dict[str, Any] | None:
    """Return a budget curve as words and lists of numbers."""
    if curve is None:
        return None
    names = CURVE if curve.n_trees is None else (*CURVE, *CURVE_OF_TREES)
    return {"unit": curve.unit, **{name: getattr(curve, name).tolist() for name in names}}


def _curve_from_dict(data: Any) -> BudgetCurve | None:
    """Return a curve from what may be anything, or refuse it."""
    if data is None:
        return None
    names: tuple[str, ...] = CURVE
    if isinstance(data, dict) and set(CURVE_OF_TREES) <= set(data):
        names = (*CURVE, *CURVE_OF_TREES)
    if isinstance(data, dict) and set(data) == {"unit", *names} and data["unit"] in ("", SECONDS):
        series = [data[name] for name in names]
        lengths = {len(values) if isinstance(values, list) else 0 for values in series}
        amounts = (value for values in series if isinstance(values, list) for value in values)
        if len(lengths) == 1 and lengths != {0} and all(map(_is_amount, amounts)):
            return BudgetCurve(**{name: np.array(data[name]) for name in names}, unit=data["unit"])
    raise ModelFileError("its budget curve is none")


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e300  # nan is neither


def _read_extra(
    detector: Any,
) -> tuple[Preparation | PlainColumns, str | None, BudgetCurve | None, str | float | None]:
    """Return preparation, source, curve and label from the free section of a model file."""
    extra = detector.stored_.extra
    names = list(detector.fitted_.seen.columns)
    if "preparation" not in extra:
        return PlainColumns(names, hasattr(detector, "feature_names_in_")), None, None, None
    preparation = Preparation.from_dict(extra["preparation"])
    if preparation.names_ != names or not hasattr(detector, "feature_names_in_"):
        raise ModelFileError("its preparation makes other columns than its detector takes")
    source, label = extra.get("source"), extra.get("outlier_label")
    named = source is None or (isinstance(source, str) and source == Path(source).name)
    if not named or not isinstance(label, str | int | float | None):
        raise ModelFileError("the name of its training table or its label of outliers is none")
    return preparation, source, _curve_from_dict(extra.get("budget_curve")), label
