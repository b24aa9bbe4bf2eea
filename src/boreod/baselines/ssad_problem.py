"""What SSAD minimizes in its dual form, whether that is feasible, and what an optimum is worth.

    min  1/2 a' (K o ss') a     s.t.  0 <= a <= c,  sum s a = 1,  sum over labelled rows a >= kappa

with s = -1 for labelled outliers and +1 for all other rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boreod.baselines.kernels import Gram
from boreod.validation import INLIER, OUTLIER, UNLABELLED

TIGHT = 1e-9  # what is left of a constraint that leaves no choice


@dataclass(frozen=True)
class Problem:
    """What SSAD minimizes.

    Attributes
    ----------
    gram
        K of all rows.
    codes
        1 outlier, 0 inlier, -1 unlabelled.
    caps
        Upper limit c of every weight, positive.
    kappa
        Total weight that labelled rows have at least.
    """

    gram: Gram
    codes: NDArray
    caps: NDArray
    kappa: float

    @property
    def signs(self) -> NDArray:
        """-1 for labelled outliers, +1 for all others."""
        return np.where(self.codes == OUTLIER, -1.0, 1.0)

    def capacity(self, code: int) -> float:
        """Return the largest total weight of unlabelled rows, inliers or outliers."""
        return float(self.caps[self.codes == code].sum())


@dataclass(frozen=True)
class Solution:
    """The optimum.

    Attributes
    ----------
    weights
        a.
    outputs
        f of the rows themselves.
    rho, gamma
        Threshold and margin: the multipliers of the two constraints.
    primal, dual
        Values of both problems; equal at the optimum.
    rows
        Rows that took part in the last round, a good start for a similar problem.
    """

    weights: NDArray
    outputs: NDArray
    rho: float
    gamma: float
    primal: float
    dual: float
    rows: NDArray

    @property
    def gap(self) -> float:
        """Difference of the two values, relative to their size."""
        return abs(self.primal - self.dual) / max(abs(self.dual), np.finfo(np.float64).tiny)


def check_feasible(codes: NDArray, caps: NDArray, kappa: float) -> None:
    """Raise if no weights meet all constraints, and say what to change."""
    unlabelled, inliers, outliers = (
        float(caps[codes == code].sum()) for code in (UNLABELLED, INLIER, OUTLIER)
    )
    if unlabelled + inliers < 1.0 - TIGHT:
        counts = f"{(codes == UNLABELLED).sum()} unlabelled rows and {(codes == INLIER).sum()}"
        raise ValueError(
            "The weights of unlabelled rows and labelled inliers must be able to reach the sum 1; "
            f"{counts} inliers reach {unlabelled + inliers:.6g}. Outliers alone, one class, are "
            "not enough: raise `weight_unlabelled` or `weight_labelled`, or pass more such rows."
        )
    most = most_labelled(unlabelled, inliers, outliers)
    if kappa <= most * (1.0 + TIGHT):
        return
    if most == 0.0:
        raise ValueError(
            "No row is labelled, so there is no margin to weigh: `kappa` must be 0 then; got "
            f"{kappa:.6g}. Pass kappa=0, or labels."
        )
    raise ValueError(
        f"`kappa` is the least total weight of labelled rows; got {kappa:.6g}, but "
        f"{(codes == INLIER).sum()} inliers and {(codes == OUTLIER).sum()} outliers reach at most "
        f"{most:.6g}. Lower `kappa` to that or less, raise `weight_labelled`, or label more rows."
    )


def most_labelled(unlabelled: float, inliers: float, outliers: float) -> float:
    """Return the largest total weight of labelled rows, given the largest of each kind."""
    return min(inliers, outliers + 1.0) + min(outliers, unlabelled + inliers - 1.0)


def evaluate(
    problem: Problem, weights: NDArray, rho: float, gamma: float, rows: NDArray
) -> Solution:
    """Evaluate both problems."""
    signs, labelled = problem.signs, problem.codes != UNLABELLED
    outputs = problem.gram.times(signs * weights)
    square = float((signs * weights) @ outputs)
    losses = np.maximum(0.0, signs * rho + gamma * labelled - signs * outputs)
    primal = 0.5 * square - rho - problem.kappa * gamma + float(problem.caps @ losses)
    return Solution(weights, outputs, rho, gamma, primal, -0.5 * square, rows)
