"""Detectors that need no neighbors: isolation forest, and detectors of other libraries.

Isolation forest: a row is outlying if few random splits isolate it. Every tree splits a sample of
n rows at random until each row is alone or the tree is as deep as a balanced tree. Let h be the
number of splits on the path to a row's leaf, plus c(m) if the leaf still holds m > 1 rows of the
sample. With the mean H of h over all trees,

    score = 2 ** (- H / c(n)),    c(n) = 2 (ln(n - 1) + 0.5772...) - 2 (n - 1) / n

c(n) is the mean of h in random trees over n rows. scikit-learn grows the trees, and boreod stores
them as plain arrays.

scikit-learn's detectors give outliers low scores, so their scores are negated. PyOD's detectors
give outliers high scores, which are used unchanged. A detector with the attribute
`decision_scores_`, which holds training scores, counts as a PyOD detector.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.scores.tree_kernels import narrow
from boreod.scores.trees import Trees

# With only 100 trees, the ranks of rows still depend on the seed.
N_TREES = 300
# The largest number of rows in the sample of one tree.
SAMPLED = 256
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class IsolationTrees:
    """A fitted isolation forest, which computes one column of scores."""

    name: ClassVar[str] = "iforest"
    title: ClassVar[str] = "Isolation forest"
    citation: ClassVar[str] = "Liu, Ting, Zhou: Isolation forest. ICDM 2008."
    formula: ClassVar[str] = "2 ** (- mean number of random splits until alone / expected number)"
    reads: ClassVar[str] = "columns"
    min_k: ClassVar[None] = None

    # The name of the column.
    label: str
    # The value of a leaf is h, its number of splits.
    trees: Trees
    # The number of rows that each tree was grown on.
    n_sampled: int

    @classmethod
    def fit(
        cls, label: str, points: NDArray, apart: NDArray | None, random: np.random.RandomState
    ) -> tuple["IsolationTrees", NDArray]:
        """Grow trees on samples of the rows; return the forest and the scores of all rows.

        ``apart`` is a mask of rows that no sample may hold. If there is a mask, the score of a row
        uses only trees whose sample does not hold the row. So that there are such trees, a sample
        then holds at most half of the rows.
        """
        from sklearn.ensemble import IsolationForest

        rows = narrow(points) if apart is None else narrow(points)[~apart]
        size = min(SAMPLED, len(rows) if apart is None else max(1, len(rows) // 2))
        seed = random.randint(np.iinfo(np.int32).max)
        grown = IsolationForest(n_estimators=N_TREES, max_samples=size, random_state=seed)
        grown.fit(rows)
        trees = [member.tree_ for member in grown.estimators_]
        lengths = [t.compute_node_depths() - 1.0 + mean_splits(t.n_node_samples) for t in trees]
        forest = cls(label, Trees.build(zip(trees, lengths, strict=True)), size)
        if apart is None or forest._usual == 0.0:
            return forest, forest.score(points)
        scores = np.empty(len(points))
        # Positions of the sampled rows: (trees, rows of a sample).
        sampled = np.flatnonzero(~apart)[np.array(grown.estimators_samples_)]
        for start in range(0, len(points), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            use = np.ones((len(points[part]), N_TREES), dtype=bool)
            members, places = np.nonzero((sampled >= start) & (sampled < part.stop))
            use[sampled[members, places] - start, members] = False
            splits = forest.trees.add_up(points[part], N_TREES).mean(axis=1, where=use)
            scores[part] = np.exp2(splits / -float(mean_splits(size)))
        return forest, scores

    def score(self, points: NDArray) -> NDArray:
        """Return scores between 0 and 1; outliers have high scores."""
        # Trees that were grown on a single row have no splits.
        if self._usual == 0.0:
            return np.full(len(points), 0.5)
        return np.exp2(self.trees.add_up(points)[:, 0] / -self._usual)

    @property
    def work(self) -> dict[str, int]:
        """The sizes that determine the running time; all fits to one table have the same sizes."""
        return {"trees": self.trees.n_trees, "rows": self.n_sampled}

    @cached_property
    def _usual(self) -> float:
        """Expected number of splits that isolate a row, summed over all trees."""
        return self.trees.n_trees * float(mean_splits(self.n_sampled))


def mean_splits(n_rows: ArrayLike) -> NDArray:
    """Return c(n), the mean number of random splits that isolate one of n rows.

    Examples
    --------
    >>> mean_splits([1, 2, 256]).round(3).tolist()
    [0.0, 1.0, 10.245]
    """
    n = np.asarray(n_rows, dtype=np.float64)
    many = np.maximum(n, 3.0)
    of_many = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2.0, of_many, (n == 2.0).astype(np.float64))


@dataclass(frozen=True)
class ForeignDetector:
    """A fitted copy of another library's detector, with its column name and range of scores."""

    label: str
    detector: Any
    low: float
    high: float

    @classmethod
    def fit(
        cls, label: str, detector: Any, points: NDArray, random: np.random.RandomState
    ) -> "ForeignDetector":
        """Fit a copy of a detector, which must have ``score_samples`` or ``decision_function``."""
        copy = fresh_copy(detector, random.randint(np.iinfo(np.int32).max))
        copy.fit(points)
        scores = _outlyingness(copy, points)
        finite = scores[np.isfinite(scores)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        return cls(label, copy, low, high)

    def score(self, points: NDArray) -> NDArray:
        """Return finite scores; outliers have high scores."""
        scores = _outlyingness(self.detector, points)
        return np.nan_to_num(scores, nan=self.high, posinf=self.high, neginf=self.low)

    @property
    def work(self) -> Any:
        """The object that determines the running time."""
        return self.detector


def fresh_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy, with a seed for each ``random_state`` that is None, even nested."""
    from sklearn.base import clone

    copy = clone(estimator)
    unset = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    )
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(unset)).tolist()
    return copy.set_params(**dict(zip(unset, seeds, strict=True))) if unset else copy


def _outlyingness(detector: Any, points: NDArray) -> NDArray:
    if hasattr(detector, "score_samples"):
        scores = -detector.score_samples(points)
    elif _is_low_for_outliers(detector):
        scores = -detector.decision_function(points)
    else:
        scores = detector.decision_function(points)
    return np.asarray(scores, dtype=np.float64).reshape(points.shape[0])


def _is_low_for_outliers(detector: Any) -> bool:
    """Return whether low scores mean outliers, as in scikit-learn but not in PyOD."""
    from sklearn.base import is_outlier_detector

    last = detector.steps[-1][1] if hasattr(detector, "steps") else detector
    try:
        return bool(is_outlier_detector(last)) and not hasattr(last, "decision_scores_")
    # The detector lacks scikit-learn's tags.
    except AttributeError:
        return False
