"""The methods that are compared: ours, the paper's seven, competitors of today where installed.

All get the same rows and the same labels, and none is told more than :class:`Method` says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE, NumericDetector
from boreod.paper.baselines import SSAD, BestScore, GreedyEnsemble, MeanScore
from boreod.representation.transformer import OutlierRepresentation
from boreod.validation import UNLABELLED

TREES, TREE_BAGS = 100, 10
Make = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Method:
    """A way to detect outliers.

    Attributes
    ----------
    name
        What commands take and tables of results hold.
    title
        What readers see.
    make
        From a representation (None for the default one) and a seed to an estimator.
    labels
        What it learns from: ``"none"``, the ``"number"`` of outliers, ``"given"`` labels, or labels
        that only ``"hindsight"`` has.
    group
        ``"ours"``, ``"paper"`` or ``"today"``.
    scores
        Whether it makes use of outlier scores.
    needs
        Packages that must be installed.
    """

    name: str
    title: str
    make: Make
    labels: str = "given"
    group: str = "paper"
    scores: bool = True
    needs: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the packages that it needs are there."""
        return all(find_spec(package) is not None for package in self.needs)


class LabelledRows:
    """A classifier that learns from the labelled rows and leaves the others out.

    Parameters
    ----------
    make
        Makes a fresh classifier with ``fit(X, y)`` and ``decision_function`` or
        ``predict_proba``.
    columns
        A transformer that is fitted on all rows, unlabelled ones too; None for raw columns.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X = np.array([[0.0], [0.1], [5.0], [9.0]])
    >>> model = LabelledRows(lambda: KNeighborsClassifier(1)).fit(X, np.array([0, 0, 1, -1]))
    >>> model.decision_function(X).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, make: Callable[[], Any], columns: Any = None) -> None:
        self.make = make
        self.columns = columns

    def fit(self, X: NDArray, y: NDArray) -> "LabelledRows":
        """Learn from rows with a label."""
        table = X if self.columns is None else self.columns.fit_transform(X)
        labelled = y != UNLABELLED
        self._model = self.make().fit(table[labelled], y[labelled])
        return self

    def decision_function(self, X: NDArray) -> NDArray:
        """Return a score that is high for outliers."""
        table = X if self.columns is None else self.columns.transform(X)
        if hasattr(self._model, "decision_function"):
            scores = self._model.decision_function(table)
        else:
            scores = self._model.predict_proba(table)[:, 1]
        return np.asarray(scores, dtype=np.float64)


def _ssad(_: Any, seed: int, columns: Any = None) -> LabelledRows:
    """Return SSAD on labelled rows; with the usual weights it takes unlabelled ones for inliers."""

    def make() -> SSAD:
        return SSAD(sigma="cv", kappa="cv", n_jobs=1, random_state=seed)

    return LabelledRows(make, columns)


def _ssad_on_scores(representation: Any, seed: int) -> LabelledRows:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    columns = representation or OutlierRepresentation(n_jobs=1, random_state=seed)
    return _ssad(None, seed, make_pipeline(MinMaxScaler(), columns))


def _on_raw_columns(_: Any, seed: int, **options: Any) -> BORE:
    return BORE(OutlierRepresentation([], views=[]), n_jobs=1, random_state=seed, **options)


def _detector(representation: Any, seed: int) -> NumericDetector:
    return NumericDetector(
        "few" if representation is None else representation, n_jobs=1, random_state=seed
    )


def _trees(_: Any, seed: int) -> BORE:
    from sklearn.ensemble import ExtraTreesClassifier

    return _on_raw_columns(
        None, seed, n_estimators=TREE_BAGS, estimator=ExtraTreesClassifier(TREES)
    )


def _on_labelled_rows(module: str, name: str, seed_name: str, **options: Any) -> Make:
    """Return a maker of a classifier of another library, which is imported when it is fitted."""

    def make(_: Any, seed: int) -> LabelledRows:
        return LabelledRows(
            lambda: getattr(import_module(module), name)(**{seed_name: seed}, **options)
        )

    return make


def _on_scores(kind: type) -> Make:
    return lambda columns, seed: kind(columns, n_jobs=1, random_state=seed)


_xgboost = _on_labelled_rows("xgboost", "XGBClassifier", "random_state", base_score=0.5, n_jobs=1)
_catboost = _on_labelled_rows(
    "catboost",
    "CatBoostClassifier",
    "random_seed",
    thread_count=1,
    verbose=False,
    allow_writing_files=False,
)
_xgbod = _on_labelled_rows("pyod.models.xgbod", "XGBOD", "random_state", n_jobs=1)

METHODS = {
    method.name: method
    for method in (
        Method("detector", "Detector", _detector, group="ours"),
        Method("best", "Best OSF", _on_scores(BestScore), labels="hindsight"),
        Method("mean", "Mean of OSFs", _on_scores(MeanScore), labels="none"),
        Method("greedy", "GE", _on_scores(GreedyEnsemble), labels="number"),
        Method("ssad", "SSAD", _ssad, scores=False),
        Method("ssad+or", "SSAD+OR", _ssad_on_scores),
        Method("be", "BE", _on_raw_columns, scores=False),
        Method("bore", "BORE", _on_scores(BORE)),
        Method("extratrees", "ExtraTrees bags", _trees, group="today", scores=False),
        Method("xgboost", "XGBoost", _xgboost, group="today", scores=False, needs=("xgboost",)),
        Method("catboost", "CatBoost", _catboost, group="today", scores=False, needs=("catboost",)),
        Method("xgbod", "XGBOD", _xgbod, group="today", scores=False, needs=("pyod", "xgboost")),
    )
}
PAPER = [name for name, method in METHODS.items() if method.group == "paper"]
TODAY = [name for name, method in METHODS.items() if method.group == "today"]


def find_methods(names: list[str]) -> list[Method]:
    """Return the methods of these names, or say which there are and what is missing.

    Examples
    --------
    >>> [method.title for method in find_methods(["be", "bore"])]
    ['BE', 'BORE']
    """
    for name in names:
        if name not in METHODS:
            raise ValueError(f"Methods are {', '.join(METHODS)}; got {name!r}.")
        needs = " and ".join(METHODS[name].needs)
        if not METHODS[name].is_installed:
            raise ImportError(
                f"Method {name!r} needs {needs}, not installed here: pip install boreod[peers]"
            )
    return [METHODS[name] for name in names]
