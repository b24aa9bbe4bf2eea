"""From a table to a deployed detector: fit, score, explain and report, with one model file between.

A ``Detector`` knows what makes numbers of a table's columns. It scores data frames at once, files
of any size in batches, folders of files on all cores or a cluster, and batches inside Spark. All
but detectors of plain numbers needs pyarrow, as ``boreod.tables`` does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "CheckedTable",
    "Comparison",
    "Detector",
    "ExplainedRow",
    "Limits",
    "ScoreSummary",
    "check_table",
    "compare_models",
    "describe",
    "explain_rows",
    "explain_top",
    "fit_table",
    "load",
    "load_predictor",
    "map_in_arrow",
    "save",
    "score_folder",
    "score_frame",
    "score_table",
    "write_report",
]

if TYPE_CHECKING:
    from boreod.tool.report.writing import write_report
    from boreod.tool.scoring.checking import Limits
    from boreod.tool.scoring.comparing import Comparison, compare_models
    from boreod.tool.scoring.explaining import ExplainedRow, explain_rows, explain_top
    from boreod.tool.scoring.fitting import fit_table
    from boreod.tool.scoring.folders import score_folder
    from boreod.tool.scoring.model import Detector
    from boreod.tool.scoring.model_files import describe, load, load_predictor, save
    from boreod.tool.scoring.scoring import map_in_arrow, score_frame
    from boreod.tool.scoring.writing import CheckedTable, ScoreSummary, check_table, score_table

_HOMES = {
    "CheckedTable": "scoring.writing",
    "Comparison": "scoring.comparing",
    "Detector": "scoring.model",
    "ExplainedRow": "scoring.explaining",
    "Limits": "scoring.checking",
    "ScoreSummary": "scoring.writing",
    "check_table": "scoring.writing",
    "compare_models": "scoring.comparing",
    "describe": "scoring.model_files",
    "explain_rows": "scoring.explaining",
    "explain_top": "scoring.explaining",
    "fit_table": "scoring.fitting",
    "load": "scoring.model_files",
    "load_predictor": "scoring.model_files",
    "map_in_arrow": "scoring.scoring",
    "save": "scoring.model_files",
    "score_folder": "scoring.folders",
    "score_frame": "scoring.scoring",
    "score_table": "scoring.writing",
    "write_report": "report.writing",
}


def __getattr__(name: str) -> Any:
    """Import names when they are first used: numbers in arrays need no pyarrow."""
    if name not in _HOMES:
        raise AttributeError(f"module 'boreod.tool' has no attribute {name!r}")
    return getattr(import_module(f"boreod.tool.{_HOMES[name]}"), name)
