"""Which columns a budget buys: costs, pursuit, stability."""

from boreod.selection.budgets import read_budget, read_budgets
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.curve import BudgetCurve, trace_budgets
from boreod.selection.measured import sample_rows
from boreod.selection.prices import (
    SHARED,
    PriceLists,
    budgets_over,
    check_costs,
    check_units,
    is_fresh,
    needs_clock,
)
from boreod.selection.selector import Selection, Selector

__all__ = [
    "SECONDS",
    "SHARED",
    "BudgetCurve",
    "Costs",
    "PriceLists",
    "Selection",
    "Selector",
    "budgets_over",
    "check_costs",
    "check_units",
    "is_fresh",
    "needs_clock",
    "read_budget",
    "read_budgets",
    "sample_rows",
    "trace_budgets",
]
