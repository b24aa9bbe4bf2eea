"""Methods x data sets x splits: tidy results that survive an interruption."""

from boreod.evaluation.comparison import Comparison, compare_methods
from boreod.evaluation.journal import Journal
from boreod.evaluation.judging import MEASURES, RATES, judge, run_method
from boreod.evaluation.labelled_rows import LabelledRows
from boreod.evaluation.losses import Loss, error_of_mean
from boreod.evaluation.methods import METHODS, PAPER, TODAY, Method, find_methods
from boreod.evaluation.runner import run_tasks
from boreod.evaluation.splits import PROTOCOLS, split_rows
from boreod.evaluation.summary import Cell, Summary

__all__ = [
    "MEASURES",
    "METHODS",
    "PAPER",
    "PROTOCOLS",
    "RATES",
    "TODAY",
    "Cell",
    "Comparison",
    "Journal",
    "LabelledRows",
    "Loss",
    "Method",
    "Summary",
    "compare_methods",
    "error_of_mean",
    "find_methods",
    "judge",
    "run_method",
    "run_tasks",
    "split_rows",
]
