"""What is to be known of a detector of tables, as plain data: for screens and machines."""

from dataclasses import asdict
from typing import Any

import numpy as np

from boreod.detector import OutlierDetector
from boreod.detector.words import list_heads, name_method, tell_assumptions
from boreod.persistence.manifest import FORMAT
from boreod.persistence.saving import package_versions
from boreod.selection.budgets import read_budget
from boreod.selection.costs import SECONDS
from boreod.table_model.files import curve_to_dict
from boreod.table_model.model import Detector


def describe(model: Detector) -> dict[str, Any]:
    """Return what is to be known of a model as plain data, ready for JSON.

    Prices of columns are None if nobody asked for them in the fit.
    """
    preparation, oob = model.preparation_, model.oob_proba_
    stored, costs, seen = model.stored_, model.known_costs, model.fitted_.seen
    novelty = None
    if model.fitted_.searches:  # distances to the 10th reference row
        novelty = {"usual_distance": seen.usual, "novel_beyond": seen.limit}
    return {
        "format": FORMAT if stored is None else stored.format,
        "versions": package_versions() if stored is None else stored.versions,
        "method": name_method(model),
        "heads": [head._asdict() for head in list_heads(model)],
        "assumptions": tell_assumptions(model),
        "source": model.source_,
        "label": preparation.label_,
        "ids": list(model.ids_),
        "training": asdict(model.oob_.summarize()),
        "preparation": [row._asdict() for row in preparation.summary_],
        "notes": list(preparation.notes_),
        "columns": _columns(model),
        "unit": "" if costs is None else costs.unit,
        "cost": model.cost_,
        "budget": model.budget,
        "trees": _trees(model),
        "costs": _name_costs(model),
        "prices": None if costs is None else asdict(costs),
        "threshold": float(model.threshold_),
        "threshold_rule": model.threshold,
        "training_rows_above": int(np.sum(oob[np.isfinite(oob)] > model.threshold_)),
        "novelty": novelty,
        "budget_curve": curve_to_dict(model.curve_),
        "cheapest_budget": None if model.curve_ is None else model.curve_.cheapest(),
    }


def _trees(detector: OutlierDetector) -> dict[str, Any] | None:
    """Return how many trees of every bag a budget bought, by head, and for how much."""
    choice = detector.selection_
    if choice is None or not choice.trees:
        return None
    return {"of_every_bag": dict(choice.trees), "cost": choice.cost_of_trees}


def _name_costs(detector: OutlierDetector) -> str:
    if detector.costs is not None:
        return detector.costs if isinstance(detector.costs, str) else "declared"
    in_seconds = detector.budget is None or read_budget(detector.budget)[1] == SECONDS
    return "measured:shared" if in_seconds else "complexity:additive"


def _columns(detector: OutlierDetector) -> list[dict[str, Any]]:
    """Return the columns in use, the most stable first, with what each adds to the cost."""
    costs, names, choice = detector.known_costs, detector.columns_, detector.selection_
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
