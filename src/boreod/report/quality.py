"""How well the probabilities rank rows, whether they come true, and what thresholds do."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from boreod.documents import Block, Figure, Paragraph, Row, Section, Table
from boreod.ensemble.calibration import choose_threshold
from boreod.plots import (
    CalibrationDisplay,
    Curve,
    PrecisionRecallDisplay,
    RocDisplay,
    new_panels,
    save_picture,
)
from boreod.report.evidence import Evidence
from boreod.text import count_of, show_number, show_percent, show_probability

INTERVAL = 0.95
FEW_OUTLIERS = 30  # below which intervals are rough themselves
ROWS_OF_A_BIN = 20
ALERT_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)  # of rows with an alert
CURVES = (
    (RocDisplay, "roc", "ROC curve: how many outliers are found for how many false alarms."),
    (
        PrecisionRecallDisplay,
        "precision_recall",
        "Precision-recall curve: how many alarms are right, the more outliers are found.",
    ),
)


def draw_curves(evidence: Evidence, folder: Path, seed: int) -> tuple[list[Figure], list[Curve]]:
    """Return both curves of a ranking, drawn and as numbers; nothing where none can be judged."""
    figures, curves = list[Figure](), list[Curve]()
    for display, name, caption in CURVES if evidence.can_judge else ():
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
    return figures, curves


def tell_ranking(evidence: Evidence, figures: list[Figure], curves: list[Curve]) -> Section:
    """Return both curves with their numbers."""
    title = "How well it ranks"
    if not evidence.can_judge:
        return _nothing_to_judge(title, evidence)
    n_outliers, n_rows = int(evidence.outliers.sum()), len(evidence.outliers)
    judged = "rows, unlabelled ones as inliers" if evidence.assumes else "labelled rows"
    area, precision = (
        f"{curve.quality:.3f} ({100 * INTERVAL:.0f} % interval {low:.3f} to {high:.3f})"
        for curve in curves
        for low, high in [curve.interval or (np.nan, np.nan)]
    )
    blocks: list[Block] = [
        Paragraph(
            f"On {n_rows:,} {judged} ({count_of(n_outliers, 'outlier')}), judged by "
            f"{evidence.kind} probabilities, the AUC is {area}: the chance that a "
            "random outlier stands above a random inlier. The average precision is "
            f"{precision}; a ranking by chance would have "
            f"{show_number(n_outliers / n_rows)}."
        )
    ]
    if n_outliers < FEW_OUTLIERS:
        blocks.append(
            Paragraph(
                f"With only {count_of(n_outliers, 'outlier')} these numbers are rough, and the "
                "intervals too narrow rather than too wide. More labels would tell more."
            )
        )
    return Section(title, [*blocks, Row(figures)])


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


class Workload:
    """How many rows alerts are told for: those of a day, or 1000 if that number is None."""

    def __init__(self, rows_per_day: float | None) -> None:
        self.rows = 1000.0 if rows_per_day is None else rows_per_day
        self.rate, self.where = "alerts per 1000 rows", "1000 rows like these"
        if rows_per_day is not None:
            self.rate, self.where = "alerts a day", f"a day with {rows_per_day:,.0f} rows"


class Alerts(NamedTuple):
    """What a threshold does: the share of all rows with an alert, and labelled rows by class."""

    threshold: float
    share: float
    caught: int
    outliers: int
    false: int


def count_alerts(evidence: Evidence, threshold: float) -> Alerts:
    """Count what a threshold does to the rows."""
    known = evidence.probabilities[np.isfinite(evidence.probabilities)]
    alert, outliers = evidence.scores > threshold, evidence.outliers
    caught, false = int((alert & outliers).sum()), int((alert & ~outliers).sum())
    share = float(np.mean(known > threshold)) if len(known) else 0.0
    return Alerts(threshold, share, caught, int(outliers.sum()), false)


def tabulate_thresholds(evidence: Evidence, workload: Workload) -> Section:
    """Return a table of thresholds, that of the model marked."""
    title = "Alerts and thresholds"
    chosen = count_alerts(evidence, float(evidence.model.threshold_))
    n_rows = int(np.isfinite(evidence.probabilities).sum())
    thresholds = {
        choose_threshold(f"alerts:{number}", evidence.probabilities, evidence.codes)
        for number in {round(share * n_rows) for share in ALERT_SHARES} - {0}
    }
    lines = [
        count_alerts(evidence, threshold)
        for threshold in sorted({*thresholds, chosen.threshold}, reverse=True)
    ]
    header = ["threshold", workload.rate, "outliers caught", "share caught",
              "alerts that are right", "false alerts"]  # fmt: skip
    rows = [
        [
            show_probability(line.threshold) + (" (chosen)" if line == chosen else ""),
            show_number(line.share * workload.rows),
            f"{line.caught} of {line.outliers}",
            _show_share(line.caught, line.outliers),
            _show_share(line.caught, line.caught + line.false),
            f"{line.false:,}",
        ]
        for line in lines
    ]
    caption = f"What thresholds do, by {evidence.kind} probabilities (95 % intervals)"
    if not evidence.can_judge:  # alerts can be counted all the same
        header, rows = header[:2], [row[:2] for row in rows]
        caption = "What thresholds do"
    bold = frozenset((lines.index(chosen), column) for column in range(len(header)))
    text = Paragraph(_tell_alerts(evidence, workload, chosen))
    return Section(title, [text, Table(header, rows, bold, caption)])


def _tell_alerts(evidence: Evidence, workload: Workload, chosen: Alerts) -> str:
    n_rows = int(np.isfinite(evidence.probabilities).sum())
    text = (
        f"The model raises an alert above {show_probability(chosen.threshold)}. In "
        f"{workload.where} that is {show_number(chosen.share * workload.rows)} alerts"
    )
    if not evidence.can_judge:
        return (
            f"{text}. Labels of both classes would tell which of them are right. Novel rows are "
            "alerts too, and are not counted here."
        )
    inliers = "rows that count as inliers" if evidence.assumes else "labelled inliers"
    text += (
        f"; {chosen.caught} of {chosen.outliers} labelled outliers are caught, with {chosen.false} "
        f"false alerts among {inliers}. Alerts are counted over all {n_rows:,} rows with a "
        "probability, labelled or not; "
    )
    if evidence.assumes:
        text += (
            "what is right, by labels of outliers only: some of the false alerts may be outliers "
            "that nobody labelled. "
        )
    else:
        text += (
            "what is right, over labelled ones. If labelled rows were picked and not drawn at "
            "random, expect another precision in daily work. "
        )
    return text + "Novel rows are alerts too, and are not counted here."


def _show_share(hits: int, total: int) -> str:
    """Return a share in percent, with its Wilson interval.

    Examples
    --------
    >>> _show_share(9, 10), _show_share(0, 0)
    ('90 % (60 to 98 %)', 'none')
    """
    from scipy.stats import binomtest

    if total == 0:
        return "none"
    limits = binomtest(hits, total).proportion_ci(INTERVAL, method="wilson")
    return f"{100 * hits / total:.0f} % ({100 * limits.low:.0f} to {100 * limits.high:.0f} %)"
