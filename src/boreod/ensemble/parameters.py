"""Parameters that users change together: one small object for each group.

A field that is left at ``"preset"`` keeps the value of the detector's preset, so that
``BORE(bagging=Bagging(max_samples=0.5))`` changes one number of the paper's method, and
``Detector(bagging=Bagging(max_samples=0.5))`` one number of the default detector. Groups follow
scikit-learn's rules for nested parameters: ``bagging__ratio`` works in a grid.
"""

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self, get_type_hints

import numpy as np

from boreod.ensemble.bags import BagPlan
from boreod.ensemble.members import KINDS
from boreod.text import shorten, suggest
from boreod.validation import check_choice, is_number

PRESET = "preset"
# Smaller penalties vanish beside the rounding errors of the bags.
MIN_PENALTY = 1e-12


class ParameterGroup:
    """Parameters with scikit-learn's ``get_params`` and ``set_params``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **parameters: Any) -> Self:
        """Set some parameters and return the group itself."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}. "
                    f"{suggest(name, list(known), 'parameters')}"
                )
            setattr(self, name, value)
        return self

    def completed(self, preset: Self) -> Self:
        """Return the group, with the preset's values for the fields left at ``"preset"``."""
        given = self.get_params()
        for name, value in given.items():
            # The value may be an array, which compares element by element.
            if isinstance(value, str) and value == PRESET:
                given[name] = getattr(preset, name)
        return type(self)(**given)


@dataclass
class Reference(ParameterGroup):
    """The rows among which neighbors are searched.

    Parameters
    ----------
    size
        Number of rows to learn from: all labelled outliers and a sample of the others. None for
        all rows.
    sampling
        ``"stratified"`` prefers labelled inliers to unlabelled rows until they have half of the
        places; ``"random"`` does not.
    outliers
        Whether neighbors are also searched among labelled outliers. If not, a new row near a
        labelled outlier still looks isolated. All training rows are then scored as if they were
        new, against the reference rows of the other folds.
    input_scaling
        ``"minmax"`` brings the raw columns to [0, 1] before neighbors are searched; None leaves
        them unchanged.
    neighbors
        How neighbors are searched: ``"brute"``, ``"tree"``, or ``"auto"`` for the faster of both.
    """

    size: Any = PRESET
    sampling: Any = PRESET
    outliers: Any = PRESET
    input_scaling: Any = PRESET
    neighbors: Any = PRESET


@dataclass
class Bagging(ParameterGroup):
    """How bags are drawn.

    Parameters
    ----------
    max_samples
        Share of the smaller class in each bag; the other class has as many rows there. With a
        ``ratio`` each bag holds this share of the outliers, and at most this share of the inliers.
    ratio
        Number of inliers in a bag for each of its outliers; None for balanced bags. Both classes
        weigh the same, except in boosted trees.
    min_inliers
        Smallest number of inliers in a bag that has a ``ratio``.
    inliers
        With ``"labelled"``, only labelled inliers count as inliers. With ``"assumed"``, unlabelled
        rows count as inliers too if few inliers are labelled. Rows that look like the known
        outliers are then left out of the bags, even if they are labelled inliers. See
        :mod:`boreod.ensemble.assumptions`.
    """

    max_samples: Any = PRESET
    ratio: Any = PRESET
    min_inliers: Any = PRESET
    inliers: Any = PRESET


@dataclass
class Heads(ParameterGroup):
    """What is fitted to every bag.

    Parameters
    ----------
    kinds
        Some of ``"logistic"``, ``"trees"``, ``"trees+scores"``, ``"boosted"`` and
        ``"boosted+scores"``, see :mod:`boreod.ensemble.members`.
    n_trees
        Number of trees that are fitted to every bag. Boosted heads fit ten times as many to ten of
        the bags.
    penalty
        Ridge penalty per row of the logistic regressions, on standardized columns; ``"auto"``
        chooses it by out-of-bag log-loss.
    fit_intercept
        Whether the logistic regressions, also those of the pursuit for a budget, have an intercept.
        The paper's Equation 3 has none.
    """

    kinds: Any = PRESET
    n_trees: Any = PRESET
    penalty: Any = PRESET
    fit_intercept: Any = PRESET


@dataclass
class ColumnSelection(ParameterGroup):
    """How the columns that fit a budget are chosen.

    Parameters
    ----------
    method
        ``"budget"`` (cost-aware pursuit), ``"omp"`` (pursuit that ignores costs) or ``"random"``.
    costs
        The costs of columns, see :mod:`boreod.selection.prices`. None measures seconds for budgets
        in time, and counts operations for other budgets.
    batch_size
        Number of rows per call, for a budget in time. Every call has a cost of its own, which is
        divided among its rows. 1 stands for single rows, None for large batches.
    skip_unaffordable
        Whether a column that does not fit is skipped and the next one tried. Only columns that some
        bag bought are chosen, and a single column replaces them if it is clearly better alone.
        False is the paper's rule: columns in the order of how many bags bought them, equal ones by
        their place in the table, until one does not fit.
    """

    method: Any = PRESET
    costs: Any = PRESET
    batch_size: Any = PRESET
    skip_unaffordable: Any = PRESET


@dataclass(frozen=True)
class Settings:
    """All groups of a detector, completed by its preset."""

    reference: Reference
    bagging: Bagging
    heads: Heads
    selection: ColumnSelection

    @property
    def assumes_inliers(self) -> bool:
        """Whether unlabelled rows may count as inliers."""
        return bool(self.bagging.inliers == "assumed")

    @property
    def kinds(self) -> tuple[Any, ...]:
        """Kinds of heads; a single kind needs no list."""
        kinds = self.heads.kinds
        return tuple(kinds) if isinstance(kinds, list | tuple) else (kinds,)

    def plan_bags(self, n_bags: int) -> BagPlan:
        """Return the plan of ``n_bags`` bags."""
        bagging = self.bagging
        return BagPlan(
            n_bags, bagging.max_samples, bagging.ratio, bagging.min_inliers, self.assumes_inliers
        )


# DETECTOR holds the defaults of Detector, and PRINTED those of the paper.
DETECTOR = Settings(
    Reference(None, "stratified", False, "minmax", "auto"),
    Bagging(0.7, 10.0, 50, "assumed"),
    Heads(KINDS, 10, 3e-3, True),
    ColumnSelection("budget", None, None, True),
)
PRINTED = Settings(
    Reference(None, "stratified", True, "minmax", "auto"),
    Bagging(0.7, None, 1, "labelled"),
    Heads(("logistic",), 10, 1e-6, False),
    ColumnSelection("budget", None, None, False),
)

GROUPS: dict[str, type[ParameterGroup]] = get_type_hints(Settings)


def complete_settings(given: dict[str, Any], preset: Settings) -> Settings:
    """Return a user's groups, completed by a preset; None stands for the preset's group."""
    groups: dict[str, Any] = {}
    for name, kind in GROUPS.items():
        group = given[name]
        if group is not None and not isinstance(group, kind):
            raise TypeError(
                f"`{name}` must be a boreod.{kind.__name__} or None; got {shorten(group)}. "
                f"Pass for example {kind.__name__}({next(iter(kind().get_params()))}=...)."
            )
        own = getattr(preset, name)
        groups[name] = own if group is None else group.completed(own)
    return Settings(**groups)


def check_settings(settings: Settings, model: Any) -> None:
    """Refuse values of groups, and of single parameters of a detector, that are not allowed."""
    reference = settings.reference
    bagging = settings.bagging
    penalty = settings.heads.penalty
    estimator = model.estimator
    check_choice("input_scaling", reference.input_scaling, ("minmax", None))
    check_choice("inliers", bagging.inliers, ("labelled", "assumed"))
    check_choice("sampling", reference.sampling, ("stratified", "random"))
    check_choice("calibration", model.calibration, (None, "platt"))
    size = reference.size
    right = size is None or (is_number(size, Integral) and size >= 2)
    _require(right, "`size` of `reference`", "None or a number of rows from 2 on", size)
    switches = {"outliers": reference.outliers, "fit_intercept": settings.heads.fit_intercept}
    for name, value in switches.items():
        _require(isinstance(value, bool | np.bool_), f"`{name}`", "True or False", value)
    right = bagging.ratio is None or (is_number(bagging.ratio) and 1.0 <= bagging.ratio < np.inf)
    _require(right, "`ratio`", "None or a number from 1 on", bagging.ratio)
    right = is_number(bagging.max_samples) and 0.0 < bagging.max_samples <= 1.0
    _require(right, "`max_samples`", "above 0 and at most 1", bagging.max_samples)
    right = isinstance(penalty, str) and penalty == "auto"
    right = right or (is_number(penalty) and MIN_PENALTY <= penalty < np.inf)
    _require(right, "`penalty`", f"'auto' or a finite number from {MIN_PENALTY:.0e} on", penalty)
    right = model.prior is None or (is_number(model.prior) and 0.0 < model.prior < 1.0)
    _require(right, "`prior`", "None or between 0 and 1", model.prior)
    counts = {"min_inliers": bagging.min_inliers, "n_estimators": model.n_estimators}
    for name, count in (counts | {"n_trees": settings.heads.n_trees}).items():
        right = is_number(count, Integral) and count >= 1
        _require(right, f"`{name}`", "a positive integer", count)
    kinds = list(settings.kinds)
    right = len(kinds) > 0 and all(kinds.count(kind) == 1 and kind in KINDS for kind in kinds)
    _require(right, "`heads`", f"some of {list(KINDS)}, each once", kinds)
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"`estimator` must have `predict_proba`; {estimator!r} has not. "
            "Wrap it in CalibratedClassifierCV."
        )


def _require(is_right: bool, name: str, rule: str, value: Any) -> None:
    if not is_right:
        raise ValueError(f"{name} must be {rule}; got {value!r}.")
