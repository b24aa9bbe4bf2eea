"""What a fitted detector is and what it takes for granted, in words: for screens and pages."""

from typing import NamedTuple

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.heads import ClassifierHead
from boreod.ensemble.tree_heads import TreeHead
from boreod.predictor import Predictor, settings_of
from boreod.text import count_of, show_percent
from boreod.validation import UNLABELLED


# Parameters that make the method of the paper, among the defaults of BORE.
class HeadSummary(NamedTuple):
    """A head of a detector: its kind, its weight, and the number of trees of all its bags."""

    kind: str
    weight: float
    trees: int


def name_method(model: Predictor) -> str:
    """Return BORE for detectors with the parameters that make the printed method, else Detector.

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
    """Whether a detector was fitted without any label."""
    return bool((oob.labels == UNLABELLED).all())


def list_assumptions(model: Predictor) -> list[str]:
    """Return what a fitted detector takes for granted, one sentence each."""
    if ranks_only(model.oob_):
        return [
            "No row is labelled: rows are ranked by a consensus of scores.",
            "A probability is the share of training rows that look less like an outlier, not the "
            "chance of being one.",
            "Thresholds are numbers of alerts (alerts:20), as only labels tell what is right.",
        ]
    known = model.oob_.summarize()
    sentences = []
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
            f"{verbs[0]} like the known ones and {verbs[1]} left out of the bags."
        )
    if model.prior is not None:
        sentences.append(
            f"Probabilities are those of tables with {show_percent(model.prior)} outliers (prior)."
        )
    return sentences
