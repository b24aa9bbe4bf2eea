"""Few labelled outliers among rows that all count as inliers: the protocol, and who takes part.

At most 5000 rows of a set, columns scaled to [0, 1], 60 % to learn from and 40 % to judge. A share
of the outliers to learn from is labelled, at least two; every other row is passed as an inlier, so
that the inliers are contaminated as they are in use. A share of 0 gives no label at all.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE, NumericDetector
from boreod.paper.evaluation.methods import Make, Method
from boreod.paper.evaluation.splits import TEST_SHARE, judge
from boreod.representation.transformer import OutlierRepresentation
from boreod.validation import INLIER, OUTLIER

SHARES = (0.0, 0.05, 0.25, 1.0)
MOST_ROWS, FEWEST_LABELS = 5000, 2
OURS = "detector"
PROBABILITIES = (OURS, "bore", "catboost", "xgboost")  # the others rank only


@dataclass(frozen=True)
class Task:
    """What a method learns from, and what it is judged on."""

    rows: NDArray
    labels: NDArray  # 1 for known outliers, 0 for all other rows
    new_rows: NDArray
    outliers: NDArray  # whether each new row is one


def draw_task(points: NDArray, codes: NDArray, share: float, seed: int) -> Task:
    """Draw rows, split them, and hide the labels of most outliers.

    The split is the same for every share.

    Examples
    --------
    >>> points, codes = np.arange(100.0).reshape(-1, 1), np.repeat([0, 1], [80, 20])
    >>> task = draw_task(points, codes, share=0.25, seed=0)
    >>> len(task.rows), int(task.labels.sum()), int(task.outliers.sum())
    (60, 3, 8)
    """
    from sklearn.model_selection import train_test_split

    if len(codes) > MOST_ROWS:
        places = np.arange(len(codes))
        drawn, _ = train_test_split(places, train_size=MOST_ROWS, stratify=codes, random_state=seed)
        points, codes = points[drawn], codes[drawn]
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    scaled = (points - low) / np.where(width > 0, width, 1.0)
    train, test = train_test_split(
        np.arange(len(codes)), test_size=TEST_SHARE, stratify=codes, random_state=seed
    )
    labels = np.asarray(codes)[train].astype(np.int64)
    outliers = np.flatnonzero(labels == OUTLIER)
    known = max(FEWEST_LABELS, round(share * len(outliers))) if share else 0
    random = np.random.default_rng(1000 * seed + int(1000 * share))
    labels[random.permutation(outliers)[known:]] = INLIER
    return Task(scaled[train], labels, scaled[test], np.asarray(codes)[test] == OUTLIER)


def run_peer(
    points: NDArray, codes: NDArray, name: str, share: float, seed: int
) -> dict[str, float]:
    """Return measures of one method, seconds of fit and scores, and Brier score if it has one."""
    task = draw_task(points, codes, share, seed)
    model = PEERS[name].make(None, seed)
    started = time.perf_counter()
    model.fit(task.rows, task.labels if share else None)
    if name in PROBABILITIES:
        scores = model.predict_proba(task.new_rows)[:, 1]
    else:
        scores = model.decision_function(task.new_rows)
    result = {"took": time.perf_counter() - started, **judge(task.outliers, scores)}
    if share and name in PROBABILITIES:  # without labels ours gives quantiles
        result["brier"] = float(np.mean((scores - task.outliers) ** 2))
    return result


class TreeBags:
    """ExtraTrees on bags with ten times as many inliers as outliers, classes weighted.

    Every bag has 70 % of the outliers and at least 50 inliers, if there are as many.

    Parameters
    ----------
    seed
        Of bags and trees.
    n_bags, n_trees
        Number of bags, and of trees in each.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + np.repeat([0, 5], [90, 10])[:, None]
    >>> model = TreeBags(0, n_bags=5).fit(X, np.repeat([0, 1], [90, 10]))
    >>> inlier, outlier = model.decision_function(np.array([[0.0, 0.0], [5.0, 5.0]]))
    >>> bool(inlier < 0.1 and outlier > 0.9)
    True
    """

    SHARE, RATIO, FEWEST_INLIERS = 0.7, 10, 50

    def __init__(self, seed: int, n_bags: int = 50, n_trees: int = 10) -> None:
        self.seed, self.n_bags, self.n_trees = seed, n_bags, n_trees

    def fit(self, X: NDArray, y: NDArray) -> "TreeBags":
        """Grow the trees of every bag."""
        from sklearn.ensemble import ExtraTreesClassifier

        random = np.random.default_rng(self.seed)
        outliers, inliers = np.flatnonzero(y == OUTLIER), np.flatnonzero(y == INLIER)
        n_outliers = max(1, round(self.SHARE * len(outliers)))
        n_inliers = min(max(self.RATIO * n_outliers, self.FEWEST_INLIERS), len(inliers))
        self._forests = []
        for number in range(self.n_bags):
            drawn = random.choice(outliers, n_outliers, replace=False)
            rows = np.concatenate([drawn, random.choice(inliers, n_inliers, replace=False)])
            forest = ExtraTreesClassifier(
                self.n_trees, random_state=number, class_weight="balanced"
            )
            self._forests.append(forest.fit(X[rows], y[rows]))
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        """Return the mean of the forests, high for outliers."""
        return np.mean([forest.predict_proba(X)[:, 1] for forest in self._forests], axis=0)


class Ranking:
    """A method that looks at no label.

    Parameters
    ----------
    model
        With ``fit(X)``.
    score
        From the model and rows to scores that are high for outliers.
    """

    def __init__(self, model: Any, score: Callable[[Any, NDArray], NDArray]) -> None:
        self.model, self.score = model, score

    def fit(self, X: NDArray, y: NDArray | None = None) -> "Ranking":
        """Fit without the labels."""
        self.model.fit(X)
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        """Return scores, high for outliers."""
        return self.score(self.model, X)


def _isolation_forest(_: Any, seed: int) -> Ranking:
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(n_estimators=300, random_state=seed)
    return Ranking(forest, lambda model, rows: -model.score_samples(rows))


def _knn(*_: Any) -> Ranking:
    columns = OutlierRepresentation(["knn"], ks=[20], passthrough=False, n_jobs=1)
    return Ranking(columns, lambda model, rows: model.transform(rows)[:, 0])


def _classifier(module: str, name: str, seed_name: str, **options: Any) -> Make:
    """Return a maker of a classifier of another library, which is imported when it is made."""
    return lambda _, seed: getattr(import_module(module), name)(**{seed_name: seed}, **options)


_catboost = _classifier(
    "catboost",
    "CatBoostClassifier",
    "random_seed",
    iterations=200,
    thread_count=1,
    verbose=False,
    allow_writing_files=False,
)
_xgboost = _classifier("xgboost", "XGBClassifier", "random_state", base_score=0.5, n_jobs=1)
_xgbod = _classifier("pyod.models.xgbod", "XGBOD", "random_state", base_score=0.5, n_jobs=1)

PEERS = {
    method.name: method
    for method in (
        Method(OURS, "Detector", lambda _, seed: NumericDetector(n_jobs=1, random_state=seed)),
        Method("bore", "BORE", lambda _, seed: BORE(n_jobs=1, random_state=seed)),
        Method("trees", "ExtraTrees bags", lambda _, seed: TreeBags(seed), group="today"),
        Method("catboost", "CatBoost", _catboost, group="today", needs=("catboost",)),
        Method("xgboost", "XGBoost", _xgboost, group="today", needs=("xgboost",)),
        Method("xgbod", "XGBOD", _xgbod, group="today", needs=("pyod", "xgboost")),
        Method("iforest", "isolation forest", _isolation_forest, labels="none", group="today"),
        Method("knn", "kNN", _knn, labels="none", group="today"),
    )
}


def takes_part(name: str, share: float) -> bool:
    """Tell whether a method is compared at a share: without labels, only those that need none.

    Examples
    --------
    >>> [name for name in PEERS if takes_part(name, 0.0)]
    ['detector', 'iforest', 'knn']
    """
    if share:
        return name != "knn"
    return name == OURS or PEERS[name].labels == "none"
