"""What there is to know about a model as plain data, for ``boreod info``."""

from dataclasses import asdict
from typing import Any

import numpy as np

from boreod.persistence.manifest import FORMAT
from boreod.persistence.model import package_versions, store_curve
from boreod.predictor import Predictor, known_costs, price_of_rows, settings_of
from boreod.selection.budgets import read_budget
from boreod.selection.costs import SECONDS
from boreod.tool.words import list_assumptions, list_heads, name_method


def describe(model: Predictor) -> dict[str, Any]:
    """Return what is to be known of a model as plain data, ready for JSON.

    Prices of columns are None if nobody asked for them in the fit.
    """
    preparation = model.preparation_
    oob = model.oob_proba_
    costs = known_costs(model)
    choice = model.selection_
    curve = model.record_.curve
    novelty = None
    if model.fitted_.searches:
        # These are distances to the 10th reference row.
        seen = model.fitted_.seen
        novelty = {"usual_distance": seen.usual, "novel_beyond": seen.limit}
    return {
        "format": FORMAT if model.stored_ is None else model.stored_.format,
        "versions": _versions_of(model),
        "method": name_method(model),
        "heads": [head._asdict() for head in list_heads(model)],
        "assumptions": list_assumptions(model),
        "source": model.record_.source,
        "label": preparation.label_,
        "ids": list(preparation.ids_),
        "training": asdict(model.oob_.summarize()),
        "preparation": [row._asdict() for row in preparation.summary_],
        "notes": list(preparation.notes_),
        "columns": _columns(model),
        "unit": "" if costs is None else costs.unit,
        "cost": model.cost_,
        "budget": model.budget,
        "batch_size": None if choice is None else choice.batch_size,
        "price": _prices(model),
        "trees": _trees(model),
        "costs": _name_costs(model),
        "prices": None if costs is None else asdict(costs),
        "threshold": float(model.threshold_),
        "threshold_rule": model.threshold,
        "training_rows_above": int(np.sum(oob[np.isfinite(oob)] > model.threshold_)),
        "novelty": novelty,
        "budget_curve": _plain_curve(curve),
        "cheapest_budget": None if curve is None else curve.cheapest(),
    }


def _versions_of(model: Predictor) -> dict[str, str]:
    """Return the versions that wrote a model, or would write it now."""
    if model.stored_ is not None:
        return dict(model.stored_.versions)
    return package_versions()


def _prices(detector: Predictor) -> dict[str, float] | None:
    """Return seconds per row, in large batches and of one that comes alone; None if not known."""
    many = price_of_rows(detector)
    one = price_of_rows(detector, batch_size=1)
    if many is None or one is None:
        return None
    return {"in_batches": many, "alone": one}


def _trees(detector: Predictor) -> dict[str, Any] | None:
    """Return how many trees of every bag a budget bought, by head, and for how much."""
    choice = detector.selection_
    if choice is None or not choice.trees:
        return None
    return {"of_every_bag": dict(choice.trees), "cost": choice.cost_of_trees}


def _name_costs(detector: Predictor) -> str:
    costs = settings_of(detector).selection.costs
    if costs is not None:
        return costs if isinstance(costs, str) else "declared"
    in_seconds = detector.budget is None or read_budget(detector.budget)[1] == SECONDS
    return "measured:shared" if in_seconds else "complexity:additive"


def _columns(detector: Predictor) -> list[dict[str, Any]]:
    """Return the columns in use, the most stable first, with what each adds to the cost."""
    costs, names, choice = known_costs(detector), detector.columns_, detector.selection_
    order, stability = (names, {}) if choice is None else (choice.columns, choice.frequencies)
    added: dict[str, float] = {}
    if costs is not None:
        priced = [name for name in names if name in costs.own]
        added = {
            name: costs.marginal(name, [other for other in priced if other != name])
            for name in priced
        }
    return [
        {"name": name, "cost": added.get(name), "stability": stability.get(name)} for name in order
    ]


def _plain_curve(curve: Any) -> dict[str, Any] | None:
    stored = store_curve(curve)
    if stored is None:
        return None
    return {name: values for name, values in asdict(stored).items() if values is not None}
