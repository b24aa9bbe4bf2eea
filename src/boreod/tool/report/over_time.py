"""Alerts and known outliers over time, where the table has a date."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.text import count_of, show_number
from boreod.tool.documents import Figure, Paragraph, Section
from boreod.tool.drawing import new_panels, save_picture
from boreod.tool.drawing.style import COLORS, INK, SMALL, TEXT, tidy
from boreod.tool.report.alerts import Workload, choose_point
from boreod.tool.report.evidence import Evidence
from boreod.validation import OUTLIER

MOST_BARS = 60
PERIODS = (("h", "hour"), ("D", "day"), ("W", "week"), ("M", "month"), ("Y", "year"))
UNEVEN = 0.01  # chance of the highest bar, in all bars together
FEW, MANY = 2, 600  # bars that are a picture


class Times(NamedTuple):
    """When rows happened, as datetime64 with NaT where unknown, and what their column is called."""

    column: str
    values: NDArray


def draw_over_time(
    evidence: Evidence, times: Times, workload: Workload, folder: Path
) -> Section | None:
    """Return alerts and known outliers by hour, day, week, month or year; None for one period."""
    known = ~np.isnat(times.values) & np.isfinite(evidence.probabilities)
    if not known.any():
        return None
    unit, name = _choose_period(times.values[known])
    periods = times.values[known].astype(f"datetime64[{unit}]").astype(np.int64)
    first = int(periods.min())
    places = periods - first
    length = int(places.max()) + 1
    if not FEW <= length <= MANY:
        return None
    point = choose_point(evidence, workload)
    alert = evidence.probabilities[known] > point.threshold
    outliers = evidence.codes[known] == OUTLIER
    counts = {
        "rows": np.bincount(places, minlength=length),
        "alerts": np.bincount(places[alert], minlength=length),
        "caught": np.bincount(places[alert & outliers], minlength=length),
        "missed": np.bincount(places[~alert & outliers], minlength=length),
    }
    starts = np.arange(first, first + length).astype(f"datetime64[{unit}]")
    picture = _draw(starts, counts, times.column, folder / "over_time")
    caption = (
        f"Rows above the threshold by {name} of {times.column}, and known outliers: those that the "
        "threshold catches and those that it misses."
    )
    text = _tell(counts, name, starts, bool(outliers.any()))
    usual = float(np.median(counts["rows"][counts["rows"] > 0]))
    if workload.is_day and unit == "D" and not 0.5 < usual / workload.rows < 2.0:
        text += (
            f" There are {show_number(usual)} rows in a day here, while a day of "
            f"{show_number(workload.rows)} rows is told of above (--rows-per-day)."
        )
    left = int((~known).sum())
    if left:
        text += f" {count_of(left, 'row')} without a date or a probability are not shown."
    return Section("Over time", [Paragraph(text), Figure(picture, caption)])


def _choose_period(values: NDArray) -> tuple[str, str]:
    """Return the shortest period that gives a picture few enough bars."""
    for unit, name in PERIODS:
        ends = np.array([values.min(), values.max()]).astype(f"datetime64[{unit}]")
        if int(np.diff(ends.astype(np.int64))[0]) < MOST_BARS:
            return unit, name
    return PERIODS[-1]


def _tell(counts: dict[str, NDArray], name: str, starts: NDArray, labelled: bool) -> str:
    """Say how even alerts are, and whether outliers are caught later as earlier."""
    from scipy.stats import poisson

    busy = counts["rows"] > 0
    most = int(np.argmax(np.where(busy, counts["alerts"], -1)))
    if not counts["alerts"].any():
        return f"No row of the {count_of(len(starts), name)} is above the threshold."
    text = (
        f"{count_of(int(counts['alerts'].sum()), 'alert')} in {count_of(len(starts), name)} from "
        f"{starts[0]} on: {show_number(float(np.median(counts['alerts'][busy])))} in the median, "
        f"most in that of {starts[most]} ({counts['alerts'][most]:,})."
    )
    half = len(starts) // 2
    if labelled:
        caught, all_known = counts["caught"], counts["caught"] + counts["missed"]
        text += (
            f" Of the known outliers {caught[:half].sum()} of {all_known[:half].sum()} are caught "
            f"in the first half of the time and {caught[half:].sum()} of {all_known[half:].sum()} "
            "in the second."
        )
    expected = counts["rows"] * counts["alerts"].sum() / counts["rows"].sum()
    if poisson.sf(counts["alerts"] - 1, expected).min() * len(starts) < UNEVEN:
        text += " They are more uneven than chance makes them: look at what happened then."
    return text


def _draw(starts: NDArray, counts: dict[str, NDArray], column: str, path: Path) -> Path:
    figure, panels = new_panels(1, 1, (7.2, 2.9))
    ax: Any = panels[0]
    where = np.arange(len(starts))
    ax.bar(where, counts["alerts"], width=0.85, color=COLORS[5], label="alerts")
    ax.bar(where, counts["caught"], width=0.45, color=COLORS[6], label="known outliers, caught")
    if counts["missed"].any():
        look = {"width": 0.45, "facecolor": "none", "edgecolor": COLORS[1], "linewidth": 1.2}
        ax.bar(where, -counts["missed"], label="known outliers, missed", **look)
    ax.axhline(0.0, color=INK, linewidth=0.8)
    step = -(-len(starts) // 8)
    ax.set_xticks(where[::step], [str(start) for start in starts[::step]])
    ax.set_xlabel(column)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    ax.yaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
    ax.tick_params(axis="x", labelsize=SMALL)
    key = {"fontsize": TEXT, "labelcolor": INK, "frameon": False, "handlelength": 1.2}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.0, **key)
    return save_picture(figure, path)
