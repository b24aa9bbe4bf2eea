"""What is to be known of a model, as plain data: for people and for machines."""

from dataclasses import asdict
from typing import Any

import numpy as np

from boreod.selection import SECONDS, read_budget
from boreod.table_model.curve import curve_to_dict
from boreod.table_model.model import TableModel


def describe(model: TableModel) -> dict[str, Any]:
    """Return the facts about a model that was loaded from a file, ready for JSON.

    Parameters
    ----------
    model
        What ``TableModel.load`` returned.
    """
    detector, preparation = model.detector, model.preparation
    stored: Any = detector.stored_
    oob = detector.oob_proba_
    return {
        "format": stored.format,
        "versions": stored.versions,
        "source": model.source,
        "label": model.label,
        "ids": list(model.ids),
        "training": asdict(stored.training),
        "preparation": [row._asdict() for row in preparation.summary_],
        "notes": list(preparation.notes_),
        "columns": _columns(detector),
        "unit": "" if detector.costs_ is None else detector.costs_.unit,
        "cost": getattr(detector, "cost_", None),
        "budget": detector.budget,
        "costs": _name_costs(detector),
        "prices": None if detector.costs_ is None else asdict(detector.costs_),
        "threshold": float(detector.threshold_),
        "threshold_rule": detector.threshold,
        "training_rows_above": int(np.sum(oob[np.isfinite(oob)] > detector.threshold_)),
        "novelty": _novelty(detector),
        "budget_curve": None if model.curve is None else curve_to_dict(model.curve),
        "cheapest_budget": None if model.curve is None else model.curve.cheapest(),
    }


def _name_costs(detector: Any) -> str:
    """Return how the costs are spelled that were used."""
    if detector.costs is None:
        return (
            "measured:shared"
            if detector.budget is None or read_budget(detector.budget)[1] == SECONDS
            else "complexity:additive"
        )
    return detector.costs if isinstance(detector.costs, str) else "declared"


def _novelty(detector: Any) -> dict[str, float] | None:
    """Return the usual distance to the 10th reference row, and that of novel rows."""
    if not detector.fitted_.searches:
        return None
    seen = detector.fitted_.seen
    return {"usual_distance": seen.usual, "novel_beyond": seen.limit}


def _columns(detector: Any) -> list[dict[str, Any]]:
    """Return the columns in use, the most stable first, with what each adds to the cost."""
    costs, names = detector.costs_, detector.columns_
    priced = [] if costs is None else [name for name in names if name in costs.own]
    choice = getattr(detector, "selection_", None)
    order = names if choice is None else choice.columns
    stability = {} if choice is None else choice.frequencies
    return [
        {
            "name": name,
            "cost": costs.marginal(name, [other for other in priced if other != name])
            if name in priced
            else None,
            "stability": stability.get(name),
        }
        for name in order
    ]
