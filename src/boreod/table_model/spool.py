"""Rows that wait on the disk until the last one has come: a rank needs all of them."""

import os
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pa
from boreod.tables.locations import STANDARD
from boreod.tables.writer import writing

ODDS = "log-odds"


class Spool:
    """Keep scored batches in a nameless temporary file, and 8 bytes a row in memory.

    The file has no name where the system allows it, so that nothing is left of it however the
    process ends.

    Parameters
    ----------
    output
        What will be written in the end: the file is on the same disk.
    """

    def __init__(self, output: str) -> None:
        beside = None if output == STANDARD else os.path.dirname(os.path.realpath(output))
        self._shown = "The temporary file of scores"
        with writing(self._shown):
            self._file = tempfile.TemporaryFile(dir=beside)  # noqa: SIM115  closed at the end
        self._writer: Any = None
        self._odds = array("d")
        self.batches = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a full disk was told of before, and all of it goes away
            self._file.close()

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return len(self._odds)

    def write(self, batch: Any, odds: NDArray) -> None:
        """Put a batch and the log-odds of its rows at the end.

        Parameters
        ----------
        batch
            A pyarrow record batch.
        odds
            Of its rows.
        """
        batch = batch.append_column(ODDS, pa.array(odds))
        with writing(self._shown):
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, batch.schema)
            self._writer.write_batch(batch)
        self._odds.frombytes(np.ascontiguousarray(odds, np.float64).tobytes())
        self.batches += 1

    def ranked(self) -> Iterator[tuple[Any, NDArray]]:
        """Give the batches again, each with the ranks of its rows: 1 for the highest log-odds.

        Equal log-odds share the best of their ranks.
        """
        with writing(self._shown):
            self._writer.close()
            self._file.flush()
            self._file.seek(0)
        ascending = np.frombuffer(self._odds, np.float64)
        ascending.sort()
        for batch in pa.ipc.open_stream(self._file):
            last = batch.num_columns - 1  # by place: a table may have a column of the same name
            odds = batch.column(last).to_numpy()
            yield batch.select(list(range(last))), rank(odds, ascending)


def rank(odds: NDArray, ascending: NDArray) -> NDArray:
    """Return ranks among sorted log-odds: 1 for the highest; equal ones share the best rank.

    Examples
    --------
    >>> rank(np.array([0.5, 3.0, 0.5, -1.0]), np.array([-1.0, 0.5, 0.5, 3.0]))
    array([2, 1, 2, 4])
    """
    return len(ascending) - np.searchsorted(ascending, odds, side="right") + 1
