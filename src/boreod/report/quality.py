"""How well the probabilities rank rows, and whether they come true."""

from pathlib import Path

import numpy as np

from boreod.documents import Block, Figure, Paragraph, Row, Section
from boreod.plots import (
    CalibrationDisplay,
    Curve,
    PrecisionRecallDisplay,
    RocDisplay,
    new_panels,
    save_picture,
)
from boreod.report.evidence import Evidence
from boreod.report.numbers import INTERVAL, show_number
from boreod.text import count_of

FEW = 30  # outliers, below which intervals are rough themselves
ROWS_OF_A_BIN = 20
NOTHING = (
    "This needs labelled rows of both classes with a probability, and there are none: "
    "{outliers} and {inliers} have one."
)


def cannot_judge(evidence: Evidence) -> list[Block]:
    """Say why there is nothing to show."""
    outliers = int(evidence.outliers.sum())
    inliers = len(evidence.outliers) - outliers
    counts = {
        "outliers": count_of(outliers, "outlier"),
        "inliers": count_of(inliers, "inlier"),
    }
    return [Paragraph(NOTHING.format(**counts))]


def rank_rows(evidence: Evidence, folder: Path, seed: int, curves: list[Curve]) -> Section:
    """Return both curves with their numbers, and add them to ``curves``."""
    title = "How well it ranks"
    if not evidence.can_judge:
        return Section(title, cannot_judge(evidence))
    figures = []
    for display, name, caption in (
        (RocDisplay, "roc", "ROC curve: how many outliers are found for how many false alarms."),
        (
            PrecisionRecallDisplay,
            "precision_recall",
            "Precision-recall curve: how many alarms are right, the more outliers are found.",
        ),
    ):
        figure, panels = new_panels(1, 1, (4.3, 4.2))
        drawn = display.from_predictions(
            evidence.outliers,
            evidence.scores,
            name="this model",
            interval=INTERVAL,
            random_state=seed,
            ax=panels[0],
        )
        curves.append(drawn.curves["this model"])
        shaded = f"{caption} Shaded: {100 * INTERVAL:.0f} % bootstrap interval."
        figures.append(Figure(save_picture(figure, folder / name), shaded))
    return Section(title, [*_tell_ranks(evidence, curves), Row(figures)])


def _tell_ranks(evidence: Evidence, curves: list[Curve]) -> list[Block]:
    n_outliers, n_rows = int(evidence.outliers.sum()), len(evidence.outliers)
    roc, precision = curves
    blocks: list[Block] = [
        Paragraph(
            f"On {n_rows:,} labelled rows ({count_of(n_outliers, 'outlier')}), judged by "
            f"{evidence.kind} probabilities, the AUC is {_with_interval(roc)}: the chance that a "
            "random outlier stands above a random inlier. The average precision is "
            f"{_with_interval(precision)}; a ranking by chance would have "
            f"{show_number(n_outliers / n_rows)}."
        )
    ]
    if n_outliers < FEW:
        blocks.append(
            Paragraph(
                f"With only {count_of(n_outliers, 'outlier')} these numbers are rough, and the "
                "intervals too narrow rather than too wide. More labels would tell more."
            )
        )
    return blocks


def _with_interval(curve: Curve) -> str:
    low, high = curve.interval or (np.nan, np.nan)
    return f"{curve.quality:.3f} ({100 * INTERVAL:.0f} % interval {low:.3f} to {high:.3f})"


def check_probabilities(evidence: Evidence, folder: Path) -> Section:
    """Return whether probabilities come true."""
    title = "Do the probabilities come true?"
    if not evidence.can_judge:
        return Section(title, cannot_judge(evidence))
    scores, outliers = evidence.scores, evidence.outliers
    figure, panels = new_panels(1, 1, (4.8, 5.3))
    CalibrationDisplay.from_predictions(
        outliers,
        scores,
        n_bins=int(np.clip(len(scores) // ROWS_OF_A_BIN, 3, 10)),
        interval=INTERVAL,
        ax=panels[0],
    )
    caption = (
        "Rows in groups of similar probability. On the line, the probability is the share of "
        "outliers; above it, it is too low. Whiskers: 95 % Wilson intervals; hollow: no outlier."
    )
    return Section(
        title,
        [
            Paragraph(_tell_sums(float(scores.sum()), int(outliers.sum()), len(scores))),
            Figure(save_picture(figure, folder / "calibration"), caption),
        ],
    )


def _tell_sums(expected: float, found: int, n_rows: int) -> str:
    return (
        f"The {count_of(n_rows, 'judged row')} have probabilities that add up to "
        f"{show_number(expected)} outliers; {found:,} are labelled so. Probabilities are those of "
        "tables with the same share of outliers as the labelled rows here: where outliers are "
        "rarer, they are too high, and the ranking stays."
    )
