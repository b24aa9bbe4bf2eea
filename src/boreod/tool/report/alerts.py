"""The verdict in three sentences, the effects of thresholds, and their costs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import choose_threshold
from boreod.text import count_of, shorten, show_number, show_probability
from boreod.tool.documents import Bold, Paragraph, Section, Table
from boreod.tool.report.evidence import Evidence
from boreod.validation import is_number

# The share that all intervals of a page cover.
INTERVAL = 0.95
ALERT_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


class Workload:
    """The numbers of rows and alerts in a day, and the costs of missed outliers and of alerts.

    Parameters
    ----------
    rows_per_day
        Number of rows that come in a day. If None, figures are per 1000 rows.
    alerts
        Number of alerts in a day, or in a table like the given one if ``rows_per_day`` is None. If
        None, the threshold of the model is used.
    cost_miss, cost_alert
        Cost of an outlier that nobody looks at, and cost of looking at a row. Give both or neither.
    """

    def __init__(
        self,
        rows_per_day: float | None = None,
        alerts: float | None = None,
        cost_miss: float | None = None,
        cost_alert: float | None = None,
    ) -> None:
        given = {"rows_per_day": rows_per_day, "alerts": alerts, "cost_miss": cost_miss,
                 "cost_alert": cost_alert}  # fmt: skip
        for name, value in given.items():
            if value is not None and (not is_number(value) or not 0 < value < 1e15):
                raise ValueError(f"`{name}` must be a number above 0; got {shorten(value)}.")
        if (cost_miss is None) != (cost_alert is None):
            raise ValueError(
                "`cost_miss` (--cost-miss) and `cost_alert` (--cost-alert) belong together: the "
                "costs of a missed outlier and of looking at a row. Give both or neither."
            )
        if alerts is not None and rows_per_day is not None and alerts > rows_per_day:
            raise ValueError(
                f"`alerts` (--alerts) must be at most the {rows_per_day:,.0f} rows of a day "
                f"(--rows-per-day); got {alerts:,.0f}."
            )
        self.alerts = alerts
        self.has_costs = cost_miss is not None
        self.cost_miss = cost_miss or 0.0
        self.cost_alert = cost_alert or 0.0
        self.is_day = rows_per_day is not None
        self.rows = rows_per_day or 1000.0
        self.per = "a day" if self.is_day else "per 1000 rows"

    def say(self, share: float) -> str:
        """Return a share of the rows as a number of alerts."""
        amount = share * self.rows
        number = f"{amount:.2g}" if amount < 10.0 else f"{amount:,.0f}"
        what = "alert" if number == "1" else "alerts"
        return f"{number} {what} {'a day' if self.is_day else 'in 1,000 rows'}"


class Alerts(NamedTuple):
    """The effect of a threshold: the share of rows above it, and its labelled alerts by class.

    Each false alert stands for ``weight`` rows if the training rows are a sample of a larger table.
    """

    threshold: float
    share: float
    caught: int
    outliers: int
    false: int
    weight: float = 1.0

    @property
    def judged(self) -> float:
        """Number of rows that the judged alerts stand for."""
        return self.caught + self.weight * self.false

    @property
    def right(self) -> float:
        """Share of the judged alerts that are outliers; NaN if no alert can be judged."""
        return self.caught / self.judged if self.judged else np.nan


def count_alerts(evidence: Evidence, threshold: float) -> Alerts:
    """Count the alerts above a threshold."""
    outliers = evidence.outliers
    alert = evidence.scores > threshold
    wrong = alert & ~outliers
    # Rows without a probability have NaN, which is not above the threshold.
    above = evidence.probabilities > threshold
    share = float(evidence.weights[above].sum()) / (evidence.n_known or 1.0)
    weight = float(evidence.weights[evidence.judged][wrong].mean()) if wrong.any() else 1.0
    caught = int((alert & outliers).sum())
    return Alerts(threshold, share, caught, int(outliers.sum()), int(wrong.sum()), weight)


def choose_point(evidence: Evidence, workload: Workload) -> Alerts:
    """Return the effect of the requested number of alerts, or else of the model's threshold."""
    if workload.alerts is None or not np.isfinite(evidence.probabilities).any():
        return count_alerts(evidence, float(evidence.model.threshold_))
    per = workload.rows if workload.is_day else round(evidence.weights.sum())
    if workload.alerts > per:
        raise ValueError(
            f"`alerts` (--alerts) must be at most the {per:,} rows of the table; got "
            f"{workload.alerts:,.0f}."
        )
    number = f"{workload.alerts}/{per}"
    return count_alerts(evidence, _threshold(number, evidence.probabilities, evidence.weights))


def _threshold(number: float | str, scores: NDArray, weights: NDArray) -> float:
    """Return the threshold for a number of alerts, or for a rate such as ``20/1000``."""
    return choose_threshold(f"alerts:{number}", scores, np.zeros(len(scores)), weights)


def give_verdict(evidence: Evidence, workload: Workload) -> list[Paragraph]:
    """Return three sentences for readers who read nothing else, and a paragraph on costs."""
    point = choose_point(evidence, workload)
    if not evidence.can_judge:
        return [Paragraph(_without_labels(evidence, workload, point), leads=True)]
    lead = ""
    if not point.caught + point.false:
        lead = (
            f"At the threshold of {show_probability(point.threshold)} no row with a label is an "
            "alert, so here is what a lower threshold does. "
        )
        point = _first(evidence, point.outliers)
    base = point.outliers / float(evidence.weights[evidence.judged].sum())
    caught = (
        f"With {workload.say(point.share)} you catch {point.caught} of the "
        f"{point.outliers} known outliers, {show_share(point.caught, point.outliers)}."
    )
    words = "At least" if evidence.assumes else "About"
    wrong = "; rows that nobody labelled count as wrong" if evidence.assumes else ""
    right = (
        f"{words} {_right(point)} alerts are right, while rows drawn at random would be "
        f"right in {_of_ten(base)} cases{wrong}."
    )
    text = f"{lead}{caught} {right} {_last_word(evidence, workload, point)}"
    blocks = [Paragraph(text, leads=True)]
    if workload.has_costs:
        blocks.append(Paragraph(_in_money(evidence, workload, point)))
    return blocks


def _without_labels(evidence: Evidence, workload: Workload, chosen: Alerts) -> str:
    why = "No row is labelled" if evidence.ranks_only else "There are no labels of both classes"
    return (
        f"{why}, so nobody knows how many alerts are right. The model raises "
        f"{workload.say(chosen.share)}: the rows that look least like the others. Look at the "
        "first 15 below, label what you find, and fit again: then this page shows what is caught."
    )


def _first(evidence: Evidence, number: int) -> Alerts:
    """Return the effect of the threshold that ``number`` of the judged rows exceed."""
    weights = evidence.weights[evidence.judged]
    return count_alerts(evidence, _threshold(number, evidence.scores, weights))


def count_caught(outliers: NDArray, scores: NDArray, weights: NDArray, number: float) -> int:
    """Return how many outliers are among the ``number`` most suspicious rows."""
    return int((outliers & (scores > _threshold(number, scores, weights))).sum())


def _last_word(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Say that the result may be chance; if it is more than chance, say what more alerts catch."""
    from scipy.stats import hypergeom

    alerts = point.caught + point.false
    by_chance = hypergeom.sf(point.caught - 1, len(evidence.outliers), point.outliers, alerts)
    if point.caught == 0 or by_chance > 1.0 - INTERVAL:
        return (
            "That may be chance: do not rely on this model before there are more labels or "
            "better columns."
        )
    more = _first(evidence, round(2 * point.judged))
    if more.caught <= point.caught:
        return "Twice as many alerts would catch no more."
    return f"{workload.say(more.share)} would catch {more.caught}."


def cost_of(
    evidence: Evidence, workload: Workload, line: Alerts, among: float | None = None
) -> float:
    """Return what alerts and missed outliers cost in a day, or in 1000 rows.

    The share of outliers is the number of known outliers divided by ``among``. If ``among`` is
    None, it is the number of all rows. If some of these rows have no label, the share may be too
    low, and the cost is a lower bound.
    """
    share = line.outliers / max(among or evidence.n_known, 1.0)
    missed = 1.0 - line.caught / line.outliers if line.outliers else 0.0
    return workload.rows * (workload.cost_alert * line.share + workload.cost_miss * share * missed)


def _in_money(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Return what the model saves compared with doing nothing, and which threshold saves most."""
    nothing = cost_of(evidence, workload, point._replace(share=0.0, caught=0))
    here = cost_of(evidence, workload, point)
    best = _cheapest(evidence, workload, point)
    least = cost_of(evidence, workload, best)
    when = "a day" if workload.is_day else "work on 1,000 rows"
    at_least = "at least " if evidence.n_unlabelled else ""
    text = (
        f"In money, with {show_number(workload.cost_miss)} for an outlier that nobody looks at and "
        f"{show_number(workload.cost_alert)} for looking at a row: {when} costs {at_least}"
        f"{show_number(here)} with the model and {at_least}{show_number(nothing)} without it, so "
        f"the model {_saves(nothing - here, evidence.n_unlabelled > 0)}. "
    )
    if evidence.n_unlabelled:
        text += _describe_unlabelled(evidence, workload, point)
    if least < here and best.threshold != point.threshold:
        text += (
            f"The cheapest threshold on these rows is {show_probability(best.threshold)} "
            f"({workload.say(best.share)}), which costs {at_least}{show_number(least)}. It was "
            "picked on these rows, so it may cost a little more on other rows. "
        )
    if least >= nothing:
        text += "No threshold is cheaper than looking at no row. "
    pays = workload.cost_alert / workload.cost_miss
    if pays < 1.0 and not evidence.ranks_only:
        text += (
            "If the probabilities are accurate, an alert pays off if its probability is above "
            f"{show_probability(pays)} (boreod fit --threshold {show_probability(pays)})."
        )
    return text.strip()


def _cheapest(evidence: Evidence, workload: Workload, point: Alerts) -> Alerts:
    """Return the cheapest of up to 200 thresholds and of the given threshold."""
    # To catch a known outlier, the threshold must be just below its score.
    known = evidence.scores[evidence.outliers]
    tried = np.quantile(known, np.linspace(0.0, 1.0, 200), method="inverted_cdf")
    lines = [count_alerts(evidence, float(np.nextafter(score, 0.0))) for score in np.unique(tried)]
    return min([*lines, point], key=lambda line: cost_of(evidence, workload, line))


def _saves(saved: float, is_bound: bool = False) -> str:
    if saved >= 0.0:
        return f"saves {'at least ' if is_bound else ''}{show_number(saved)}"
    return f"loses {'at most ' if is_bound else ''}{show_number(-saved)}"


def _describe_unlabelled(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Say how unlabelled rows affect the costs."""
    text = (
        f"Outliers among the {evidence.n_unlabelled:,} rows without a label are unknown and cost "
        "nothing here, but looking at these rows costs money. "
    )
    if evidence.assumes:
        return text
    among = float(evidence.weights[evidence.judged].sum())
    nothing = cost_of(evidence, workload, point._replace(share=0.0, caught=0), among)
    saved = nothing - cost_of(evidence, workload, point, among)
    return f"{text}If these are outliers as often as rows with a label, the model {_saves(saved)}. "


def tabulate_thresholds(evidence: Evidence, workload: Workload) -> Section:
    """Return a table of thresholds, in which the chosen threshold is marked."""
    chosen = choose_point(evidence, workload)
    numbers = {round(share * evidence.n_known) for share in ALERT_SHARES} - {0}
    thresholds = {_threshold(n, evidence.probabilities, evidence.weights) for n in numbers}
    lines = [
        count_alerts(evidence, threshold)
        for threshold in sorted({*thresholds, chosen.threshold}, reverse=True)
    ]
    header = ["threshold", f"alerts {workload.per}", "outliers caught", "share caught",
              "alerts that are right", "false alerts"]  # fmt: skip
    rows = [
        [
            show_probability(line.threshold) + (" (chosen)" if line == chosen else ""),
            show_number(line.share * workload.rows),
            f"{line.caught} of {line.outliers}",
            show_share(line.caught, line.outliers),
            show_share(line.caught, line.caught + line.false, line.weight),
            f"{line.false:,}",
        ]
        for line in lines
    ]
    caption = f"What thresholds do, by {evidence.kind} probabilities (95 % intervals)"
    # Without labels, alerts can only be counted.
    if not evidence.can_judge:
        header = header[:2]
        rows = [row[:2] for row in rows]
        caption = "What thresholds do"
    elif workload.has_costs:
        header.append(f"cost {workload.per}{', at least' if evidence.n_unlabelled else ''}")
        for row, line in zip(rows, lines, strict=True):
            row.append(show_number(cost_of(evidence, workload, line)))
    place = lines.index(chosen)
    rows[place] = [Bold(cell) for cell in rows[place]]
    text = Paragraph(_describe_alerts(evidence, workload, chosen))
    return Section("Alerts and thresholds", [text, Table(header, rows, caption)])


def _describe_alerts(evidence: Evidence, workload: Workload, chosen: Alerts) -> str:
    where = "1000 rows like these"
    if workload.is_day:
        where = f"a day with {workload.rows:,.0f} rows"
    text = (
        f"The model raises an alert for probabilities above {show_probability(chosen.threshold)}. "
        f"In {where}, this makes {show_number(chosen.share * workload.rows)} alerts"
    )
    if workload.alerts is not None and chosen.threshold != float(evidence.model.threshold_):
        text = (
            f"A threshold of {show_probability(chosen.threshold)} gives "
            f"{workload.say(chosen.share)}, while the model was fitted with a threshold of "
            f"{show_probability(float(evidence.model.threshold_))}"
        )
    if not evidence.can_judge:
        return (
            f"{text}. Labels of both classes would show which alerts are right. Novel rows are "
            "alerts too, but are not counted here."
        )
    inliers = "rows that count as inliers" if evidence.assumes else "labelled inliers"
    n_rows = int(np.isfinite(evidence.probabilities).sum())
    text += (
        f"; {chosen.caught} of {chosen.outliers} labelled outliers are caught, with "
        f"{count_of(chosen.false, 'false alert')} among {inliers}. Alerts are counted over all "
        f"{n_rows:,} rows with a probability, labelled or not. "
    )
    if np.ptp(evidence.weights):
        text += (
            "In these rows, a sample, outliers are more frequent than in the whole table, so each "
            "row is weighted by the number of rows that it stands for. "
        )
    if evidence.assumes:
        text += (
            "Only labels of outliers say which alerts are right: some of the false alerts may be "
            "outliers that nobody labelled. "
        )
    else:
        text += (
            "Right and false alerts are counted over labelled rows. If labelled rows were picked "
            "and not drawn at random, expect another precision in daily work. "
        )
    return text + "Novel rows are alerts too, but are not counted here."


def show_share(hits: int, total: int, weight: float = 1.0) -> str:
    """Return a share in percent with its Wilson interval; misses count ``weight`` times.

    Examples
    --------
    >>> show_share(9, 10), show_share(0, 0), show_share(9, 10, 9.0)
    ('90 % (60 to 98 %)', 'none', '50 % (14 to 86 %)')
    """
    from scipy.stats import binomtest

    if total == 0:
        return "none"
    limits = binomtest(hits, total).proportion_ci(INTERVAL, method="wilson")
    shares = np.array([hits / total, limits.low, limits.high])
    return "{:.0f} % ({:.0f} to {:.0f} %)".format(
        *(100 * shares / (shares + weight * (1 - shares)))
    )


def _of_ten(share: float) -> str:
    """Return a share as a count that people can picture.

    Examples
    --------
    >>> _of_ten(0.6), _of_ten(0.034), _of_ten(0.0004), _of_ten(0.0), _of_ten(0.97)
    ('6 of 10', '3 of 100', '4 of 10,000', '0 of 10', '97 of 100')
    """
    for total in (10, 100, 1000, 10_000, 100_000):
        count = round(share * total)
        if share * total >= 0.95 and (share == 1.0 or count < total):
            return f"{count} of {total:,}"
    return f"{round(share * 10)} of 10"


def _right(point: Alerts) -> str:
    """Return how many alerts are right: exactly if there are few, else as a rounded share."""
    alerts = point.caught + point.false
    if alerts < 10 and point.weight == 1.0:
        return f"{point.caught} of {alerts}"
    return _of_ten(point.right)
