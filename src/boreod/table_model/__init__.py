"""From a table to a deployed detector: fit, score and explain tables, with one model file between.

A ``TableModel`` is a detector together with what makes numbers of a table's columns. It scores
files of any size in batches, folders of files on all cores or a cluster, batches inside Spark, and
data frames at once. Importing this package needs pyarrow, as ``boreod.tables`` does.
"""

from boreod.table_model.explaining import ExplainedRow, explain_rows, explain_top
from boreod.table_model.fitting import fit_table
from boreod.table_model.folders import score_folder
from boreod.table_model.model import TableModel, describe
from boreod.table_model.scoring import map_in_arrow, score_frame
from boreod.table_model.writing import ScoreSummary, score_table

__all__ = [
    "ExplainedRow",
    "ScoreSummary",
    "TableModel",
    "describe",
    "explain_rows",
    "explain_top",
    "fit_table",
    "map_in_arrow",
    "score_folder",
    "score_frame",
    "score_table",
]
