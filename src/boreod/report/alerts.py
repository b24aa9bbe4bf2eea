"""Thresholds: how many alerts, how many outliers caught, how many alerts right."""

from dataclasses import dataclass

import numpy as np

from boreod.documents import Paragraph, Section, Table
from boreod.ensemble.thresholds import choose_threshold
from boreod.report.evidence import Evidence
from boreod.report.numbers import show_number, show_probability, show_share
from boreod.report.quality import cannot_judge

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)  # of rows with an alert


@dataclass(frozen=True)
class Alerts:
    """What a threshold does.

    Attributes
    ----------
    threshold
        Probability above which there is an alert.
    share
        Of all rows that have one.
    caught, missed
        Labelled outliers with and without one.
    false
        Labelled inliers with one.
    """

    threshold: float
    share: float
    caught: int
    missed: int
    false: int


def count_alerts(evidence: Evidence, threshold: float) -> Alerts:
    """Count what a threshold does to the rows."""
    known = evidence.probabilities[np.isfinite(evidence.probabilities)]
    alert, outliers = evidence.scores > threshold, evidence.outliers
    return Alerts(
        threshold,
        float(np.mean(known > threshold)),
        int((alert & outliers).sum()),
        int((~alert & outliers).sum()),
        int((alert & ~outliers).sum()),
    )


def tabulate_thresholds(evidence: Evidence, rows_per_day: float | None) -> Section:
    """Return a table of thresholds, that of the model marked."""
    title = "Alerts and thresholds"
    if not evidence.can_judge:
        return Section(title, cannot_judge(evidence))
    chosen = float(evidence.model.threshold_)
    n_rows = int(np.isfinite(evidence.probabilities).sum())
    numbers = {round(share * n_rows) for share in SHARES} - {0}
    thresholds = {
        choose_threshold(f"alerts:{number}", evidence.probabilities, evidence.codes)
        for number in numbers
    }
    lines = [count_alerts(evidence, t) for t in sorted({*thresholds, chosen}, reverse=True)]
    per_day = rows_per_day is not None
    scale = 1000.0 if rows_per_day is None else rows_per_day
    rate = "alerts a day" if per_day else "alerts per 1000 rows"
    header = ["threshold", rate, "outliers caught", "share caught", "alerts that are right"]
    header.append("false alerts")
    rows, bold = [], set()
    for number, line in enumerate(lines):
        mark = " (chosen)" if line.threshold == chosen else ""
        rows.append([
            f"{show_probability(line.threshold)}{mark}",
            show_number(line.share * scale),
            f"{line.caught} of {line.caught + line.missed}",
            show_share(line.caught, line.caught + line.missed),
            show_share(line.caught, line.caught + line.false),
            f"{line.false:,}",
        ])  # fmt: skip
        bold |= {(number, column) for column in range(len(header)) if mark}
    caption = f"What thresholds do, by {evidence.kind} probabilities (95 % intervals)"
    return Section(
        title,
        [
            Paragraph(_tell(count_alerts(evidence, chosen), scale, per_day, n_rows)),
            Table(header, rows, frozenset(bold), caption),
        ],
    )


def _tell(line: Alerts, scale: float, per_day: bool, n_rows: int) -> str:
    where = f"a day with {scale:,.0f} rows" if per_day else "1000 rows like these"
    return (
        f"The model raises an alert above {show_probability(line.threshold)}. In {where} that is "
        f"{show_number(line.share * scale)} alerts; {line.caught} of {line.caught + line.missed} "
        f"labelled outliers are caught, with {line.false} false alerts among labelled inliers. "
        f"Alerts are counted over all {n_rows:,} rows with a probability, labelled or not; what "
        "is right, over labelled ones. If labelled rows were picked and not drawn at random, "
        "expect another precision in daily work. Novel rows are alerts too, and are not counted "
        "here."
    )
