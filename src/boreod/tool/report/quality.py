"""How well the probabilities rank rows, also beside another model, and whether they come true."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import compare_rankings
from boreod.text import count_of, show_number, show_percent
from boreod.tool.documents import Block, Figure, Paragraph, Row, Section, Table
from boreod.tool.drawing import (
    CalibrationDisplay,
    Curve,
    PrecisionRecallDisplay,
    RocDisplay,
    new_panels,
    save_picture,
)
from boreod.tool.report.alerts import Workload, choose_point, count_caught
from boreod.tool.report.evidence import Evidence
from boreod.tool.words import UNFAIR, tell_better
from boreod.validation import OUTLIER

INTERVAL = 0.95
THIS = "this model"
FEW_OUTLIERS = 30  # below which intervals are rough themselves
ENOUGH_OUTLIERS = 10  # resamples of fewer are too much alike for any interval
ROWS_OF_A_BIN = 20
CURVES = (
    (RocDisplay, "roc", "ROC curve: how many outliers are found for how many false alarms."),
    (
        PrecisionRecallDisplay,
        "precision_recall",
        "Precision-recall curve: how many alarms are right, the more outliers are found.",
    ),
)


class Previous(NamedTuple):
    """Another model beside that of the page, judged on the same rows."""

    name: str
    evidence: Evidence

    def both(self, evidence: Evidence) -> NDArray:
        """Tell which rows can judge both models."""
        return evidence.judged & np.isfinite(self.evidence.probabilities)


def draw_curves(
    evidence: Evidence, folder: Path, seed: int, previous: Previous | None = None
) -> tuple[list[Figure], list[Curve]]:
    """Return both curves of a ranking, drawn and as numbers; nothing where none can be judged."""
    figures, curves = list[Figure](), list[Curve]()
    judged, rankings = evidence.judged, {THIS: evidence.scores}
    if previous is not None and evidence.can_judge:
        judged = previous.both(evidence)
        rankings = {THIS: evidence.probabilities[judged],
                    previous.name: previous.evidence.probabilities[judged]}  # fmt: skip
    for display, name, caption in CURVES if evidence.can_judge else ():
        figure, panels = new_panels(1, 1, (4.3, 4.2))
        drawn = display.from_predictions(
            evidence.codes[judged] == OUTLIER,
            rankings,
            highlight=THIS,
            interval=INTERVAL if evidence.outliers.sum() >= ENOUGH_OUTLIERS else None,
            random_state=seed,
            weights=evidence.weights[judged],
            ax=panels[0],
        )
        curves.append(drawn.curves[THIS])
        shaded = f" Shaded: {100 * INTERVAL:.0f} % bootstrap interval." if drawn.bands_ else ""
        figures.append(Figure(save_picture(figure, folder / name), caption + shaded))
    return figures, curves


def show_interval(curve: Curve) -> str:
    """Return how sure a quality is."""
    if curve.interval is None:
        return "too few outliers for an interval"
    return "{:.0f} % interval {:.3f} to {:.3f}".format(100 * INTERVAL, *curve.interval)


def tell_ranking(evidence: Evidence, figures: list[Figure], curves: list[Curve]) -> Section:
    """Return both curves with their numbers."""
    title = "How well it ranks"
    if not evidence.can_judge:
        return _nothing_to_judge(title, evidence)
    n_outliers, n_rows = int(evidence.outliers.sum()), len(evidence.outliers)
    judged = "rows, unlabelled ones as inliers" if evidence.assumes else "labelled rows"
    area, precision = (f"{curve.quality:.3f} ({show_interval(curve)})" for curve in curves)
    blocks: list[Block] = [
        Paragraph(
            f"On {n_rows:,} {judged} ({count_of(n_outliers, 'outlier')}), judged by "
            f"{evidence.kind} probabilities, the AUC is {area}: the chance that a "
            "random outlier stands above a random inlier. The average precision is "
            f"{precision}; a ranking by chance would have "
            f"{show_number(n_outliers / float(evidence.weights[evidence.judged].sum()))}."
        )
    ]
    if n_outliers < FEW_OUTLIERS:
        text = (
            f"With only {count_of(n_outliers, 'outlier')} these numbers are rough, and intervals "
            "too narrow rather than too wide. More labels would tell more."
        )
        blocks.append(Paragraph(text))
    return Section(title, [*blocks, Row(figures)])


def compare_previous(evidence: Evidence, previous: Previous, workload: Workload) -> Section:
    """Return this model and the previous one beside each other, with paired intervals."""
    title, both = "Beside the previous model", previous.both(evidence)
    outliers = evidence.codes[both] == OUTLIER
    if not 0 < outliers.sum() < len(outliers):
        return _nothing_to_judge(title, evidence)
    first, second = evidence.probabilities[both], previous.evidence.probabilities[both]
    weights = evidence.weights[both]
    found = compare_rankings(outliers, first, second, INTERVAL, weights=weights)
    rows = [
        [what, f"{of.first:.3f}", f"{of.second:.3f}",
         f"{of.first - of.second:+.3f} ({of.low:+.3f} to {of.high:+.3f})"]
        for what, of in found.items()
    ]  # fmt: skip
    point = choose_point(evidence, workload)
    number = max(1, round(point.share * weights.sum()))
    caught = [count_caught(outliers, scores, weights, number) for scores in (first, second)]
    rows.append([f"outliers caught by {number:,} alerts", *map(str, caught),
                 f"{caught[0] - caught[1]:+d}"])  # fmt: skip
    told = tell_better(found, "this model", "the previous model")
    text = (
        f"On the {len(outliers):,} rows that judge both ({count_of(int(outliers.sum()), 'outlier')}"
        f"), {told}. Each model is judged out of bag on rows that it has learned from, and by its "
        "predictions on others. Intervals are those of the difference: both models are judged on "
        "the same resamples of rows."
    )
    if not (evidence.is_fair and previous.evidence.is_fair):
        who = "The previous model's" if evidence.is_fair else "This model's"
        text = UNFAIR.format(who)
    rows = [[cell.replace("-", "\N{MINUS SIGN}") for cell in row] for row in rows]
    header = ["", "this model", previous.name, "difference (95 % interval)"]
    return Section(title, [Paragraph(text), Table(header, rows, caption="Both models")])


def _nothing_to_judge(title: str, evidence: Evidence) -> Section:
    outliers = int(evidence.outliers.sum())
    text = (
        "This needs labelled rows of both classes with a probability, and there are none: "
        f"{count_of(outliers, 'outlier')} and "
        f"{count_of(len(evidence.outliers) - outliers, 'inlier')} have one."
    )
    return Section(title, [Paragraph(text)])


def check_probabilities(evidence: Evidence, folder: Path) -> Section:
    """Return whether probabilities come true."""
    title = "Do the probabilities come true?"
    if evidence.ranks_only:
        text = (
            "The model was fitted without labels. Its probabilities are shares of training rows "
            "that look less like an outlier, and not meant to come true."
        )
        return Section(title, [Paragraph(text)])
    if not evidence.can_judge:
        return _nothing_to_judge(title, evidence)
    scores, outliers = evidence.scores, evidence.outliers
    figure, panels = new_panels(1, 1, (4.8, 5.3))
    n_bins = int(np.clip(len(scores) // ROWS_OF_A_BIN, 3, 10))
    CalibrationDisplay.from_predictions(outliers, scores, n_bins=n_bins, ax=panels[0])
    caption = (
        "Rows in groups of similar probability. On the line, the probability is the share of "
        "outliers; above it, it is too low. Whiskers: 95 % Wilson intervals; hollow: no outlier."
    )
    text = (
        f"The {count_of(len(scores), 'judged row')} have probabilities that add up to "
        f"{show_number(float(scores.sum()))} outliers; {outliers.sum():,} are labelled so. "
    )
    if evidence.model.prior is None:
        text += (
            "Probabilities are those of tables with the same share of outliers as the judged rows "
            "here: where outliers are rarer, they are too high, and the ranking stays."
        )
    else:
        text += (
            f"Probabilities are those of tables with {show_percent(evidence.model.prior)} "
            "outliers (prior), and need not come true where the share is another one."
        )
    picture = Figure(save_picture(figure, folder / "calibration"), caption)
    return Section(title, [Paragraph(text), picture])
