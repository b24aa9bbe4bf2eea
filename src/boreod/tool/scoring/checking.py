"""Check whether a later table is like the training table.

While a table is scored batch by batch, a *tally* counts missing values, unknown levels, values
outside the training range, and alerts. The memory of a tally does not grow with the table, and the
tallies of several parts can be added. The final tally is compared with the profile of the training
rows. A difference is a finding if it exceeds a limit and is larger than chance explains.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.profile import TrainingProfile
from boreod.predictor import Predictor
from boreod.tables.arrow import column_of, kind_of, option, pc
from boreod.tables.cells import as_text
from boreod.tables.date_forms import is_filled
from boreod.tables.number_formats import NumberFormat, parse
from boreod.tables.preparing.dates import DateStep
from boreod.tables.preparing.steps import CategoryStep, LevelStep, NumberStep, find_levels
from boreod.text import find_renames, listed, shorten, show_number, show_percent
from boreod.tool.reasons import outputs_of
from boreod.tool.scoring.judging import is_more

MAX_SAMPLE_ROWS = 5000
# The largest number of values in the sample, over all rows and columns.
MAX_SAMPLE_NUMBERS = 2_000_000
MAX_EXAMPLES = 3
# The kinds of findings, the most important first.
KINDS = (
    "column", "unit", "missing", "unseen", "range", "shift", "share", "novel", "alerts",
    "not scored", "training rows", "new columns", "order",
)  # fmt: skip
# A change of unit multiplies all of these quantiles by about the same factor.
UNIT_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Limits:
    """How far a table may differ from the training table. All limits but ``alerts`` are shares.

    Attributes
    ----------
    missing
        Share of rows without a value in a column, above the share in training.
    unseen
        Share of rows with an unknown level in a column, above the share expected from training.
    outside
        Share of rows with a value outside the training range of a column.
    shift
        Distance between the distributions of a column in both tables. For numbers, it is the
        largest difference, over all values, between the shares of rows up to this value. For a
        level, it is the difference between the shares of rows that have the level.
    alerts
        Factor by which alerts may be more frequent, or less frequent, than among training rows.
    novel
        Share of novel rows, above their share in training.
    """

    missing: float = 0.05
    unseen: float = 0.01
    outside: float = 0.02
    shift: float = 0.25
    alerts: float = 3.0
    novel: float = 0.01


class Finding(NamedTuple):
    """A difference between tables: its kind, its column if there is one, and its description.

    A finding that does not affect scores is not an alarm.
    """

    kind: str
    column: str | None
    text: str
    is_alarm: bool = True


@dataclass
class Tally:
    """Counts over the rows of a table that were scored so far."""

    rows: int = 0
    # The number of rows that the model has learned from, which are judged out of bag.
    known: int = 0
    # The number of judged rows. Training rows that every bag holds cannot be judged.
    judged: int = 0
    alerts: int = 0
    # The number of rows, novel or not, whose probability is above the threshold that applies
    # without novelty.
    above: int = 0
    novel: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    # For every prepared column, the sum, and the number of rows outside the training range.
    sums: Any = 0.0
    outside: Any = 0
    # The rows with the lowest keys are a random sample. The sample is None before the first row.
    keys: NDArray = field(default_factory=lambda: np.empty(0, np.uint64))
    sample: Any = None

    def add(self, model: Predictor, batch: Any, rows: NDArray, first_row: int) -> None:
        """Count the rows of a batch; ``rows`` are the same rows as prepared numbers."""
        seen = model.fitted_.seen
        part = Tally(len(rows), sums=rows.sum(axis=0))
        holes = dict[str, NDArray]()
        steps = {step.name: step for step in _steps(model)}
        for name in steps or model.preparation_.inputs_:
            holes[name] = _find_missing(_column(model, batch, name), steps.get(name))
            part.missing[name] = int(holes[name].sum())
        # Numbers that were filled in for missing values do not count.
        rows = rows.copy()
        for place, output in enumerate(outputs_of(model)):
            if output.kind == "value":
                rows[holes[output.column], place] = np.nan
        part.outside = ((rows < seen.low) | (rows > seen.high)).sum(axis=0)
        part.keys = _keys(first_row, len(rows))
        part.sample = rows
        for name, step in steps.items():
            if isinstance(step, CategoryStep | LevelStep) and step.levels:
                words = step.words_of(_column(model, batch, name))
                new = words.is_valid().to_numpy(zero_copy_only=False)
                new &= find_levels(words, step.levels) < 0
                part.unseen[name] = int(new.sum())
                some = words.take(np.flatnonzero(new)[:100]).unique().to_pylist()
                part.examples[name] = some[:MAX_EXAMPLES]
        self.merge(part)

    def merge(self, other: "Tally") -> None:
        """Add the counts and the sample of another tally."""
        for name in ("rows", "known", "judged", "alerts", "above", "novel"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missing.update(other.missing)
        self.unseen.update(other.unseen)
        for name, words in other.examples.items():
            both = [*self.examples.get(name, []), *words]
            self.examples[name] = list(dict.fromkeys(both))[:MAX_EXAMPLES]
        if other.sample is None:
            return
        self.sums = self.sums + other.sums
        self.outside = self.outside + other.outside
        keys = np.concatenate([self.keys, other.keys])
        known = other.sample[:0] if self.sample is None else self.sample
        size = min(MAX_SAMPLE_ROWS, max(100, MAX_SAMPLE_NUMBERS // known.shape[1]))
        kept = keys.argsort()[:size]
        self.keys = keys[kept]
        self.sample = np.concatenate([known, other.sample])[kept]


def check_columns_of(model: Predictor, names: list[str]) -> Iterator[Finding]:
    """Yield findings about columns that are missing, new, or in another order."""
    trained = [_called(model, row.column, names) for row in model.preparation_.summary_]
    needed = [_called(model, name, names) for name in model.preparation_.inputs_]
    gone = [name for name in needed if name not in names]
    new = [name for name in names if name not in trained]
    renames = find_renames(gone, names, trained)
    hints = {
        name: f"; {shorten(other)} is new: renamed? ({option('rename', f'{other}={name}')})"
        for name, other in renames.items()
    }
    for name in gone:
        text = f"{name}: the column is gone, and rows cannot be scored without it"
        yield Finding("column", name, text + hints.get(name, ""))
    if new and not gone:
        text = f"columns that the model does not know and does not use: {listed(new, 5)}"
        yield Finding("new columns", None, text, False)
    common = [name for name in names if name in trained]
    if model.preparation_.is_named and common != [name for name in trained if name in names]:
        text = "columns come in another order; they are found by name, so nothing changes"
        yield Finding("order", None, text, False)


def find_all(
    model: Predictor, header: list[str], tally: Tally, limits: Limits, **judged_by: Any
) -> list[Finding]:
    """Return the findings about columns and rows of a table, the most important first.

    ``header`` names all columns of the table. Other parameters are those of :func:`find_changes`.
    """
    found = list(check_columns_of(model, header))
    gone = {finding.column for finding in found if finding.kind == "column"}
    if gone:
        text = "without these columns, probabilities, alerts and novel rows are not checked"
        found.append(Finding("not scored", None, text, False))
        gone.add(None)
    changes = find_changes(model, tally, limits, **judged_by)
    found += [change for change in changes if change.column not in gone]
    return sorted(found, key=lambda finding: (not finding.is_alarm, KINDS.index(finding.kind)))


def find_changes(
    model: Predictor,
    tally: Tally,
    limits: Limits,
    threshold: float | None = None,
    *,
    novelty: bool = True,
    by_probability: bool = False,
) -> Iterator[Finding]:
    """Yield the findings about a table, given the tally of all its rows.

    ``threshold`` is the probability above which a row is an alert. If it is None, the number of
    alerts is not checked. If ``novelty`` is True, novel rows are alerts, too, unless rows are
    ranked ``by_probability``.
    """
    if not tally.rows:
        return
    profile = model.record_.profile
    if profile is not None:
        missing, rare = _expected(model, profile)
        yield from _check_cells(tally, limits, missing, rare)
        yield from _check_values(model, tally, profile, limits, missing)
    if tally.known > (0.05 + model.record_.learned_rows.copies) * tally.rows:
        text = (
            f"{tally.known:,} of the {tally.rows:,} rows are training rows, or equal to some. The "
            "model is surer of them than of new rows, so the number of their alerts is judged out "
            "of bag"
        )
        yield Finding("training rows", None, text, False)
    if novelty:
        yield from _check_novelty(model, tally, limits)
    if threshold is not None and tally.judged:
        alerts = tally.above if by_probability else tally.alerts
        usual = _usual_alerts(model, novelty and not by_probability, threshold)
        yield from _check_alerts(alerts, tally.judged, usual, limits)


def _check_cells(
    tally: Tally, limits: Limits, missing: dict[str, float], rare: dict[str, float]
) -> Iterator[Finding]:
    """Compare the shares of missing values and of unknown levels with the expected shares."""
    for name, share, usual in _find_more(tally.rows, tally.missing, missing, limits.missing):
        text = f"{name}: {show_percent(share)} missing, was {show_percent(usual)} in training"
        yield Finding("missing", name, text)
    for name, share, usual in _find_more(tally.rows, tally.unseen, rare, limits.unseen):
        known = "training never had"
        if usual:
            known = f"are new or were rare in training, was {show_percent(usual)}"
        some = listed(tally.examples[name], MAX_EXAMPLES)
        text = f"{name}: {show_percent(share)} of the rows have values that {known}: {some}"
        yield Finding("unseen", name, text)


def _find_more(
    rows: int, counts: dict[str, int], expected: dict[str, float], limit: float
) -> Iterator[tuple[str, float, float]]:
    """Yield columns with a higher count than expected: name, share, and share in training."""
    for name, count in counts.items():
        usual = expected.get(name, 0.0)
        if count / rows > usual + limit and is_more(count, rows, usual):
            yield name, count / rows, usual


def _check_values(
    model: Predictor,
    tally: Tally,
    profile: TrainingProfile,
    limits: Limits,
    missing: dict[str, float],
) -> Iterator[Finding]:
    """Compare distributions of numbers and shares of levels; missing values are left out."""
    # Dates are not compared, because a later table has later dates.
    dates = {step.name for step in _steps(model) if isinstance(step, DateStep)}
    for place, output in enumerate(outputs_of(model)):
        if output.column in dates:
            continue
        there = tally.rows - tally.missing.get(output.column, 0)
        if output.kind in ("level", "flag"):
            share = float(tally.sums[place]) / max(there, 1)
            usual = profile.means[place] / max(1.0 - missing.get(output.column, 0.0), 1e-9)
            # Shares among few rows vary too much.
            if abs(share - usual) > limits.shift and there >= 30:
                what = f"{output.column}: {output.level or 'yes'}"
                text = f"{what} in {show_percent(share)} of the rows, was {show_percent(usual)}"
                yield Finding("share", output.column, text)
        elif output.kind == "value" and profile.quantiles[place]:
            values = np.sort(tally.sample[:, place])
            values = values[~np.isnan(values)]
            for kind, difference in (
                ("unit", unit_difference(profile, place, values)),
                ("shift", shift_difference(profile, place, values, limits.shift)),
                ("range", _range_difference(model, profile, tally, place, there, limits.outside)),
            ):
                if difference is not None:
                    name = model.preparation_.names_[place]
                    yield Finding(kind, output.column, f"{name}: {difference}")
                    break


def _range_difference(
    model: Predictor, profile: TrainingProfile, tally: Tally, place: int, rows: int, limit: float
) -> str | None:
    """Say how many rows are outside the training range of a column; None if they are few."""
    count = int(tally.outside[place])
    if count <= limit * rows or not is_more(count, rows, 1.0 / profile.rows):
        return None
    seen = model.fitted_.seen
    ends = f"{show_number(float(seen.low[place]))} to {show_number(float(seen.high[place]))}"
    return f"{show_percent(count / rows)} of the rows are outside the training range ({ends})"


def unit_difference(profile: TrainingProfile, place: int, values: NDArray) -> str | None:
    """Describe a change of unit, if all quantiles have changed by about the same large factor."""
    shares = profile.shares
    if len(values) < 20 or not set(UNIT_SHARES) <= set(shares):
        return None
    then = np.array([profile.quantiles[place][shares.index(share)] for share in UNIT_SHARES])
    now = np.quantile(values, UNIT_SHARES, method="inverted_cdf")
    with np.errstate(all="ignore"):
        powers = np.log10(now / then)
    powers = powers[np.isfinite(powers)]
    if len(powers) < 3 or np.ptp(powers) > 0.35 or abs(np.median(powers)) < 0.6:
        return None
    factor = 10.0 ** float(np.median(powers))
    times = f"{show_number(factor)} times" if factor > 1.0 else f"1 / {show_number(1 / factor)} of"
    return (
        f"values are about {times} those of training (median {show_number(float(now[2]))}, was "
        f"{show_number(float(then[2]))}): another unit?"
    )


def shift_difference(
    profile: TrainingProfile, place: int, values: NDArray, limit: float
) -> str | None:
    """Describe a shift of the distribution, if it exceeds the limit and chance."""
    typical = profile.typical(place)
    if not len(values) or typical is None:
        return None
    known = np.array(profile.quantiles[place])
    shares = np.array(profile.shares)
    # If several quantiles are equal, the last one is used. The share of training rows up to its
    # value is at least the share of this quantile, and at most the share of the next quantile.
    last = np.append(known[1:] != known[:-1], True)
    below = np.searchsorted(values, known[last], side="right") / len(values)
    most = np.append(shares[1:], 1.0)[last]
    distance = float(np.maximum(below - most, shares[last] - below).max())
    # Without any change, the Kolmogorov distance exceeds this in 1 of 10,000 columns.
    chance = 2.23 * np.sqrt(1.0 / len(values) + 1.0 / profile.rows)
    if distance <= max(limit, chance):
        return None
    low, median, high = (show_number(float(end)) for end in np.quantile(values, [0.05, 0.5, 0.95]))
    middle = show_number(float(known[list(profile.shares).index(0.5)]))
    return (
        f"values have moved: median {median}, was {middle}; nine of ten values are from {low} to "
        f"{high}, was {show_number(typical[0])} to {show_number(typical[1])}"
    )


def _check_novelty(model: Predictor, tally: Tally, limits: Limits) -> Iterator[Finding]:
    share = tally.novel / tally.rows
    usual = float(model.fitted_.seen.novel_training_rows().mean())
    if share > usual + limits.novel and is_more(tally.novel, tally.rows, usual):
        text = (
            f"novel rows: {show_percent(share)} of the rows ({tally.novel:,}) are unlike all "
            f"training rows, was {show_percent(usual)}"
        )
        yield Finding("novel", None, text)


def _check_alerts(alerts: int, judged: int, usual: float, limits: Limits) -> Iterator[Finding]:
    share = alerts / judged
    more = share > limits.alerts * usual and is_more(alerts, judged, usual)
    fewer = share * limits.alerts < usual and is_more(judged - alerts, judged, 1.0 - usual)
    if more or fewer:
        text = (
            f"alerts: {show_percent(share)} of the rows ({alerts:,}), was "
            f"{show_percent(usual)} of the training rows"
        )
        yield Finding("alerts", None, text)


def _usual_alerts(model: Predictor, novelty: bool, limit: float) -> float:
    """Return the weighted share of alerts among training rows, judged out of bag."""
    chances, weights = model.oob_.probabilities, model.oob_.shares.weigh(model.oob_.labels)
    there = np.isfinite(chances)
    above = chances > limit
    if novelty:
        above |= model.fitted_.seen.novel_training_rows()
    total = float(weights[there].sum())
    return float(weights[there & above].sum()) / total if total else 0.0


def _expected(
    model: Predictor, profile: TrainingProfile
) -> tuple[dict[str, float], dict[str, float]]:
    """Return for every column the expected shares of missing values and of unknown levels."""
    means = list(zip(outputs_of(model), profile.means, strict=True))
    missing = {output.column: mean for output, mean in means if output.kind == "missing"}
    rare = {output.column: mean for output, mean in means if output.kind == "other"}
    for step in _steps(model):
        if isinstance(step, LevelStep) and step.rows:
            # The model does not store levels that occurred once, so they count as unknown. By the
            # Good-Turing estimate, there will be as many rows with new levels as training has rows
            # of levels that occurred once, and as many rows with levels that occurred once as
            # training has rows of levels that occurred twice.
            rare[step.name] = 1.0 - (sum(step.counts) - 2 * step.counts.count(2)) / step.rows
    return missing, rare


def _steps(model: Predictor) -> list[Any]:
    """Return the steps of the preparation; plain numbers have none."""
    return getattr(model.preparation_, "steps_", [])


def _column(model: Predictor, batch: Any, name: str) -> Any:
    return column_of(batch, _called(model, name, batch.schema.names))


def _called(model: Predictor, name: str, known: list[str]) -> str:
    """Return the name of a training column in a table, which may lack a header."""
    other = "c" + name[1:]
    return other if not model.preparation_.is_named and other in known else name


def _find_missing(column: Any, step: Any = None) -> NDArray:
    """Return which cells are empty, or which the step of the column treats as missing."""
    if kind_of(column.type) == "text" and isinstance(step, DateStep):
        return ~is_filled(as_text(column, step.name))
    if kind_of(column.type) == "text" and isinstance(step, NumberStep):
        return np.isnan(parse(as_text(column, step.name), step.format or NumberFormat()).values)
    return np.asarray(pc.is_null(column, nan_is_null=True))


def _keys(first_row: int, count: int) -> NDArray:
    """Return a random key for every row, computed from its row number by splitmix64."""
    numbers = np.arange(first_row, first_row + count, dtype=np.uint64)
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
