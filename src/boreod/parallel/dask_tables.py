"""Tables that are Dask collections: frames and arrays in partitions, on one machine or on many.

Partitions stay where they are. Rows that training needs are picked on the workers and brought here;
functions of rows go to the partitions and give a Dask array. Dask is imported only if the table is
one of Dask's, and then it is there already.
"""

import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.parallel.dask_engine import Message, import_dask, one_thread


def is_collection(table: Any) -> bool:
    """Tell whether a table is a Dask frame, series or array."""
    if type(table) is np.ndarray:  # as of a row that comes alone
        return False
    frames = sys.modules.get("dask.dataframe")
    is_frame = frames is not None and isinstance(table, frames.DataFrame | frames.Series)
    return is_frame or _is_array(table)


def count_rows(table: Any) -> list[int]:
    """Return the number of rows of every partition."""
    dask = import_dask("dask")
    if _is_array(table) and not np.isnan(table.chunks[0]).any():
        return list(table.chunks[0])
    return list(dask.compute(*[dask.delayed(len)(part) for part in _partitions(table)]))


def gather_rows(
    table: Any, positions: ArrayLike | None = None, sizes: list[int] | None = None
) -> Any:
    """Return rows as a local frame or array: all, or those at ascending positions.

    Only these rows leave their partitions, whose sizes are counted unless given.
    """
    dask = import_dask("dask")
    if positions is None:
        return table.compute()
    places = np.asarray(positions, dtype=np.int64)
    ends = list(accumulate(count_rows(table) if sizes is None else sizes))
    cuts = np.searchsorted(places, [0, *ends])
    if cuts[0] != 0 or cuts[-1] != len(places) or (np.diff(places) <= 0).any():
        raise ValueError(
            f"`positions` must ascend and lie between 0 and {ends[-1] - 1}, the last row."
        )
    starts = [0, *ends[:-1]]
    chosen = [
        dask.delayed(_pick)(part, places[low:high] - start)
        for part, low, high, start in zip(
            _partitions(table), cuts[:-1], cuts[1:], starts, strict=True
        )
        if low < high
    ]
    if not chosen:
        return np.empty((0, *table.shape[1:]), table.dtype) if _is_array(table) else table.head(0)
    parts = dask.compute(*chosen)
    return np.concatenate(parts) if _is_array(table) else import_dask("pandas").concat(parts)


def map_rows(
    function: Callable[[Any, Any], NDArray], table: Any, model: Any, width: int | None, dtype: Any
) -> Any:
    """Return lazily, as a Dask array, what a function says about every row.

    It gets the model, which is sent once to every worker, and a partition, and returns a row per
    row, of ``width`` columns or, if that is None, with one dimension.
    """
    delayed, da = import_dask("dask").delayed, import_dask("dask.array")
    # Part of the graph, so that it can be had again whichever workers die.
    sent = delayed(Message(model), traverse=False)
    columns = () if width is None else (width,)
    sizes = table.chunks[0] if _is_array(table) else [np.nan] * table.npartitions
    apply = delayed(_apply, pure=False)
    parts = [
        da.from_delayed(apply(function, sent, part, columns, dtype), (rows, *columns), dtype=dtype)
        for part, rows in zip(_partitions(table), sizes, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _apply(
    function: Callable[[Any, Any], NDArray],
    sent: Message,
    part: Any,
    columns: tuple[int, ...],
    dtype: Any,
) -> NDArray:
    if len(part) == 0:
        return np.empty((0, *columns), dtype)
    if isinstance(part, np.ndarray):
        part = np.require(part, requirements="A")  # Dask reads arrays where they lie in a message
    with one_thread():
        return np.asarray(function(sent.content, part), dtype=dtype)


def _pick(part: Any, places: NDArray) -> Any:
    return part.iloc[places] if hasattr(part, "iloc") else part[places]


def _partitions(table: Any) -> list[Any]:
    """Return delayed objects, one for each partition; all columns are in it."""
    if not _is_array(table):
        return list(table.to_delayed())
    whole = table.rechunk(dict.fromkeys(range(1, table.ndim), -1))
    return list(whole.to_delayed().ravel())


def _is_array(table: Any) -> bool:
    """Tell without importing Dask: before somebody did, there is no array of Dask's."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(table, module.Array)
