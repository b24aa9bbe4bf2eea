"""The parameters of the detector, checked in one place."""

from numbers import Integral
from typing import Any

import numpy as np

from boreod.ensemble.reference import check_reference
from boreod.ensemble.thresholds import read_threshold
from boreod.representation.scaling import SCALERS
from boreod.representation.transformer import OutlierRepresentation
from boreod.selection.budgets import read_budget
from boreod.selection.prices import check_costs, check_units
from boreod.validation import is_number

LEAST_PENALTY = 1e-12  # smaller ones vanish beside the rounding errors of the bags


def check_parameters(model: Any) -> None:
    """Raise for a parameter of BORE that is not allowed, before any work is done."""
    for name, allowed in (
        ("input_scaling", ("minmax", None)),
        ("scaling", tuple(SCALERS)),
        ("aggregation", ("mean", "log-odds")),
        ("calibration", (None, "oob")),
        ("selection", ("budget", "omp", "random")),
    ):
        value = getattr(model, name)
        if not isinstance(value, str | None) or value not in allowed:
            raise ValueError(f"`{name}` must be one of {list(allowed)}; got {value!r}.")
    if not is_number(model.n_estimators, Integral) or model.n_estimators < 1:
        raise ValueError(f"`n_estimators` must be a positive integer; got {model.n_estimators!r}.")
    if not is_number(model.share) or not 0.0 < model.share <= 1.0:
        raise ValueError(f"`share` must be above 0 and at most 1; got {model.share!r}.")
    is_penalty = is_number(model.penalty) and LEAST_PENALTY <= float(model.penalty) < np.inf
    if not is_penalty and not (isinstance(model.penalty, str) and model.penalty == "auto"):
        raise ValueError(
            f"`penalty` must be 'auto' or a finite number from {LEAST_PENALTY:.0e} on; "
            f"got {model.penalty!r}."
        )
    check_reference(model.reference_size, model.reference_sampling)
    read_threshold(model.threshold)
    check_costs(model.costs)
    if model.budget is not None:
        check_units(read_budget(model.budget)[1], model.costs)
    if not isinstance(model.fill, bool | np.bool_):
        raise ValueError(f"`fill` must be True or False; got {model.fill!r}.")
    if model.estimator is not None and not hasattr(model.estimator, "predict_proba"):
        raise TypeError(
            f"`estimator` must have `predict_proba`; {model.estimator!r} has not. "
            "Wrap it in CalibratedClassifierCV."
        )
    if not isinstance(model.representation, OutlierRepresentation | None):
        raise TypeError(
            "`representation` must be an OutlierRepresentation or None; got "
            f"{model.representation!r}."
        )
