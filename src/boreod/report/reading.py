"""How to read the page, for those who were not there when it was made."""

from boreod.documents import Paragraph, Section
from boreod.report.evidence import Evidence

OUT_OF_BAG = (
    "Out-of-bag means: the model is an ensemble of many small models, each of which learned from "
    "some labelled rows only. A row is judged by those that did not learn from it. This is nearly "
    "as honest as new data, with two exceptions: columns were scaled, and chosen if there is a "
    "budget, with all labelled rows in view; and outliers of a new kind are not in the table."
)
PREDICTED = (
    "The rows of this page are judged by the model's predictions. If the model never saw them, "
    "this is the best test there is. If it was trained on some of them, the numbers flatter it."
)
INTERVALS = (
    "Intervals hold for 95 of 100 samples of rows as these. They tell how much chance is in "
    "a number because rows are few. They do not tell what happens when the world changes, nor "
    "when the labels are wrong."
)
LABELS = (
    "Everything rests on the labels. Outliers that nobody labelled count as inliers or not at all, "
    "so true outliers may be among the false alerts: look at some of them before you blame the "
    "model."
)
PROBABILITIES = (
    "Trust the ranking more than the probability, and the probability more than the reasons. The "
    "ranking needs only that outliers stay different in the same way; the probability also needs "
    "their share to stay the same."
)
AGAIN = (
    "Make this page again when new labels come in. A falling average precision, or a number of "
    "alerts that moves away from the table of thresholds, says that it is time to fit again."
)


def explain_page(evidence: Evidence) -> Section:
    """Return a few honest sentences."""
    first = PREDICTED if evidence.doubt else OUT_OF_BAG
    texts = [first, INTERVALS, LABELS, PROBABILITIES, AGAIN]
    return Section("How to read this page", [Paragraph(text) for text in texts])
