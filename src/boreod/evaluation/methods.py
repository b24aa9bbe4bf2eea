"""The methods that are compared: the paper's seven, and competitors of today where installed.

All get the same rows and the same labels, and none is told more than :class:`Method` says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from boreod.baselines import SSAD, BestScore, GreedyEnsemble, MeanScore
from boreod.detector import BORE
from boreod.evaluation.labelled_rows import LabelledRows
from boreod.representation.transformer import OutlierRepresentation

TREES, TREE_BAGS = 100, 10


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
        ``"paper"`` or ``"today"``.
    scores
        Whether it makes use of outlier scores.
    needs
        Packages that must be installed.
    """

    name: str
    title: str
    make: Callable[[Any, int], Any]
    labels: str = "given"
    group: str = "paper"
    scores: bool = True
    needs: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the packages that it needs are there."""
        return all(find_spec(package) is not None for package in self.needs)


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


def _trees(_: Any, seed: int) -> BORE:
    from sklearn.ensemble import ExtraTreesClassifier

    return _on_raw_columns(
        None, seed, n_estimators=TREE_BAGS, estimator=ExtraTreesClassifier(TREES)
    )


def _xgbod(_: Any, seed: int) -> LabelledRows:
    def make() -> Any:
        from pyod.models.xgbod import XGBOD

        return XGBOD(random_state=seed, n_jobs=1)

    return LabelledRows(make)


def _xgboost(_: Any, seed: int) -> LabelledRows:
    def make() -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(base_score=0.5, random_state=seed, n_jobs=1)

    return LabelledRows(make)


def _catboost(_: Any, seed: int) -> LabelledRows:
    def make() -> Any:
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
        )

    return LabelledRows(make)


METHODS = {
    method.name: method
    for method in (
        Method(
            "best",
            "Best OSF",
            lambda columns, seed: BestScore(columns, n_jobs=1, random_state=seed),
            labels="hindsight",
        ),
        Method(
            "mean",
            "Mean of OSFs",
            lambda columns, seed: MeanScore(columns, n_jobs=1, random_state=seed),
            labels="none",
        ),
        Method(
            "greedy",
            "GE",
            lambda columns, seed: GreedyEnsemble(columns, n_jobs=1, random_state=seed),
            labels="number",
        ),
        Method("ssad", "SSAD", _ssad, scores=False),
        Method("ssad+or", "SSAD+OR", _ssad_on_scores),
        Method("be", "BE", _on_raw_columns, scores=False),
        Method(
            "bore", "BORE", lambda columns, seed: BORE(columns, n_jobs=1, random_state=seed)
        ),
        Method("extratrees", "ExtraTrees bags", _trees, group="today", scores=False),
        Method("xgboost", "XGBoost", _xgboost, group="today", scores=False, needs=("xgboost",)),
        Method("catboost", "CatBoost", _catboost, group="today", scores=False, needs=("catboost",)),
        Method("xgbod", "XGBOD", _xgbod, group="today", scores=False, needs=("pyod", "xgboost")),
    )
}  # fmt: skip
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
