"""Run methods on splits of data sets; results are kept on disk if a run is interrupted."""

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
