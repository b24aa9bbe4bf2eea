"""The reference sample: all labelled outliers and some of the rest, where a table is too large.

Neighbors are searched among the sample, and bags are drawn from it. Inliers and unlabelled rows of
the sample stand for more than themselves; whoever counts rows of the table must know for how many.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.validation import INLIER, OUTLIER, UNLABELLED, is_number

SAMPLINGS = ("stratified", "random")


@dataclass(frozen=True)
class Shares:
    """Which part of a table's rows a sample holds; it always holds all outliers.

    Attributes
    ----------
    n_rows
        Rows of the table.
    inliers, unlabelled
        Share of the labelled inliers and of the unlabelled rows that is in the sample.
    """

    n_rows: int
    inliers: float = 1.0
    unlabelled: float = 1.0

    @property
    def is_all(self) -> bool:
        """Whether nothing was left out."""
        return self.inliers == 1.0 and self.unlabelled == 1.0

    def weigh(self, codes: NDArray) -> NDArray:
        """Return for how many rows of the table each row of the sample stands."""
        weights = {OUTLIER: 1.0, INLIER: 1.0 / self.inliers, UNLABELLED: 1.0 / self.unlabelled}
        return np.select([codes == code for code in weights], list(weights.values()))


def check_reference(size: Any, sampling: Any) -> None:
    """Raise for parameters of a reference sample that are not allowed."""
    if size is not None and (not is_number(size, Integral) or size < 2):
        raise ValueError(
            f"`reference_size` must be None or a number of rows from 2 on; got {size!r}."
        )
    if not isinstance(sampling, str) or sampling not in SAMPLINGS:
        raise ValueError(
            f"`reference_sampling` must be one of {list(SAMPLINGS)}; got {sampling!r}."
        )


def draw_reference(
    codes: NDArray, size: int | None, sampling: str, seed: int
) -> tuple[NDArray | None, Shares]:
    """Return the positions of the rows of a sample, None for all rows, and its shares.

    ``"random"`` draws from all rows that are no labelled outliers; ``"stratified"`` gives labelled
    inliers and unlabelled rows half of the places each, as far as there are so many: where only few
    inliers are labelled, all of them stay.

    Examples
    --------
    >>> rows, shares = draw_reference(np.repeat([1, 0, -1], [2, 4, 94]), 20, "stratified", seed=0)
    >>> rows[:6].tolist(), len(rows), shares.inliers, round(shares.unlabelled, 3)
    ([0, 1, 2, 3, 4, 5], 20, 1.0, 0.149)
    """
    if size is None or size >= len(codes):
        return None, Shares(len(codes))
    outliers, inliers, unlabelled = (
        np.flatnonzero(codes == code) for code in (OUTLIER, INLIER, UNLABELLED)
    )
    places = int(size) - len(outliers)
    if places < 1:
        raise ValueError(
            f"`reference_size` must exceed the number of labelled outliers, which all stay; got "
            f"{size} for {len(outliers)} outliers. Raise it."
        )
    random = np.random.default_rng(seed)
    if sampling == "stratified":
        half = places // 2 + places % 2
        first = min(len(inliers), max(half, places - len(unlabelled)))
        drawn = [_draw(inliers, first, random), _draw(unlabelled, places - first, random)]
    else:
        rest = _draw(np.flatnonzero(codes != OUTLIER), places, random)
        drawn = [rest[codes[rest] == code] for code in (INLIER, UNLABELLED)]
    if len(inliers) and not len(drawn[0]):
        raise ValueError(
            f"A random sample of {size} rows holds none of the {len(inliers)} labelled inliers. "
            "Use `reference_sampling='stratified'`, or raise `reference_size`."
        )
    shares = (
        len(some) / len(every) if len(some) else 1.0
        for some, every in zip(drawn, (inliers, unlabelled), strict=True)
    )
    return np.sort(np.concatenate([outliers, *drawn])), Shares(len(codes), *shares)


def _draw(rows: NDArray, number: int, random: np.random.Generator) -> NDArray:
    return random.choice(rows, min(number, len(rows)), replace=False, shuffle=False)
