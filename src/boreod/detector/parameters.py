"""The parameters of a detector: checked, and as what the engine wants."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bagging, check_bags, check_reference
from boreod.ensemble.members import Recipe
from boreod.ensemble.training import Options, Plan
from boreod.representation.scaling import SCALERS
from boreod.representation.transformer import FEW, OutlierRepresentation
from boreod.selection.prices import check_purchase
from boreod.validation import OUTLIER, check_choice


def read_options(model: Any) -> Options:
    """Return what learning again needs."""
    heads = tuple(model.heads) if isinstance(model.heads, list | tuple) else (model.heads,)
    recipe = Recipe(heads, model.estimator, model.penalty, model.n_trees, model.aggregation)
    return Options(recipe, model.calibration, model.threshold, model.prior)


def read_plan(model: Any) -> Plan:
    """Return how a table becomes bags."""
    bagging = Bagging(model.n_estimators, model.share, model.ratio, model.min_inliers)
    assume = model.inliers == "assumed"
    how = model.input_scaling, model.scaling, bagging, assume, model.reference_outliers
    return Plan(*how)


def count_apart(model: Any, codes: NDArray) -> int:
    """Return the number of rows that are no reference rows."""
    return 0 if model.reference_outliers else int((codes == OUTLIER).sum())


def check_parameters(model: Any) -> None:
    """Raise for a parameter that is not allowed, before any work is done."""
    check_choice("input_scaling", model.input_scaling, ("minmax", None))
    check_choice("scaling", model.scaling, SCALERS)
    check_choice("inliers", model.inliers, ("labelled", "assumed"))
    check_reference(model.reference_size, model.reference_sampling)
    check_bags(model.n_estimators, model.share, model.ratio, model.min_inliers)
    read_options(model).check()
    check_purchase(model.budget, model.costs, model.selection, model.fill)
    if not isinstance(model.reference_outliers, bool | np.bool_):
        raise ValueError(
            f"`reference_outliers` must be True or False; got {model.reference_outliers!r}."
        )
    given = model.representation
    if not isinstance(given, OutlierRepresentation | None) and not (
        isinstance(given, str) and given == FEW
    ):
        raise TypeError(
            f"`representation` must be an OutlierRepresentation, {FEW!r} or None; got {given!r}."
        )
