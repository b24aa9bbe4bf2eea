"""Methods x data sets x splits: tidy results that survive an interruption."""

from boreod.paper.evaluation.comparison import Comparison, Plan, compare_methods
from boreod.paper.evaluation.methods import METHODS, Method
from boreod.paper.evaluation.runs import Journal
from boreod.paper.evaluation.splits import TableRows
from boreod.paper.evaluation.summary import Cell, Loss, Summary

__all__ = [
    "METHODS",
    "Cell",
    "Comparison",
    "Journal",
    "Loss",
    "Method",
    "Plan",
    "Summary",
    "TableRows",
    "compare_methods",
]
