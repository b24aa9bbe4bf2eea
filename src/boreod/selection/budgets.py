"""Budgets as users write them: ``300`` units, or a time per row such as ``"200us"``."""

import re
from numbers import Real
from typing import Any

import numpy as np

from boreod.selection.costs import SECONDS

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
ALLOWED = f"a positive number of units, or a time per row in {', '.join(UNITS)} such as '200us'"


def read_budget(budget: Any) -> tuple[float, str]:
    """Return amount and unit of a budget: seconds (``"s"``) or plain units (``""``).

    Examples
    --------
    >>> read_budget("2 ms"), read_budget(300)
    ((0.002, 's'), (300.0, ''))
    """
    if isinstance(budget, Real) and not isinstance(budget, bool | np.bool_):
        amount, unit = float(budget), ""
    else:
        amount, unit = _read_time(budget), SECONDS
    if not 0.0 < amount < np.inf:
        raise ValueError(f"`budget` must be {ALLOWED}; got {budget!r}.")
    return amount, unit


def show_cost(amount: float, unit: str) -> str:
    """Return a cost as a user would write it.

    Examples
    --------
    >>> show_cost(0.00021, "s"), show_cost(1234.5, "")
    ('210us', '1234.5')
    """
    if unit != SECONDS:
        return f"{amount:.6g}"
    name = next((n for n in ("s", "ms", "us") if amount >= UNITS[n]), "ns")
    return f"{amount / UNITS[name]:.3g}{name}"


def _read_time(budget: Any) -> float:
    match = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?\d+)?)\s*([^\d\s.]+)\s*", str(budget))
    if not isinstance(budget, str) or match is None:
        raise ValueError(f"`budget` must be {ALLOWED}; got {budget!r}.")
    unit = match[2].replace("\u00b5", "u").replace("\u03bc", "u")  # the two signs for micro
    if unit not in UNITS:
        raise ValueError(
            f"`budget` has the unit {match[2]!r}; units of time are {', '.join(UNITS)}, as in "
            f"'200us'. A plain number means units of declared costs. Got {budget!r}."
        )
    try:
        return float(match[1]) * UNITS[unit]
    except ValueError:
        raise ValueError(f"`budget` must be {ALLOWED}; got {budget!r}.") from None
