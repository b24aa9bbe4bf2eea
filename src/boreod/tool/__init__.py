"""Fit a detector to a table, save it in one model file, and score, explain and report with it.

A fitted ``Detector`` knows how the columns of a table become numbers. This package scores data
frames at once, files of any size in batches, folders of files on all cores or a cluster, and
batches inside Spark. Like ``boreod.tables``, it needs pyarrow unless rows are plain numbers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "CheckedTable",
    "CompareOptions",
    "Comparison",
    "ExplainedRow",
    "Limits",
    "ScoreOptions",
    "ScoreSummary",
    "UnlikeTrainingError",
    "check_table",
    "compare_models",
    "describe",
    "explain_rows",
    "explain_top",
    "fit_table",
    "load_predictor",
    "map_in_arrow",
    "score_frame",
    "score_table",
    "write_report",
]

if TYPE_CHECKING:
    from boreod.persistence import load_predictor
    from boreod.tool.models import describe, fit_table
    from boreod.tool.report.writing import write_report
    from boreod.tool.scoring.checking import Limits
    from boreod.tool.scoring.comparing import (
        CheckedTable,
        CompareOptions,
        Comparison,
        check_table,
        compare_models,
    )
    from boreod.tool.scoring.explaining import ExplainedRow, explain_rows, explain_top
    from boreod.tool.scoring.scoring import ScoreOptions, map_in_arrow, score_frame
    from boreod.tool.scoring.writing import ScoreSummary, UnlikeTrainingError, score_table

_NAMES_OF_MODULES = {
    "persistence": "load_predictor",
    "tool.models": "describe fit_table",
    "tool.report.writing": "write_report",
    "tool.scoring.checking": "Limits",
    "tool.scoring.comparing": "CheckedTable CompareOptions Comparison check_table compare_models",
    "tool.scoring.explaining": "ExplainedRow explain_rows explain_top",
    "tool.scoring.scoring": "ScoreOptions map_in_arrow score_frame",
    "tool.scoring.writing": "ScoreSummary UnlikeTrainingError score_table",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because arrays of numbers need no pyarrow."""
    for module, names in _NAMES_OF_MODULES.items():
        if name in names.split():
            return getattr(import_module(f"boreod.{module}"), name)
    raise AttributeError(f"module 'boreod.tool' has no attribute {name!r}")
