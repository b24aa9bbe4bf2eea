"""Budgets as users write them: ``300`` units, or a time per row such as ``"200us"``."""

import re
from math import floor, log10
from typing import Any

import numpy as np

from boreod.selection.costs import SECONDS
from boreod.text import shorten
from boreod.validation import is_number

UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}  # in a second; exact, unlike their inverses
ALLOWED = f"a positive number of units, or a time per row in {', '.join(UNITS)} such as '200us'"


def read_budget(budget: Any) -> tuple[float, str]:
    """Return amount and unit of a budget: seconds (``"s"``) or plain units (``""``).

    Examples
    --------
    >>> read_budget("2 ms"), read_budget(300)
    ((0.002, 's'), (300.0, ''))
    """
    in_units = is_number(budget)
    amount = _to_float(budget) if in_units else _read_time(budget)
    if not 0.0 < amount < np.inf:
        raise ValueError(f"`budget` must be {ALLOWED}; got {shorten(budget)}.")
    return amount, "" if in_units else SECONDS


def read_budgets(budgets: Any) -> list[Any]:
    """Return a list of budgets in one unit."""
    try:
        written = [] if isinstance(budgets, str) else list(budgets)
    except TypeError:
        written = []
    if not written:
        raise ValueError(
            f"`budgets` must be a list of at least one budget; got {shorten(budgets)}."
        )
    if len({read_budget(budget)[1] for budget in written}) > 1:
        raise ValueError(
            f"`budgets` must be all times or all numbers of units; got {shorten(budgets)}."
        )
    return written


def show_cost(amount: float, unit: str) -> str:
    """Return a cost as a user would write it, times with three digits.

    Examples
    --------
    >>> show_cost(0.00021, "s"), show_cost(0.0009999, "s"), show_cost(1234.5, "")
    ('210us', '1ms', '1234.5')
    """
    if unit != SECONDS:
        return f"{amount:.6g}"
    for name, size in UNITS.items():
        value = float(f"{amount * size:.3g}")
        if value < 1000.0:
            return f"{value:g}{name}"
    return f"{amount:.3g}s"


def write_budget(amount: float, unit: str) -> float | str:
    """Return what :func:`read_budget` reads as this amount."""
    if unit != SECONDS:
        return amount
    short = show_cost(amount, unit)
    return short if read_budget(short)[0] == amount else f"{amount!r}s"


def round_up(amount: float, unit: str) -> float:
    """Return the next amount of three digits, which can be shown and typed in again.

    Examples
    --------
    >>> round_up(1.23401, ""), round_up(7.0, "")
    (1.24, 7.0)
    """
    step = 10.0 ** (floor(log10(amount)) - 2)
    for steps in range(floor(amount / step) - 1, floor(amount / step) + 3):
        rounded = float(f"{steps * step:.3g}")
        rounded = read_budget(show_cost(rounded, unit))[0] if unit == SECONDS else rounded
        if rounded >= amount:
            return rounded
    return amount


def _read_time(budget: Any) -> float:
    pattern = r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([^0-9\s.]+)\s*"
    match = re.fullmatch(pattern, budget) if isinstance(budget, str) else None
    if match is None:
        return np.nan
    unit = match[2].replace("\u00b5", "u").replace("\u03bc", "u")  # the two signs for micro
    if unit not in UNITS:
        raise ValueError(
            f"`budget` has the unit {match[2]!r}; units of time are {', '.join(UNITS)}, as in "
            f"'200us'. A plain number means units of declared costs. Got {shorten(budget)}."
        )
    return _to_float(match[1]) / UNITS[unit]


def _to_float(number: Any) -> float:
    try:
        return float(number)
    except (ValueError, OverflowError):
        return np.nan
