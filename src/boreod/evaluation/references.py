"""BORE with reference samples of several sizes: what is lost against learning from all rows."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.evaluation.judging import run_method
from boreod.evaluation.splits import split_rows
from boreod.evaluation.summary import Run
from boreod.evaluation.trials import Trials
from boreod.text import shorten
from boreod.validation import OUTLIER, is_number

ALL_ROWS = "all rows"


def try_references(trials: Trials, sizes: list[int]) -> list[Run]:
    """Return results of BORE with all rows and with every size; nothing without sizes.

    Parameters
    ----------
    trials
        The table and its splits.
    sizes
        Numbers of rows, checked by :func:`read_sizes`.
    """
    # All rows have the name of the method in the journal: what it has found is not run again.
    variants = {"bore": None, **{f"reference {size}": size for size in sizes}}
    runs = trials.run(run_reference, variants if sizes else {}, "reference samples")
    names = {key: ALL_ROWS if size is None else str(size) for key, size in variants.items()}
    return [{**run, "method": names[run["method"]]} for run in runs]


def run_reference(
    rows: NDArray, codes: NDArray, size: int | None, repetition: int, protocol: str, seed: int
) -> dict[str, Any]:
    """Return what :func:`run_method` does for BORE, with a reference sample.

    Parameters
    ----------
    rows, codes, repetition, protocol, seed
        As there.
    size
        Of the reference sample; None for all rows.
    """
    return run_method(rows, codes, "bore", repetition, protocol, seed, reference_size=size)


def read_sizes(
    sizes: Sequence[int] | None, codes: NDArray, repetitions: int, protocol: str, seed: int
) -> list[int]:
    """Return sizes of reference samples, or say which there can be.

    Parameters
    ----------
    sizes
        Numbers of rows; None for no samples.
    codes
        Labels of the table (1, 0, -1).
    repetitions, protocol, seed
        Of the splits.

    Examples
    --------
    >>> read_sizes([20, 40], np.repeat([0, 1], [90, 10]), 3, "unseen", seed=0)
    [20, 40]
    """
    wanted = [] if sizes is None else sizes
    if np.ndim(wanted) != 1:
        raise ValueError(
            f"`reference_sizes` must be a list of numbers of rows; got {shorten(sizes)}."
        )
    if not len(wanted):
        return []
    splits = [split_rows(codes, number, protocol, seed) for number in range(repetitions)]
    lowest = 1 + max(int((split.labels == OUTLIER).sum()) for split in splits)
    highest = min(len(split.fitted) for split in splits) - 1
    for size in wanted:
        if not is_number(size, Integral) or not lowest <= size <= highest:
            raise ValueError(
                f"`reference_sizes` must be whole numbers from {lowest}, more than the labelled "
                f"outliers of a split, which all stay, to {highest}, fewer than the rows it "
                f"learns from; got {shorten(size)}."
            )
    return [int(size) for size in wanted]
