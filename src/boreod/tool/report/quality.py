"""Sections on ranking quality, a previous model, alerts over time, and calibration."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.text import count_of, show_number, show_percent
from boreod.tool.documents import Block, Figure, Paragraph, Row, Section, Table
from boreod.tool.drawing.charts import (
    Curve,
    draw_calibration,
    draw_precision,
    draw_roc,
    trace_curves,
)
from boreod.tool.drawing.style import COLORS, INK, SMALL, TEXT, short_name, tidy
from boreod.tool.report.alerts import INTERVAL, Workload, choose_point, count_caught
from boreod.tool.report.evidence import Evidence, draw_figure
from boreod.tool.scoring.judging import compare_scores
from boreod.validation import OUTLIER

# With fewer outliers than this, even the intervals are rough.
FEW_OUTLIERS = 30
# Resamples of fewer outliers are too similar to give an interval.
MIN_OUTLIERS = 10
PERIODS = (("h", "hour"), ("D", "day"), ("W", "week"), ("M", "month"), ("Y", "year"))
MAX_PERIODS = 600


def draw_curves(
    evidence: Evidence, folder: Path, seed: int, previous: Evidence | None = None
) -> tuple[list[Figure], list[Curve]]:
    """Return the ROC and precision-recall curves of a ranking, as figures and as numbers.

    Both lists are empty if there are no judged rows of both classes.
    """
    if not evidence.can_judge:
        return [], []
    judged = evidence.judged
    rankings = {evidence.name: evidence.probabilities}
    if previous is not None:
        judged = _judged_by_both(evidence, previous)
        rankings[previous.name] = previous.probabilities
    outliers = evidence.codes[judged] == OUTLIER
    weights = evidence.weights[judged]
    interval = INTERVAL if evidence.outliers.sum() >= MIN_OUTLIERS else None
    roc: dict[str, Curve] = {}
    steps: dict[str, Curve] = {}
    for name, scores in rankings.items():
        roc[name], steps[name] = trace_curves(outliers, scores[judged], interval, seed, weights)
    shaded = f" Shaded: {100 * INTERVAL:.0f} % bootstrap interval." if interval else ""
    base_rate = float(np.average(outliers, weights=weights))
    figures = [
        draw_figure(
            folder / "roc",
            (4.3, 4.2),
            "ROC curve: how many outliers are found for how many false alarms." + shaded,
            lambda ax: draw_roc(ax, roc, evidence.name),
        ),
        draw_figure(
            folder / "precision_recall",
            (4.3, 4.2),
            "Precision-recall curve: how many alarms are right as more outliers are found."
            + shaded,
            lambda ax: draw_precision(ax, steps, base_rate, evidence.name),
        ),
    ]
    return figures, [roc[evidence.name], steps[evidence.name]]


def _judged_by_both(evidence: Evidence, previous: Evidence) -> NDArray:
    """Return which rows have a label and a probability of both models."""
    return evidence.judged & np.isfinite(previous.probabilities)


def show_interval(curve: Curve) -> str:
    """Return the interval of a quality in words."""
    if curve.interval is None:
        return "too few outliers for an interval"
    return "{:.0f} % interval {:.3f} to {:.3f}".format(100 * INTERVAL, *curve.interval)


def describe_ranking(evidence: Evidence, figures: list[Figure], curves: list[Curve]) -> Section:
    """Return a section with both curves, the AUC and the average precision."""
    title = "How well it ranks"
    if not evidence.can_judge:
        return _nothing_to_judge(title, evidence)
    n_outliers = int(evidence.outliers.sum())
    n_rows = len(evidence.outliers)
    judged = "rows, unlabelled rows as inliers" if evidence.assumes else "labelled rows"
    area, precision = (f"{curve.quality:.3f} ({show_interval(curve)})" for curve in curves)
    blocks: list[Block] = [
        Paragraph(
            f"On {n_rows:,} {judged} ({count_of(n_outliers, 'outlier')}), judged by "
            f"{evidence.kind} probabilities, the AUC is {area}. The AUC is the chance that a "
            "random outlier is ranked above a random inlier. The average precision is "
            f"{precision}. The average precision of a random ranking would be "
            f"{show_number(n_outliers / float(evidence.weights[evidence.judged].sum()))}."
        )
    ]
    if n_outliers < FEW_OUTLIERS:
        blocks.append(
            Paragraph(
                f"With only {count_of(n_outliers, 'outlier')}, these numbers are rough, and the "
                "intervals may be too narrow. More labels would help."
            )
        )
    return Section(title, [*blocks, Row(figures)])


def compare_previous(evidence: Evidence, previous: Evidence, workload: Workload) -> Section:
    """Return a comparison of this model with the previous model, with paired intervals."""
    title = "Beside the previous model"
    both = _judged_by_both(evidence, previous)
    outliers = evidence.codes[both] == OUTLIER
    weights = evidence.weights[both]
    scores = [of.probabilities[both] for of in (evidence, previous)]
    names = (evidence.name, "the previous model")
    found = compare_scores(outliers, scores[0], scores[1], names, weights=weights)
    if found is None:
        return _nothing_to_judge(title, evidence)
    rows = [
        [what, f"{of.first:.3f}", f"{of.second:.3f}",
         f"{of.first - of.second:+.3f} ({of.low:+.3f} to {of.high:+.3f})"]
        for what, of in found.measures.items()
    ]  # fmt: skip
    number = max(1, round(choose_point(evidence, workload).share * weights.sum()))
    caught = [count_caught(outliers, of, weights, number) for of in scores]
    rows.append([f"outliers caught by {number:,} alerts", *map(str, caught),
                 f"{caught[0] - caught[1]:+d}"])  # fmt: skip
    text = (
        f"On the {len(outliers):,} rows that can judge both models "
        f"({count_of(int(outliers.sum()), 'outlier')}), {found.verdict}. Each model is judged out "
        "of bag on rows that it has learned from, and by its predictions on other rows. The "
        "intervals are for the difference, with both models on the same resamples of rows."
    )
    rows = [[cell.replace("-", "\N{MINUS SIGN}") for cell in row] for row in rows]
    header = ["", evidence.name, previous.name, "difference (95 % interval)"]
    return Section(title, [Paragraph(text), Table(header, rows, caption="Both models")])


def _nothing_to_judge(title: str, evidence: Evidence) -> Section:
    outliers = int(evidence.outliers.sum())
    text = (
        "This section needs outliers and inliers with a label and a probability. In this table, "
        f"{count_of(outliers, 'outlier')} and "
        f"{count_of(len(evidence.outliers) - outliers, 'inlier')} have both."
    )
    return Section(title, [Paragraph(text)])


def check_probabilities(evidence: Evidence, folder: Path) -> Section:
    """Return a section on how well the probabilities are calibrated."""
    title = "Do the probabilities come true?"
    if evidence.ranks_only:
        text = (
            "The model was fitted without labels. Its probability of a row is the share of "
            "training rows that look less like an outlier, and is not meant to come true."
        )
        return Section(title, [Paragraph(text)])
    if not evidence.can_judge:
        return _nothing_to_judge(title, evidence)
    scores = evidence.scores
    outliers = evidence.outliers
    n_bins = int(np.clip(len(scores) // 20, 3, 10))
    figure = draw_figure(
        folder / "calibration",
        (4.8, 5.3),
        "Points are groups of rows with similar probabilities, which are right on the line and too "
        "low above it. Whiskers are 95 % Wilson intervals. Hollow points have no outliers.",
        lambda ax: draw_calibration(ax, outliers, scores, n_bins),
    )
    text = (
        f"The probabilities of {count_of(len(scores), 'judged row')} add up to "
        f"{show_number(float(scores.sum()))} outliers; {outliers.sum():,} are labelled outliers. "
    )
    if evidence.model.prior is None:
        text += (
            "Probabilities hold for tables in which outliers are as frequent as among the judged "
            "rows. If outliers are rarer, probabilities are too high, but the ranking is the same."
        )
    else:
        text += (
            f"Probabilities hold for tables with {show_percent(evidence.model.prior)} outliers "
            "(prior). They need not come true if the share is another one."
        )
    return Section(title, [Paragraph(text), figure])


def draw_over_time(evidence: Evidence, workload: Workload, folder: Path) -> Section | None:
    """Return a section on alerts and known outliers by hour, day, week, month or year.

    The result is None if there are no dates, only one period, or more than ``MAX_PERIODS``.
    """
    times = evidence.times
    if times is None:
        return None
    known = ~np.isnat(times.values) & np.isfinite(evidence.probabilities)
    if not known.any():
        return None
    unit, name = _choose_period(times.values[known])
    periods = times.values[known].astype(f"datetime64[{unit}]").astype(np.int64)
    first = int(periods.min())
    places = periods - first
    length = int(places.max()) + 1
    if not 2 <= length <= MAX_PERIODS:
        return None
    alert = evidence.probabilities[known] > choose_point(evidence, workload).threshold
    outliers = evidence.codes[known] == OUTLIER
    counts = {
        "rows": np.bincount(places, minlength=length),
        "alerts": np.bincount(places[alert], minlength=length),
        "caught": np.bincount(places[alert & outliers], minlength=length),
        "missed": np.bincount(places[~alert & outliers], minlength=length),
    }
    starts = np.arange(first, first + length).astype(f"datetime64[{unit}]")
    figure = draw_figure(
        folder / "over_time",
        (7.2, 2.9),
        f"Alerts by {name} of {times.column}. Alerts are rows above the threshold. Known outliers "
        "are caught if they are above the threshold, and are otherwise missed.",
        lambda ax: _draw_counts(ax, starts, counts, times.column),
    )
    text = _describe_counts(counts, name, starts, bool(outliers.any()))
    usual = float(np.median(counts["rows"][counts["rows"] > 0]))
    if workload.is_day and unit == "D" and not 0.5 < usual / workload.rows < 2.0:
        text += (
            f" The median day has {show_number(usual)} rows here, but the numbers above are for a "
            f"day with {show_number(workload.rows)} rows (--rows-per-day)."
        )
    left = int((~known).sum())
    if left:
        text += f" The figure leaves out {count_of(left, 'row')} without a date or a probability."
    return Section("Over time", [Paragraph(text), figure])


def _choose_period(values: NDArray) -> tuple[str, str]:
    """Return the shortest period that gives at most 60 bars; if there is none, return a year."""
    for unit, name in PERIODS[:-1]:
        ends = np.array([values.min(), values.max()]).astype(f"datetime64[{unit}]")
        if int(np.diff(ends.astype(np.int64))[0]) < 60:
            return unit, name
    return PERIODS[-1]


def _describe_counts(counts: dict[str, NDArray], name: str, starts: NDArray, labelled: bool) -> str:
    """Say how evenly alerts are spread over time, and how many outliers each half caught."""
    from scipy.stats import poisson

    busy = counts["rows"] > 0
    most = int(np.argmax(np.where(busy, counts["alerts"], -1)))
    if not counts["alerts"].any():
        return f"In these {count_of(len(starts), name)}, no row is above the threshold."
    text = (
        f"In {count_of(len(starts), name)} from {starts[0]} on, the model raises "
        f"{count_of(int(counts['alerts'].sum()), 'alert')}. The median is "
        f"{show_number(float(np.median(counts['alerts'][busy])))} per {name}. The {name} of "
        f"{starts[most]} has the most ({counts['alerts'][most]:,})."
    )
    half = len(starts) // 2
    if labelled:
        caught = counts["caught"]
        all_known = caught + counts["missed"]
        text += (
            f" In the first half of the time, {caught[:half].sum()} of {all_known[:half].sum()} "
            f"known outliers are caught. In the second half, {caught[half:].sum()} of "
            f"{all_known[half:].sum()} are caught."
        )
    expected = counts["rows"] * counts["alerts"].sum() / counts["rows"].sum()
    # The smallest p-value of the number of alerts in a period, corrected for the number of periods.
    if poisson.sf(counts["alerts"] - 1, expected).min() * len(starts) < 0.01:
        text += f" At least one {name} has more alerts than chance explains: look for the cause."
    return text


def _draw_counts(ax: Any, starts: NDArray, counts: dict[str, NDArray], column: str) -> None:
    where = np.arange(len(starts))
    ax.bar(where, counts["alerts"], width=0.85, color=COLORS[5], label="alerts")
    ax.bar(where, counts["caught"], width=0.45, color=COLORS[6], label="known outliers, caught")
    if counts["missed"].any():
        look = {"width": 0.45, "facecolor": "none", "edgecolor": COLORS[1], "linewidth": 1.2}
        ax.bar(where, -counts["missed"], label="known outliers, missed", **look)
    ax.axhline(0.0, color=INK, linewidth=0.8)
    step = -(-len(starts) // 8)
    ax.set_xticks(where[::step], [str(start) for start in starts[::step]])
    ax.set_xlabel(short_name(column))
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    ax.yaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
    ax.tick_params(axis="x", labelsize=SMALL)
    key = {"fontsize": TEXT, "labelcolor": INK, "frameon": False, "handlelength": 1.2}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.0, **key)
