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
    from boreod.table_model.checking import Limits
    from boreod.table_model.comparing import Comparison, compare_models
    from boreod.table_model.explaining import ExplainedRow, explain_rows, explain_top
    from boreod.table_model.files import describe, load, load_predictor, save
    from boreod.table_model.fitting import fit_table
    from boreod.table_model.folders import score_folder
    from boreod.table_model.model import Detector
    from boreod.table_model.reporting import write_report
    from boreod.table_model.scoring import map_in_arrow, score_frame
    from boreod.table_model.writing import CheckedTable, ScoreSummary, check_table, score_table

_HOMES = {
    "CheckedTable": "writing",
    "Comparison": "comparing",
    "Limits": "checking",
    "check_table": "writing",
    "compare_models": "comparing",
    "Detector": "model",
    "ExplainedRow": "explaining",
    "ScoreSummary": "writing",
    "describe": "files",
    "explain_rows": "explaining",
    "explain_top": "explaining",
    "fit_table": "fitting",
    "load": "files",
    "load_predictor": "files",
    "map_in_arrow": "scoring",
    "save": "files",
    "score_folder": "folders",
    "score_frame": "scoring",
    "score_table": "writing",
    "write_report": "reporting",
}


def __getattr__(name: str) -> Any:
    """Import names when they are first used: numbers in arrays need no pyarrow."""
    if name not in _HOMES:
        raise AttributeError(f"module 'boreod.table_model' has no attribute {name!r}")
    return getattr(import_module(f"boreod.table_model.{_HOMES[name]}"), name)
