"""The verdict in three sentences, what thresholds do, and what that costs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import choose_threshold
from boreod.text import count_of, shorten, show_number, show_probability
from boreod.tool.documents import Block, Lead, Paragraph, Section, Table
from boreod.tool.report.evidence import Evidence
from boreod.validation import is_number

INTERVAL = 0.95
ALERT_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)  # of rows with an alert
TRIED = 200  # thresholds, to find the cheapest
LOOK_AT = 15  # rows that one who has no labels should look at first


class Workload:
    """How many rows come in a day, how many alerts are looked at, and what both mistakes cost.

    Parameters
    ----------
    rows_per_day
        None to tell figures per 1000 rows.
    alerts
        A day, or in a table like the given one if rows of a day are unknown; None for those above
        the model's threshold.
    cost_miss, cost_alert
        Of an outlier that nobody looks at, and of looking at a row, in money; both or none.
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
                "`cost_miss` (--cost-miss) and `cost_alert` (--cost-alert) belong together: what "
                "an outlier costs that nobody looks at, and what it costs to look at a row. Give "
                "both, or none."
            )
        if alerts is not None and rows_per_day is not None and alerts > rows_per_day:
            raise ValueError(
                f"`alerts` (--alerts) must be at most the {rows_per_day:,.0f} rows of a day "
                f"(--rows-per-day); got {alerts:,.0f}."
            )
        self.rows = 1000.0 if rows_per_day is None else rows_per_day
        self.is_day, self.alerts = rows_per_day is not None, alerts
        self.cost_miss, self.cost_alert = cost_miss, cost_alert
        self.rate, self.where = "alerts per 1000 rows", "1000 rows like these"
        self.cost = "cost per 1000 rows"
        if rows_per_day is not None:
            self.rate, self.where = "alerts a day", f"a day with {rows_per_day:,.0f} rows"
            self.cost = "cost a day"

    def say(self, share: float) -> str:
        """Return how many alerts a share of the rows is."""
        amount = share * self.rows
        number = f"{amount:.2g}" if amount < 10.0 else f"{amount:,.0f}"
        what = "alert" if number == "1" else "alerts"
        return f"{number} {what} a day" if self.is_day else f"{number} {what} in 1,000 rows"


class Alerts(NamedTuple):
    """What a threshold does: the share of all rows with an alert, and labelled rows by class.

    Every false alert stands for ``weight`` rows of the table that training rows were drawn from.
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
        """Share of the judged alerts that are outliers; NaN if there are none."""
        return self.caught / self.judged if self.judged else np.nan


def count_alerts(evidence: Evidence, threshold: float) -> Alerts:
    """Count what a threshold does to the rows."""
    above = evidence.probabilities > threshold  # NaN is not
    alert, outliers = evidence.scores > threshold, evidence.outliers
    caught, wrong = int((alert & outliers).sum()), alert & ~outliers
    share = float(evidence.weights[above].sum()) / evidence.n_known if evidence.n_known else 0.0
    weight = float(evidence.weights[evidence.judged][wrong].mean()) if wrong.any() else 1.0
    return Alerts(threshold, share, caught, int(outliers.sum()), int(wrong.sum()), weight)


def choose_point(evidence: Evidence, workload: Workload) -> Alerts:
    """Return what the wanted number of alerts, or else the model's threshold, does."""
    if workload.alerts is None or not np.isfinite(evidence.probabilities).any():
        return count_alerts(evidence, float(evidence.model.threshold_))
    per = workload.rows if workload.is_day else round(evidence.weights.sum())
    if workload.alerts > per:
        raise ValueError(
            f"`alerts` (--alerts) must be at most the {per:,} rows of the table; got "
            f"{workload.alerts:,.0f}."
        )
    spelled = f"alerts:{workload.alerts}/{per}"
    return count_alerts(evidence, _threshold(evidence, spelled))


def _threshold(evidence: Evidence, spelled: str) -> float:
    weights = evidence.weights
    return choose_threshold(spelled, evidence.probabilities, evidence.codes, weights)


def give_verdict(evidence: Evidence, workload: Workload) -> list[Block]:
    """Return what one needs to know who reads no further, in three sentences, and in money."""
    chosen = choose_point(evidence, workload)
    if not evidence.can_judge:
        return [Lead(_without_labels(evidence, workload, chosen))]
    lead, point = "", chosen
    if not chosen.caught + chosen.false:
        first = f"At the threshold of {show_probability(chosen.threshold)} no row with a label is "
        lead = first + "an alert, so here is what a lower one does. "
        point = _first(evidence, chosen.outliers)
    base = chosen.outliers / float(evidence.weights[evidence.judged].sum())
    caught = (
        f"With {workload.say(point.share)} you catch {point.caught} of the "
        f"{point.outliers} known outliers, {show_share(point.caught, point.outliers)}."
    )
    words = "At least" if evidence.assumes else "About"
    wrong = "; rows that nobody labelled count as wrong" if evidence.assumes else ""
    right = (
        f"{words} {_right(point)} alerts are right, where rows drawn at random would be "
        f"right in {_of_ten(base)} cases{wrong}."
    )
    blocks: list[Block] = [Lead(f"{lead}{caught} {right} {_last_word(evidence, workload, point)}")]
    if workload.cost_miss is not None:
        blocks.append(Paragraph(_in_money(evidence, workload, point)))
    return blocks


def _without_labels(evidence: Evidence, workload: Workload, chosen: Alerts) -> str:
    why = "No row is labelled" if evidence.ranks_only else "There are no labels of both classes"
    return (
        f"{why}, so nobody knows how many alerts are right. The model raises "
        f"{workload.say(chosen.share)}: the rows that look least like the others. Look at the "
        f"first {LOOK_AT} below, label what you find, and fit again: then this page tells what is "
        "caught."
    )


def _first(evidence: Evidence, number: int) -> Alerts:
    """Return what a threshold does that so many of the judged rows are above."""
    scores, weights = evidence.scores, evidence.weights[evidence.judged]
    return count_alerts(
        evidence, choose_threshold(f"alerts:{number}", scores, np.zeros(len(scores)), weights)
    )


def count_caught(outliers: NDArray, scores: NDArray, weights: NDArray, number: float) -> int:
    """Return how many outliers are among so many alerts."""
    some = choose_threshold(f"alerts:{number}", scores, np.zeros(len(scores)), weights)
    return int((outliers & (scores > some)).sum())


def _last_word(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Return whether it may be chance, or else what more alerts would do."""
    from scipy.stats import hypergeom

    alerts, judged = point.caught + point.false, len(evidence.outliers)
    by_chance = hypergeom.sf(point.caught - 1, judged, point.outliers, alerts)
    if point.caught == 0 or by_chance > 1.0 - INTERVAL:
        return (
            "That may be chance: do not rely on this model before there are more labels or "
            "better columns."
        )
    more = _first(evidence, round(2 * point.judged))
    if more.caught <= point.caught:
        return "Twice as many alerts would catch no more."
    return f"{workload.say(more.share).capitalize()} would catch {more.caught}."


def cost_of(
    evidence: Evidence, workload: Workload, line: Alerts, among: float | None = None
) -> float:
    """Return what alerts and missed outliers cost in a day, or in 1000 rows.

    Known outliers are all that there are ``among`` so many rows; None for all rows, which is too
    little if some have no label: the cost is at least this.
    """
    assert workload.cost_miss is not None
    assert workload.cost_alert is not None
    share = line.outliers / max(among or evidence.n_known, 1.0)
    missed = 1.0 - line.caught / line.outliers if line.outliers else 0.0
    each = workload.cost_alert * line.share + workload.cost_miss * share * missed
    return workload.rows * each


def _in_money(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Return what the model saves against doing nothing, and where it would save most."""
    assert workload.cost_miss is not None
    assert workload.cost_alert is not None
    nothing = cost_of(evidence, workload, point._replace(share=0.0, caught=0))
    here = cost_of(evidence, workload, point)
    known = evidence.scores[evidence.outliers]  # each is caught by a threshold just below it
    tried = np.quantile(known, np.linspace(0.0, 1.0, TRIED), method="inverted_cdf")
    lines = [count_alerts(evidence, float(np.nextafter(of, 0.0))) for of in np.unique(tried)]
    best = min([*lines, point], key=lambda line: cost_of(evidence, workload, line))
    least = cost_of(evidence, workload, best)
    when = "a day" if workload.is_day else "work on 1,000 rows"
    least_of, most_of = ("at least ", "at most ") if evidence.n_unlabelled else ("", "")
    text = (
        f"In money, with {show_number(workload.cost_miss)} for an outlier that nobody looks at and "
        f"{show_number(workload.cost_alert)} for looking at a row: {when} costs {least_of}"
        f"{show_number(here)} with the model and {least_of}{show_number(nothing)} without it, so "
        f"it {_saves(nothing - here, least_of, most_of)}. "
    )
    if evidence.n_unlabelled:
        text += _tell_unlabelled(evidence, workload, point)
    if least < here and best.threshold != point.threshold:
        text += (
            f"The cheapest threshold on these rows is {show_probability(best.threshold)} "
            f"({workload.say(best.share)}), which costs {least_of}{show_number(least)}; it was "
            "picked on the same rows, so expect a little less of it. "
        )
    if least >= nothing:
        text += "No threshold is cheaper than to look at nothing. "
    pays = workload.cost_alert / workload.cost_miss
    if pays < 1.0 and not evidence.ranks_only:
        text += (
            f"Where probabilities come true, an alert pays above {show_probability(pays)} "
            f"(boreod fit --threshold {show_probability(pays)})."
        )
    return text.strip()


def _saves(saved: float, least: str = "", most: str = "") -> str:
    if saved >= 0.0:
        return f"saves {least}{show_number(saved)}"
    return f"loses {most}{show_number(-saved)}"


def _tell_unlabelled(evidence: Evidence, workload: Workload, point: Alerts) -> str:
    """Say what rows without a label do to the costs."""
    text = (
        f"Outliers among the {evidence.n_unlabelled:,} rows without a label are unknown and cost "
        "nothing here, while looking at these rows does. "
    )
    if evidence.assumes:
        return text
    among = float(evidence.weights[evidence.judged].sum())
    both = [
        cost_of(evidence, workload, line, among)
        for line in (point._replace(share=0.0, caught=0), point)
    ]
    return (
        f"{text}If they are outliers as often as rows with a label, the model "
        f"{_saves(both[0] - both[1])}. "
    )


def tabulate_thresholds(evidence: Evidence, workload: Workload) -> Section:
    """Return a table of thresholds, that of the model marked."""
    title = "Alerts and thresholds"
    chosen = choose_point(evidence, workload)
    thresholds = {
        _threshold(evidence, f"alerts:{number}")
        for number in {round(share * evidence.n_known) for share in ALERT_SHARES} - {0}
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
            show_share(line.caught, line.outliers),
            show_share(line.caught, line.caught + line.false, line.weight),
            f"{line.false:,}",
        ]
        for line in lines
    ]
    caption = f"What thresholds do, by {evidence.kind} probabilities (95 % intervals)"
    if not evidence.can_judge:  # alerts can be counted all the same
        header, rows = header[:2], [row[:2] for row in rows]
        caption = "What thresholds do"
    elif workload.cost_miss is not None:
        header.append(f"{workload.cost}{', at least' if evidence.n_unlabelled else ''}")
        for row, line in zip(rows, lines, strict=True):
            row.append(show_number(cost_of(evidence, workload, line)))
    bold = frozenset((lines.index(chosen), column) for column in range(len(header)))
    text = Paragraph(_tell_alerts(evidence, workload, chosen))
    return Section(title, [text, Table(header, rows, bold, caption)])


def _tell_alerts(evidence: Evidence, workload: Workload, chosen: Alerts) -> str:
    n_rows = int(np.isfinite(evidence.probabilities).sum())
    text = (
        f"The model raises an alert above {show_probability(chosen.threshold)}. In "
        f"{workload.where} that is {show_number(chosen.share * workload.rows)} alerts"
    )
    if workload.alerts is not None and chosen.threshold != float(evidence.model.threshold_):
        text = (
            f"{workload.say(chosen.share)[0].upper()}{workload.say(chosen.share)[1:]} are those "
            f"above {show_probability(chosen.threshold)}; the model itself was fitted with a "
            f"threshold of {show_probability(float(evidence.model.threshold_))}"
        )
    if not evidence.can_judge:
        return (
            f"{text}. Labels of both classes would tell which of them are right. Novel rows are "
            "alerts too, and are not counted here."
        )
    inliers = "rows that count as inliers" if evidence.assumes else "labelled inliers"
    text += (
        f"; {chosen.caught} of {chosen.outliers} labelled outliers are caught, with "
        f"{count_of(chosen.false, 'false alert')} among {inliers}. Alerts are counted over all "
        f"{n_rows:,} rows with a probability, labelled or not; "
    )
    if np.ptp(evidence.weights):
        text += (
            "these are a sample in which outliers are more frequent than in the whole table, so "
            "each counts for the rows that it stands for; "
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


def show_share(hits: int, total: int, weight: float = 1.0) -> str:
    """Return a share in percent, with its Wilson interval; what is no hit counts ``weight`` times.

    Examples
    --------
    >>> show_share(9, 10), show_share(0, 0), show_share(9, 10, 9.0)
    ('90 % (60 to 98 %)', 'none', '50 % (14 to 86 %)')
    """
    from scipy.stats import binomtest

    if total == 0:
        return "none"
    limits = binomtest(hits, total).proportion_ci(INTERVAL, method="wilson")
    shares = (hits / total, limits.low, limits.high)
    own, low, high = (100 * of / (of + weight * (1.0 - of)) for of in shares)
    return f"{own:.0f} % ({low:.0f} to {high:.0f} %)"


def _of_ten(share: float) -> str:
    """Return a share as a count that people can picture.

    Examples
    --------
    >>> _of_ten(0.6), _of_ten(0.034), _of_ten(0.0004), _of_ten(0.0), _of_ten(0.97)
    ('6 of 10', '3 of 100', '4 of 10,000', '0 of 10', '97 of 100')
    """
    sizes = (10, 100, 1000, 10_000, 100_000)
    enough = (of for of in sizes if share * of >= 0.95 and (share == 1.0 or round(share * of) < of))
    of = next(enough, 10)
    return f"{round(share * of)} of {of:,}"


def _right(point: Alerts) -> str:
    """Return how many alerts are right: all of few, or of as many as people can picture."""
    alerts = point.caught + point.false
    if alerts < 10 and point.weight == 1.0:
        return f"{point.caught} of {alerts}"
    return _of_ten(point.right)
