"""From the raw columns of a table to numbers, in the same way when fitting and when scoring.

``Preparation`` learns from a training table what to do with each column, ``read_label_column``
reads labels as people write them, and ``as_arrow`` and ``like_input`` take data frames and arrays
the same way as files. Importing this package needs pyarrow, as ``boreod.tables`` does.
"""

from boreod.preparation.frames import as_arrow, like_input
from boreod.preparation.label_column import read_label_column
from boreod.preparation.preparation import Preparation
from boreod.preparation.summary import ColumnSummary

__all__ = ["ColumnSummary", "Preparation", "as_arrow", "like_input", "read_label_column"]
