"""Parameters that belong together, in one small object for each group.

A field with the value ``"preset"`` gets its value from the detector's preset. So
``BORE(bagging=Bagging(max_samples=0.5))`` changes one number of the paper's method, and
``Detector(bagging=Bagging(max_samples=0.5))`` changes one number of the default detector. Groups
follow scikit-learn's rules for nested parameters: ``bagging__ratio`` works in a grid search.
"""

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self, get_type_hints

import numpy as np

from boreod.ensemble.members import KINDS
from boreod.text import shorten, suggest
from boreod.validation import check_choice, is_number

PRESET = "preset"
AUTO = "auto"
# The smallest allowed penalty; smaller penalties would be lost in rounding errors.
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
        """Return a copy in which the preset's values replace all values ``"preset"``."""
        given = self.get_params()
        for name, value in given.items():
            # Check the type first, because an array would be compared element by element.
            if isinstance(value, str) and value == PRESET:
                given[name] = getattr(preset, name)
        return type(self)(**given)


@dataclass
class Reference(ParameterGroup):
    """The rows among which neighbors are searched.

    Parameters
    ----------
    size
        ``"auto"`` learns from all rows, and searches neighbors among all of them or, in a large
        table, among a sample. A number of rows learns only from all labelled outliers and a sample
        of the other rows. None learns from all rows and searches neighbors among all of them.
    sampling
        ``"stratified"`` draws half of the other rows from labelled inliers and half from unlabelled
        rows; if there are fewer labelled inliers, it takes all of them. ``"random"`` draws from
        labelled inliers and unlabelled rows alike.
    outliers
        Whether labelled outliers are reference rows too. If they are not, a new row near a labelled
        outlier still looks isolated. All training rows are then scored as if they were new, against
        the reference rows of other folds.
    input_scaling
        ``"minmax"`` scales the raw columns to [0, 1] before neighbors are searched. None leaves
        them unchanged.
    neighbors
        The neighbor search: ``"brute"``, ``"tree"``, or ``"auto"``, the faster of the two.
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
        Share of the smaller class that each bag holds; the bag then holds the same number of rows
        of the other class. If there is a ``ratio``, each bag holds this share of the outliers and
        at most this share of the inliers.
    ratio
        Number of inliers per outlier in a bag. None draws balanced bags. Both classes have the same
        total weight, except in boosted trees.
    min_inliers
        Smallest number of inliers in a bag with a ``ratio``.
    inliers
        ``"labelled"`` counts only labelled inliers as inliers. ``"assumed"`` also counts unlabelled
        rows as inliers if few inliers are labelled. With ``"assumed"``, rows that look like known
        outliers are left out of the bags, even if they are labelled inliers. See
        :mod:`boreod.ensemble.assumptions`.
    """

    max_samples: Any = PRESET
    ratio: Any = PRESET
    min_inliers: Any = PRESET
    inliers: Any = PRESET


@dataclass
class Heads(ParameterGroup):
    """The heads that are fitted to every bag.

    Parameters
    ----------
    kinds
        One or several of ``"logistic"``, ``"trees"``, ``"trees+scores"``, ``"boosted"`` and
        ``"boosted+scores"``, see :mod:`boreod.ensemble.members`.
    n_trees
        Number of trees that each tree head fits to every bag. Boosted heads fit ten times as many
        trees, but only to ten bags.
    penalty
        Ridge penalty of the logistic regressions on standardized columns, multiplied by the number
        of rows of the bag. ``"auto"`` chooses the penalty with the lowest out-of-bag log-loss.
    fit_intercept
        Whether logistic regressions have an intercept, including those of the pursuit. The paper's
        Equation 3 has no intercept.
    """

    kinds: Any = PRESET
    n_trees: Any = PRESET
    penalty: Any = PRESET
    fit_intercept: Any = PRESET


@dataclass
class ColumnSelection(ParameterGroup):
    """How columns are chosen for a budget.

    Parameters
    ----------
    method
        ``"budget"`` (cost-aware pursuit), ``"omp"`` (pursuit that ignores costs) or ``"random"``.
    costs
        The costs of columns, see :mod:`boreod.selection.prices`. None measures seconds for budgets
        in time, and counts operations for budgets in units.
    batch_size
        Number of rows per call, for a budget in time. Every call has a cost, which is divided among
        its rows. None means large batches, and 1 means single rows.
    skip_unaffordable
        Whether columns that do not fit the budget are skipped. If true, a column that no bag chose
        is taken only if all columns fit, and a single column replaces all chosen columns if it is
        clearly better than they are together. If false, the paper's rule applies: columns are
        ranked by the number of bags that chose them, with ties in the order of the table, and are
        taken until one column does not fit.
    """

    method: Any = PRESET
    costs: Any = PRESET
    batch_size: Any = PRESET
    skip_unaffordable: Any = PRESET


@dataclass(frozen=True)
class Settings:
    """All parameter groups of a detector, completed by its preset."""

    reference: Reference
    bagging: Bagging
    heads: Heads
    selection: ColumnSelection

    @property
    def n_learned(self) -> int | None:
        """The number of rows to learn from; None if all rows are learned from."""
        return None if self.reference.size == AUTO else self.reference.size

    @property
    def assumes_inliers(self) -> bool:
        """Whether unlabelled rows may count as inliers."""
        return bool(self.bagging.inliers == "assumed")

    @property
    def kinds(self) -> tuple[Any, ...]:
        """Kinds of heads as a tuple, even if the user passed a single kind."""
        kinds = self.heads.kinds
        return tuple(kinds) if isinstance(kinds, list | tuple) else (kinds,)


# DETECTOR holds the defaults of Detector, and PRINTED those of the paper.
DETECTOR = Settings(
    Reference(AUTO, "stratified", False, "minmax", "auto"),
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
    """Return a user's groups, completed by a preset; None means the preset's group."""
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
    """Raise if a value of a group, or of another parameter of the detector, is not allowed."""
    reference = settings.reference
    bagging = settings.bagging
    penalty = settings.heads.penalty
    estimator = model.estimator
    check_choice("input_scaling", reference.input_scaling, ("minmax", None))
    check_choice("inliers", bagging.inliers, ("labelled", "assumed"))
    check_choice("sampling", reference.sampling, ("stratified", "random"))
    check_choice("calibration", model.calibration, (None, "platt"))
    size = reference.size
    right = size is None or (isinstance(size, str) and size == AUTO)
    right = right or (is_number(size, Integral) and size >= 2)
    _require(right, "`size` of `reference`", "'auto', None or a number of rows from 2 on", size)
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
            f"`estimator` must have `predict_proba`; {estimator!r} does not. "
            "Wrap the estimator in CalibratedClassifierCV."
        )


def _require(is_right: bool, name: str, rule: str, value: Any) -> None:
    if not is_right:
        raise ValueError(f"{name} must be {rule}; got {value!r}.")
