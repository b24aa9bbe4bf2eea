"""What a fitted detector is and what it takes for granted, in words: for screens and pages."""

from typing import NamedTuple

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.heads import ClassifierHead
from boreod.ensemble.tree_heads import TreeHead
from boreod.metrics import Compared
from boreod.predictor import Predictor
from boreod.text import count_of, show_percent
from boreod.validation import UNLABELLED

PRINTED = {  # what makes the method of the paper, among the defaults of BORE
    "reference_outliers": True,
    "input_scaling": "minmax",
    "scaling": "minmax",
    "inliers": "labelled",
    "ratio": None,
    "min_inliers": 1,
    "estimator": None,
    "aggregation": "mean",
    "calibration": None,
}


UNFAIR = (
    "{} file was written by an older version and does not tell which rows the model has learned "
    "from: if these are among them, it looks better than it is. So this is no verdict; fit again."
)


class HeadSummary(NamedTuple):
    """A head of a detector: what it is, its say, and the trees of all its bags."""

    kind: str
    weight: float
    trees: int


def name_method(model: Predictor) -> str:
    """Return BORE for detectors with the parameters that make the printed method, else Detector.

    Examples
    --------
    >>> from boreod.bore import BORE, NumericDetector
    >>> name_method(NumericDetector(**BORE(budget="20us").get_params(deep=False)))
    'BORE'
    """
    heads = [model.heads] if isinstance(model.heads, str) else list(model.heads)
    same = all(getattr(model, name) == value for name, value in PRINTED.items())
    is_printed = model.method_name == "BORE" or (same and heads == ["logistic"])
    return "BORE" if is_printed else "Detector"


def list_heads(model: Predictor) -> list[HeadSummary]:
    """Return the heads of a fitted detector, the heaviest first."""
    found = [
        HeadSummary(
            type(model.estimator).__name__
            if isinstance(member.head, ClassifierHead)
            else member.kind,
            float(member.weight),
            member.head.trees.n_trees if isinstance(member.head, TreeHead) else 0,
        )
        for member in model.fitted_.members
    ]
    return sorted(found, key=lambda head: -head.weight)


def ranks_only(oob: OutOfBag) -> bool:
    """Whether a detector was fitted without any label."""
    return bool((oob.labels == UNLABELLED).all())


def tell_better(found: dict[str, Compared], first: str, second: str) -> str:
    """Return which of two models ranks better, by more than chance; no sentence yet.

    Examples
    --------
    >>> worse = Compared(0.5, 0.7, -0.3, -0.1)
    >>> tell_better({"AUC": worse, "average precision": worse}, "the new model", "the old model")
    'the old model is better by average precision, by more than chance'
    """
    precision, area = found["average precision"], found["AUC"]
    if precision.low > 0.0 or precision.high < 0.0:
        better = first if precision.low > 0.0 else second
        return f"{better} is better by average precision, by more than chance"
    told = "the models cannot be told apart by average precision"
    if area.low > 0.0 or area.high < 0.0:
        told += f", and by AUC {first if area.low > 0.0 else second} is better"
    return told


def tell_assumptions(model: Predictor) -> list[str]:
    """Return what a fitted detector takes for granted, one sentence each."""
    known, told = model.oob_.summarize(), []
    if ranks_only(model.oob_):
        return [
            "No row is labelled: rows are ranked by a consensus of scores.",
            "A probability is the share of training rows that look less like an outlier, not the "
            "chance of being one.",
            "Thresholds are numbers of alerts (alerts:20), as only labels tell what is right.",
        ]
    if known.assumed:
        told += [
            f"Few rows are labelled inliers ({known.inliers}), so "
            f"{count_of(known.unlabelled, 'unlabelled row')} count as inliers, too.",
            'A probability means "would be labelled an outlier".',
            "Precision is a lower bound: outliers that nobody labelled count as false alerts.",
        ]
    if known.left_out:
        told.append(
            f"{count_of(known.left_out, 'suspicious row')} without the label of outliers "
            f"{'looks' if known.left_out == 1 else 'look'} like the known ones and "
            f"{'was' if known.left_out == 1 else 'were'} left out of the bags."
        )
    if model.prior is not None:
        told.append(
            f"Probabilities are those of tables with {show_percent(model.prior)} outliers (prior)."
        )
    return told
