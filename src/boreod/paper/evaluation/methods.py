"""The registry of methods: ours, methods of the paper, and peers that users could install instead.

Every method gets the same rows and the same labels. :class:`Method` says which labels a method
uses. Peers keep the defaults of their libraries, except for threads, output and options given here.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from boreod.bore import BORE
from boreod.detector import Detector
from boreod.paper.baselines import SSAD, BestScore, GreedyEnsemble, MeanScore
from boreod.representation.transformer import OutlierRepresentation
from boreod.validation import INLIER, OUTLIER, UNLABELLED

Make = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Method:
    """A way to detect outliers.

    Attributes
    ----------
    name
        Name of the method in commands and in tables of results.
    title
        Name of the method for readers.
    make
        A function that makes an estimator from a representation (None for the default) and a seed.
    labels
        What the method learns from: ``"none"`` (no labels), the ``"number"`` of outliers,
        ``"given"`` labels, or labels that are known only in ``"hindsight"``.
    group
        ``"ours"``, ``"paper"``, ``"today"`` or ``"unlabelled"``. The last is for a method that is
        compared only if no row has a label and all columns are scaled.
    has_probabilities
        Whether ``predict_proba`` returns probabilities. Other methods only rank rows.
    needs
        Packages that must be installed.
    """

    name: str
    title: str
    make: Make
    labels: str = "given"
    group: str = "paper"
    has_probabilities: bool = False
    needs: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the packages that the method needs are installed."""
        return all(find_spec(package) is not None for package in self.needs)


class LabelledRows(BaseEstimator):
    """A classifier that learns from labelled rows only.

    Parameters
    ----------
    model
        A classifier with ``decision_function`` or ``predict_proba``.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X = np.array([[0.0], [0.1], [5.0], [9.0]])
    >>> model = LabelledRows(KNeighborsClassifier(1)).fit(X, np.array([0, 0, 1, -1]))
    >>> model.decision_function(X).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: NDArray, y: NDArray) -> "LabelledRows":
        """Learn from the rows that have a label."""
        labelled = y != UNLABELLED
        self.fitted_ = self.model.fit(X[labelled], y[labelled])
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        """Return scores, high for outliers."""
        if not hasattr(self.model, "decision_function"):
            return self.predict_proba(X)[:, 1]
        return np.asarray(self.model.decision_function(X), dtype=np.float64)

    def predict_proba(self, X: NDArray) -> NDArray:
        """Return probabilities of inliers and outliers."""
        return np.asarray(self.model.predict_proba(X), dtype=np.float64)


class TreeBags:
    """ExtraTrees on bags with ten times as many inliers as outliers and balanced class weights.

    Every bag holds 70 % of the labelled outliers and at least 50 inliers, or all inliers if there
    are fewer. Unlabelled rows are left out.

    Parameters
    ----------
    seed
        Random seed of the bags.
    n_bags, n_trees
        Number of bags, and of trees in each bag.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + np.repeat([0, 5], [90, 10])[:, None]
    >>> model = TreeBags(0, n_bags=5).fit(X, np.repeat([0, 1], [90, 10]))
    >>> inlier, outlier = model.decision_function(np.array([[0.0, 0.0], [5.0, 5.0]]))
    >>> bool(inlier < 0.1 and outlier > 0.9)
    True
    """

    def __init__(self, seed: int, n_bags: int = 50, n_trees: int = 10) -> None:
        self.seed = seed
        self.n_bags = n_bags
        self.n_trees = n_trees

    def fit(self, X: NDArray, y: NDArray) -> "TreeBags":
        """Grow the trees of every bag."""
        random = np.random.default_rng(self.seed)
        outliers = np.flatnonzero(y == OUTLIER)
        inliers = np.flatnonzero(y == INLIER)
        n_outliers = max(1, round(0.7 * len(outliers)))
        n_inliers = min(max(10 * n_outliers, 50), len(inliers))
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
        """Return the mean probability over all forests."""
        return np.mean([forest.predict_proba(X)[:, 1] for forest in self._forests], axis=0)


class Forest(IsolationForest):
    """An isolation forest whose scores are high for outliers."""

    def decision_function(self, X: NDArray) -> NDArray:
        """Return the scores of rows."""
        return -self.score_samples(X)


class NeighborDistance(OutlierRepresentation):
    """The kNN score alone, as a detector."""

    def decision_function(self, X: NDArray) -> NDArray:
        """Return the scores of rows."""
        return self.transform(X)[:, 0]


def _detector(_: Any, seed: int) -> Detector:
    return Detector(n_jobs=1, random_state=seed)


def _on_scores(kind: type) -> Make:
    return lambda columns, seed: kind(columns, n_jobs=1, random_state=seed)


def _alone(kind: type, *arguments: Any, **options: Any) -> Make:
    """Return a function that makes an estimator with a seed, whatever the representation."""
    return lambda _, seed: kind(*arguments, random_state=seed, **options)


def _ssad(_: Any, seed: int) -> LabelledRows:
    """Return SSAD on labelled rows only, because SSAD would take unlabelled rows for inliers."""
    return LabelledRows(SSAD(sigma="cv", kappa="cv", n_jobs=1, random_state=seed))


def _ssad_on_scores(representation: Any, seed: int) -> Pipeline:
    """Return SSAD on a representation, which is computed from all rows, labelled or not."""
    columns = representation or OutlierRepresentation(n_jobs=1, random_state=seed)
    return make_pipeline(MinMaxScaler(), columns, _ssad(None, seed))


def _peer(module: str, name: str, seed_name: str = "random_state", **options: Any) -> Make:
    """Return a function that imports another library and makes its classifier."""

    def make(_: Any, seed: int) -> LabelledRows:
        return LabelledRows(getattr(import_module(module), name)(**{seed_name: seed}, **options))

    return make


_forest = _alone(Forest, n_estimators=300)
_knn = _alone(NeighborDistance, ["knn"], ks=[20], passthrough=False, n_jobs=1)
_catboost = _peer(
    "catboost",
    "CatBoostClassifier",
    "random_seed",
    thread_count=1,
    verbose=False,
    allow_writing_files=False,
)
# Newer versions of XGBoost estimate the base score. 0.5 was the default, and XGBOD uses 0.5.
_xgboost = _peer("xgboost", "XGBClassifier", base_score=0.5, n_jobs=1)
_xgbod = _peer("pyod.models.xgbod", "XGBOD", n_jobs=1)

METHODS = {
    method.name: method
    for method in (
        Method("detector", "Detector", _detector, group="ours", has_probabilities=True),
        Method("best", "Best OSF", _on_scores(BestScore), labels="hindsight"),
        Method("mean", "Mean of OSFs", _on_scores(MeanScore), labels="none"),
        Method("greedy", "GE", _on_scores(GreedyEnsemble), labels="number"),
        Method("ssad", "SSAD", _ssad),
        Method("ssad+or", "SSAD+OR", _ssad_on_scores),
        Method("be", "BE", _alone(BORE, OutlierRepresentation([], views=[]), n_jobs=1)),
        Method("bore", "BORE", _on_scores(BORE), has_probabilities=True),
        Method("trees", "ExtraTrees bags", lambda _, seed: TreeBags(seed), group="today"),
        Method("catboost", "CatBoost", _catboost, "given", "today", True, ("catboost",)),
        Method("xgboost", "XGBoost", _xgboost, "given", "today", True, ("xgboost",)),
        Method("xgbod", "XGBOD", _xgbod, group="today", needs=("pyod", "xgboost")),
        Method("iforest", "isolation forest", _forest, labels="none", group="today"),
        Method("knn", "kNN", _knn, labels="none", group="unlabelled"),
    )
}
PAPER = [name for name, method in METHODS.items() if method.group == "paper"]
# The methods of the comparison with few labels. BORE is the only method of the paper among them.
PEERS = [name for name in METHODS if name == "bore" or name not in PAPER]


def find_missing(names: Iterable[str], known: Collection[str] = METHODS) -> dict[str, str]:
    """Return what methods lack, by their names; raise for a method that is not known."""
    missing = {}
    for name in names:
        if name not in known:
            raise ValueError(f"Methods are {', '.join(known)}; got {name!r}.")
        if not METHODS[name].is_installed:
            needs = " and ".join(METHODS[name].needs)
            missing[name] = f"needs {needs}, not installed here: pip install boreod[peers]"
    return missing
