"""Which columns a budget buys: costs, pursuit, stability."""

from boreod.selection.budgets import (
    BudgetCurve,
    Selection,
    read_budget,
    read_budgets,
    trace_budgets,
)
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.prices import (
    SHARED,
    budgets_over,
    check_purchase,
    is_fresh,
    needs_clock,
)
from boreod.selection.selector import Selector

__all__ = [
    "SECONDS",
    "SHARED",
    "BudgetCurve",
    "Costs",
    "Selection",
    "Selector",
    "budgets_over",
    "check_purchase",
    "is_fresh",
    "needs_clock",
    "read_budget",
    "read_budgets",
    "trace_budgets",
]
