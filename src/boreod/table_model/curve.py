"""The budget curve as plain data of a model file, and back."""

import math
from typing import Any

import numpy as np

from boreod.persistence import ModelFileError
from boreod.selection import SECONDS, BudgetCurve

SERIES = ("budgets", "costs", "n_columns", "auc", "average_precision")


def curve_to_dict(curve: BudgetCurve) -> dict[str, Any]:
    """Return a curve as words and lists of numbers.

    Parameters
    ----------
    curve
        What ``BORE.budget_curve`` returned.
    """
    return {"unit": curve.unit, **{name: getattr(curve, name).tolist() for name in SERIES}}


def curve_from_dict(data: Any) -> BudgetCurve:
    """Return a curve from what may be anything, or refuse it.

    Parameters
    ----------
    data
        Plain data, perhaps from a file that others have written.
    """
    if not isinstance(data, dict) or set(data) != {"unit", *SERIES}:
        raise ModelFileError("its budget curve is none")
    series = [data[name] for name in SERIES]
    right = data["unit"] in ("", SECONDS) and all(isinstance(values, list) for values in series)
    if not right or not series[0] or len({len(values) for values in series}) > 1:
        raise ModelFileError("its budget curve has parts that do not fit together")
    if not all(_is_amount(value) for values in series for value in values):
        raise ModelFileError("its budget curve holds something that is no number")
    arrays = {name: np.array(data[name]) for name in SERIES}
    return BudgetCurve(**arrays, unit=data["unit"])


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e300 and math.isfinite(value)
