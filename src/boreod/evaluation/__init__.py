"""Methods x data sets x splits: tidy results that survive an interruption."""

from boreod.evaluation.comparison import Comparison, compare_methods
from boreod.evaluation.methods import METHODS, PAPER, TODAY, LabelledRows, Method, find_methods
from boreod.evaluation.runs import Journal, run_tasks
from boreod.evaluation.splits import (
    MEASURES,
    PROTOCOLS,
    RATES,
    TableRows,
    judge,
    run_method,
    split_rows,
)
from boreod.evaluation.summary import Cell, Gain, Loss, Summary, error_of_mean, find_gains

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
