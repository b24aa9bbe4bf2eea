"""Fit a model to a file, and describe a model in words and as plain data."""

import warnings
from dataclasses import asdict
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.heads import ClassifierHead, TreeHead
from boreod.ensemble.parameters import AUTO
from boreod.persistence.manifest import FORMAT
from boreod.persistence.model import package_versions, store_curve
from boreod.predictor import Predictor, known_costs, price_of_rows, settings_of
from boreod.selection.budgets import read_budget
from boreod.selection.costs import SECONDS
from boreod.text import count_of, show_percent
from boreod.validation import OUTLIER, UNLABELLED, check_choice

if TYPE_CHECKING:
    from boreod.detector import Detector


def fit_table(
    source: Any,
    *,
    method: str = "detector",
    name: str | None = None,
    curve: bool = False,
    **options: Any,
) -> "Detector":
    """Return a detector that is fitted to a file or a frame.

    Parameters
    ----------
    source
        A file name, or a frame.
    method
        ``"detector"`` for :class:`boreod.Detector`, ``"bore"`` for :class:`boreod.BORE`.
    name
        The name of the table that the model stores. If None, it is the name of the file.
    curve
        Whether to trace the quality over budgets. If there is a ``budget`` and no head has trees,
        the curve is always traced.
    **options
        Parameters of :meth:`boreod.Detector.fit`, such as ``label`` and ``ids``, and of the
        detector, such as ``budget`` and ``threshold``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> random = np.random.default_rng(0)
    >>> fraud = np.arange(100) < 10
    >>> table = pa.table({"amount": random.normal(3 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> fit_table(table, label="fraud", method="bore", representation=few, random_state=0).columns_
    ['amount', 'knn_5']
    """
    from boreod.bore import BORE
    from boreod.detector import Detector

    methods = {"detector": Detector, "bore": BORE}
    check_choice("method", method, tuple(methods))
    of_fit = {key: options.pop(key) for key in signature(Detector.fit).parameters if key in options}
    detector = methods[method](**options).fit(source, **of_fit)
    # Prices are measured when they are first read. They are then saved with the model.
    costs = detector.costs_ if curve or detector.budget is not None else None
    # If heads have trees, a curve takes many fits.
    if costs is not None and (curve or not costs.trees):
        _trace_curve(detector, curve)
    if name:
        from boreod.tables.training import name_source

        detector.record_.source = name_source(name)
    # The saved model shows no progress unless the user asks for it.
    return detector.set_params(verbose=False)


def _trace_curve(detector: "Detector", is_asked: bool) -> None:
    outliers, _ = detector.oob_.judged()
    if 0 < outliers.sum() < len(outliers):
        detector.record_.curve = detector.budget_curve()
    elif is_asked:
        warnings.warn(
            "There is no budget curve: it needs labelled outliers and inliers with out-of-bag "
            "scores.",
            UserWarning,
            stacklevel=3,
        )


def describe(model: Predictor) -> dict[str, Any]:
    """Return facts about a model as plain data, ready for JSON.

    ``versions`` are the versions of the packages that wrote the model file, or the installed
    versions if the model was not loaded from a file. ``prices`` is None if the fit did not need
    prices of columns.
    """
    preparation = model.preparation_
    stored = model.stored_
    costs = known_costs(model)
    choice = model.selection_
    curve = model.record_.curve
    # For each head with trees, the number of trees per bag that the budget bought.
    trees = None
    if choice is not None and choice.trees:
        trees = {"of_every_bag": dict(choice.trees), "cost": choice.cost_of_trees}
    novelty = None
    if model.fitted_.columns.widest is not None:
        # These are distances to the 10th reference row.
        seen = model.fitted_.seen
        novelty = {"usual_distance": seen.usual, "novel_beyond": seen.limit}
    return {
        "format": FORMAT if stored is None else stored.format,
        "versions": package_versions() if stored is None else dict(stored.versions),
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
        "price": price_rows(model),
        "trees": trees,
        "costs": _name_costs(model),
        "prices": None if costs is None else asdict(costs),
        "threshold": float(model.threshold_),
        "threshold_rule": model.threshold,
        "training_rows_above": int(np.sum(model.oob_proba_ > model.threshold_)),
        "expected": expect_alerts(model),
        "novelty": novelty,
        "budget_curve": _plain_curve(curve),
        "cheapest_budget": None if curve is None else curve.cheapest(),
    }


def expect_alerts(model: Predictor) -> dict[str, float | None]:
    """Return how many of 10,000 rows like the training rows are above the threshold, out of bag.

    ``outliers`` of them are outliers by their labels; it is None if no such row has a label.
    """
    oob = model.oob_
    weights = oob.shares.weigh(oob.labels)
    above = oob.probabilities > model.threshold_
    alerts = 10_000 * float(weights[above].sum() / weights.sum())
    judged = above & (oob.codes >= 0)
    right = None
    if judged.any():
        right = alerts * float(np.average(oob.codes[judged] == OUTLIER, weights=weights[judged]))
    return {"alerts": alerts, "outliers": right}


def price_rows(detector: Predictor) -> dict[str, float] | None:
    """Return seconds per row, in large batches and for a row alone; None if they are unknown."""
    many = price_of_rows(detector)
    one = price_of_rows(detector, batch_size=1)
    if many is None or one is None:
        return None
    return {"in_batches": many, "alone": one}


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
    if curve is None:
        return None
    return {name: values for name, values in store_curve(curve).items() if values is not None}


class HeadSummary(NamedTuple):
    """A head of a detector: its kind, its weight, and its number of trees in all bags together."""

    kind: str
    weight: float
    trees: int


def name_method(model: Predictor) -> str:
    """Return "BORE" if a detector has the parameters of the method in the paper, else "Detector".

    Examples
    --------
    >>> from boreod.bore import BORE
    >>> name_method(BORE(budget="20us"))
    'BORE'
    """
    settings = settings_of(model)
    is_printed = (
        settings.reference.outliers
        and settings.reference.input_scaling == "minmax"
        and settings.bagging.inliers == "labelled"
        and settings.bagging.ratio is None
        and settings.bagging.min_inliers == 1
        and list(settings.heads.kinds) == ["logistic"]
        and model.scaling == "minmax"
        and model.estimator is None
        and model.calibration is None
    )
    return "BORE" if is_printed or type(model).__name__ == "BORE" else "Detector"


def list_heads(model: Predictor) -> list[HeadSummary]:
    """Return the heads of a fitted detector, the heaviest first."""
    found = []
    for member in model.fitted_.members:
        is_own = not isinstance(member.head, ClassifierHead)
        kind = member.kind if is_own else type(model.estimator).__name__
        trees = member.head.trees.n_trees if isinstance(member.head, TreeHead) else 0
        found.append(HeadSummary(kind, float(member.weight), trees))
    return sorted(found, key=lambda head: -head.weight)


def ranks_only(oob: OutOfBag) -> bool:
    """Return whether a detector was fitted without any label."""
    return bool((oob.labels == UNLABELLED).all())


def _describe_search(model: Predictor) -> list[str]:
    """Return a sentence about a search that is limited to a sample of a large table."""
    sizes = [len(view.known.rows) for view in model.fitted_.columns.views]
    n_rows = len(model.oob_.labels)
    if settings_of(model).reference.size != AUTO or not 0 < max(sizes, default=0) < n_rows / 2:
        return []
    return [
        f"Neighbors are searched among {max(sizes):,} of the {n_rows:,} training rows, which takes "
        f"about 1/{n_rows // max(sizes)} of the time (--reference-size all searches all)."
    ]


def list_assumptions(model: Predictor) -> list[str]:
    """Return the assumptions of a fitted detector, one sentence each."""
    if ranks_only(model.oob_):
        return [
            "No row is labelled: rows are ranked by a consensus of scores.",
            "A probability is the share of training rows that look less like an outlier, not the "
            "chance that a row is an outlier.",
            "Thresholds are numbers of alerts (alerts:20), as only labels show which are right.",
            *_describe_search(model),
        ]
    known = model.oob_.summarize()
    sentences = _describe_search(model)
    if known.assumed:
        sentences += [
            f"Few rows are labelled inliers ({known.inliers}), so "
            f"{count_of(known.unlabelled, 'unlabelled row')} count as inliers, too.",
            'A probability means "would be labelled an outlier".',
            "Precision is a lower bound: outliers that nobody labelled count as false alerts.",
        ]
    if known.left_out:
        verbs = ("looks", "was") if known.left_out == 1 else ("look", "were")
        sentences.append(
            f"{count_of(known.left_out, 'suspicious row')} without the label of outliers "
            f"{verbs[0]} like known outliers and {verbs[1]} left out of the bags."
        )
    if model.prior is not None:
        sentences.append(
            f"Probabilities are those of tables with {show_percent(model.prior)} outliers (prior)."
        )
    return sentences
