"""What a model file keeps of the training table: its preparation, its profile, its name."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from boreod.ensemble.profile import LearnedRows, TrainingProfile
from boreod.persistence.manifest import ModelFileError, StoredCurve, StoredTable
from boreod.predictor import Predictor, TrainingRecord
from boreod.representation.array_rows import ArrayRows, upper_floor
from boreod.selection.budgets import BudgetCurve
from boreod.validation import LARGEST


def describe_table(model: Predictor) -> StoredTable:
    """Return what is to be kept of a training table."""
    preparation = model.preparation_
    is_plain = isinstance(preparation, ArrayRows)
    profile = model.record_.profile
    return StoredTable(
        is_named=preparation.is_named,
        middle=preparation.middle.tolist() if is_plain else None,
        preparation=None if is_plain else preparation.to_dict(),
        profile=None if profile is None else asdict(profile),
        source=model.record_.source,
        curve=store_curve(model.record_.curve),
    )


def restore_table(
    stored: StoredTable, names: list[str], learned: LearnedRows
) -> tuple[Any, TrainingRecord]:
    """Return preparation and record from what was checked for its types only.

    ``names`` are the columns that the detector takes.
    """
    profile = None
    if stored.profile is not None:
        profile = TrainingProfile.from_dict(stored.profile, len(names))
    source = stored.source
    if source is not None and source != Path(source).name:
        raise ModelFileError("the name of its training table is none")
    record = TrainingRecord(profile, learned, source, restore_curve(stored.curve))
    return _restore_preparation(stored, names), record


def _restore_preparation(stored: StoredTable, names: list[str]) -> Any:
    if (stored.middle is None) == (stored.preparation is None):
        raise ModelFileError("what it says of its table is none")
    if stored.middle is not None:
        if len(stored.middle) != len(names):
            raise ModelFileError("the medians of its columns are none")
        if not all(abs(value) <= LARGEST for value in stored.middle):
            raise ModelFileError("a median of its columns is no number")
        return ArrayRows(names, np.array(stored.middle), stored.is_named)
    preparation = upper_floor("tables.rows").TableRows.from_dict(stored.preparation)
    if preparation.names_ != names:
        raise ModelFileError("its preparation makes other columns than its detector takes")
    # The columns of an array are called x0, x1 and so on; some of them may have been left out.
    are_numbered = all(n[:1] == "x" and n[1:].isdecimal() for n in preparation.inputs_)
    if not (stored.is_named or are_numbered):
        raise ModelFileError("it does not tell whether its columns had names")
    preparation.is_named = stored.is_named
    return preparation


def store_curve(curve: BudgetCurve | None) -> StoredCurve | None:
    """Return a budget curve as words and lists of numbers."""
    if curve is None:
        return None
    parts = {name: values for name, values in vars(curve).items() if values is not None}
    lists = {name: values.tolist() for name, values in parts.items() if name != "unit"}
    return StoredCurve(unit=curve.unit, **lists)


def restore_curve(stored: StoredCurve | None) -> BudgetCurve | None:
    """Return a budget curve, or refuse lists that are none."""
    if stored is None:
        return None
    series = {name: values for name, values in asdict(stored).items() if name != "unit"}
    given = {name: np.array(values) for name, values in series.items() if values is not None}
    are_amounts = all((values >= 0).all() and (values < 1e300).all() for values in given.values())
    sizes = {len(values) for values in given.values()}
    has_both = (stored.n_trees is None) == (stored.tree_costs is None)
    if len(sizes) != 1 or sizes == {0} or not (are_amounts and has_both):
        raise ModelFileError("its budget curve is none")
    if stored.unit not in ("", "s"):
        raise ModelFileError("its budget curve is none")
    return BudgetCurve(**given, unit=stored.unit)
