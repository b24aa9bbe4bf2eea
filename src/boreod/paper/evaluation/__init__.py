"""Methods x data sets x splits: tidy results that survive an interruption."""

from boreod.paper.evaluation.comparison import Comparison, compare_methods
from boreod.paper.evaluation.methods import (
    METHODS,
    PAPER,
    TODAY,
    LabelledRows,
    Method,
    find_methods,
)
from boreod.paper.evaluation.runs import Journal, run_tasks
from boreod.paper.evaluation.splits import (
    MEASURES,
    PROTOCOLS,
    RATES,
    TableRows,
    judge,
    run_method,
    split_rows,
)
from boreod.paper.evaluation.summary import Cell, Gain, Loss, Summary, error_of_mean, find_gains

__all__ = [
    "MEASURES",
    "METHODS",
    "PAPER",
    "PROTOCOLS",
    "RATES",
    "TODAY",
    "Cell",
    "Comparison",
    "Gain",
    "Journal",
    "LabelledRows",
    "Loss",
    "Method",
    "Summary",
    "TableRows",
    "compare_methods",
    "error_of_mean",
    "find_gains",
    "find_methods",
    "judge",
    "run_method",
    "run_tasks",
    "split_rows",
]
