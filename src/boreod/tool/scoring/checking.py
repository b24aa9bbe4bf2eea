"""Whether a later table is like the training table: levels, missing values, ranges, units, alerts.

A *tally* counts while a table is scored, batch by batch, in memory that does not grow with it; the
tallies of parts add up. What it holds is compared with the profile of the training rows. A finding
must be larger than a limit and larger than chance.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.profile import TrainingProfile
from boreod.representation.array_rows import PlainColumns, numbered
from boreod.tables.arrow import column_of, kind_of, pc
from boreod.tables.cells import as_text
from boreod.tables.date_forms import is_filled
from boreod.tables.number_formats import NumberFormat, parse
from boreod.tables.preparing.dates import DateStep
from boreod.tables.preparing.levels import LevelStep
from boreod.tables.preparing.steps import CategoryStep, NumberStep, find_levels
from boreod.text import listed, show_number, show_percent, tell_renamed
from boreod.tool.scoring.table_predictor import TablePredictor

CHANCE = 1e-3  # of a count this far from what was expected, below which it is a finding
KS_CHANCE = 2.23  # times 1 / sqrt(rows): a distance that chance exceeds once in 10,000 columns
SAMPLE, SAMPLE_NUMBERS = 5000, 2_000_000  # rows, and numbers in all of them
EXAMPLES = 3
KNOWN = 0.05  # share of training rows in a table from which on it is told, beyond copies
ENOUGH_ROWS = 30  # to compare shares of levels
UNIT, SPREAD = 0.6, 0.35  # powers of ten: values this far off, by nearly the same factor
UNIT_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Limits:
    """How much a table may differ from the training table: shares of its rows.

    Attributes
    ----------
    missing
        More missing values in a column than in training.
    unseen
        More values in a column that training never had.
    outside
        Rows with a value outside the training range of a column.
    shift
        Distance of two distributions: the largest difference of shares of rows below some value.
    alerts
        Times as many, or as few, alerts as among training rows.
    novel
        Rows unlike all training rows.
    """

    missing: float = 0.05
    unseen: float = 0.01
    outside: float = 0.02
    shift: float = 0.25
    alerts: float = 3.0
    novel: float = 0.01


class Finding(NamedTuple):
    """What is different: the kind of it, its column if it has one, and a sentence.

    A finding that changes no score is no alarm.
    """

    kind: str
    column: str | None
    text: str
    is_alarm: bool = True


@dataclass
class Tally:
    """What was seen of a table so far."""

    rows: int = 0
    known: int = 0  # rows that the model has learned from: their alerts are counted out of bag
    judged: int = 0  # rows that can be alerts; training rows that every bag holds cannot
    alerts: int = 0
    novel: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    sums: NDArray | None = None  # of every column of numbers
    outside: NDArray | None = None  # rows outside its training range
    keys: NDArray = field(default_factory=lambda: np.empty(0, np.uint64))
    sample: NDArray | None = None  # rows with the lowest keys

    def add(self, model: TablePredictor, batch: Any, rows: NDArray, first_row: int) -> None:
        """Count the rows of a batch, given as Arrow and as numbers."""
        seen, holes = model.fitted_.seen, dict[str, NDArray]()
        part = Tally(len(rows), sums=rows.sum(axis=0))
        steps = [] if isinstance(model.preparation_, PlainColumns) else model.preparation_.steps_
        for name, step in [(step.name, step) for step in steps] or [
            (name, None) for name in model.preparation_.inputs_
        ]:
            holes[name] = _find_missing(_column(model, batch, name), step)
            part.missing[name] = int(holes[name].sum())
        rows = _without_filled(rows, model, holes)
        part.outside = ((rows < seen.low) | (rows > seen.high)).sum(axis=0)
        part.keys = _keys(first_row, len(rows))
        kept = part.keys.argsort()[: _sample_size(rows.shape[1])]
        part.keys, part.sample = part.keys[kept], rows[kept]
        for step in steps:
            if isinstance(step, CategoryStep | LevelStep) and step.levels:
                words = step.words_of(_column(model, batch, step.name))
                new = words.is_valid().to_numpy(zero_copy_only=False)
                new &= find_levels(words, step.levels) < 0
                part.unseen[step.name] = int(new.sum())
                some = words.take(np.flatnonzero(new)[:100]).unique().to_pylist()
                part.examples[step.name] = some[:EXAMPLES]
        self.merge(part)

    def merge(self, other: "Tally") -> None:
        """Add what was seen of other rows."""
        for name in ("rows", "known", "judged", "alerts", "novel"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in ((self.missing, other.missing), (self.unseen, other.unseen)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        for name, words in other.examples.items():
            both = [*self.examples.get(name, []), *words]
            self.examples[name] = list(dict.fromkeys(both))[:EXAMPLES]
        if other.sums is None or other.outside is None or other.sample is None:
            return
        if self.sums is None or self.outside is None or self.sample is None:
            self.sums, self.outside = other.sums, other.outside
            self.keys, self.sample = other.keys, other.sample
            return
        self.sums, self.outside = self.sums + other.sums, self.outside + other.outside
        keys = np.concatenate([self.keys, other.keys])
        kept = keys.argsort()[: _sample_size(len(self.sums))]
        self.keys, self.sample = keys[kept], np.concatenate([self.sample, other.sample])[kept]


def check_columns_of(model: TablePredictor, names: list[str]) -> list[Finding]:
    """Return columns that are gone, new, or in another order."""
    trained = [_called(model, row.column, names) for row in model.preparation_.summary_]
    needed = [_called(model, name, names) for name in model.preparation_.inputs_]
    gone = [name for name in needed if name not in names]
    new = [name for name in names if name not in trained]
    findings = []
    for name in gone:
        hint = tell_renamed(name, names, trained)
        text = f"{name}: the column is gone, and rows cannot be scored without it{hint}"
        findings.append(Finding("column", name, text))
    if new and not gone:
        text = f"columns that the model does not know and does not use: {listed(new, 5)}"
        findings.append(Finding("new columns", None, text, False))
    common = [name for name in names if name in trained]
    if model.is_named and common != [name for name in trained if name in names]:
        text = "columns come in another order; they are found by name, so nothing changes"
        findings.append(Finding("order", None, text, False))
    return findings


def find_changes(
    model: TablePredictor,
    tally: Tally,
    limits: Limits,
    threshold: float | None = None,
    *,
    novelty: bool = True,
) -> list[Finding]:
    """Return what is different in a table that was tallied.

    ``threshold`` is that of the alerts, None if their number is not to be judged; ``novelty``
    tells whether novel rows are among them.
    """
    profile = model.profile_
    if not tally.rows or tally.sums is None:
        return []
    findings: list[Finding] = []
    if profile is not None:
        missing, rare = _expected(model, profile)
        findings += _check_missing(tally, missing, limits.missing)
        findings += _check_unseen(tally, rare, limits.unseen)
        findings += _check_values(model, tally, profile, limits, missing)
    learned = model.learned_rows_
    if learned is not None and tally.known > (KNOWN + learned.copies) * tally.rows:
        text = (
            f"{tally.known:,} of the {tally.rows:,} rows are training rows, or equal to some. The "
            "model is surer of them than of new rows, so the number of their alerts is judged out "
            "of bag"
        )
        findings.append(Finding("training rows", None, text, False))
    return findings + _check_alerts(model, tally, limits, threshold, novelty)


def _check_missing(tally: Tally, expected: dict[str, float], limit: float) -> list[Finding]:
    found = []
    for name, count in tally.missing.items():
        share, usual = count / tally.rows, expected.get(name, 0.0)
        if share > usual + limit and _is_more(count, tally.rows, usual):
            text = f"{name}: {show_percent(share)} missing, was {show_percent(usual)} in training"
            found.append(Finding("missing", name, text))
    return found


def _check_unseen(tally: Tally, expected: dict[str, float], limit: float) -> list[Finding]:
    found = []
    for name, count in tally.unseen.items():
        share, usual = count / tally.rows, expected.get(name, 0.0)
        if share > usual + limit and _is_more(count, tally.rows, usual):
            some = listed(tally.examples[name], EXAMPLES)
            known = f"are new or were rare in training, was {show_percent(usual)}"
            known = known if usual else "training never had"
            text = f"{name}: {show_percent(share)} of the rows have values that {known}: {some}"
            found.append(Finding("unseen", name, text))
    return found


def _check_values(
    model: TablePredictor,
    tally: Tally,
    profile: TrainingProfile,
    limits: Limits,
    missing: dict[str, float],
) -> list[Finding]:
    """Compare the distribution of numbers, and the shares of levels, where there is a value."""
    assert tally.sums is not None
    assert tally.sample is not None
    found = []
    names, dates = model.preparation_.names_, _date_columns(model)
    for place, (name, output) in enumerate(zip(names, model.outputs_, strict=True)):
        if output.column in dates:  # a day has one date
            continue
        there = tally.rows - tally.missing.get(output.column, 0)
        if output.kind in ("level", "flag"):
            share = float(tally.sums[place]) / max(there, 1)
            usual = profile.means[place] / max(1.0 - missing.get(output.column, 0.0), 1e-9)
            if abs(share - usual) > limits.shift and there >= ENOUGH_ROWS:
                what = f"{output.column}: {output.level or 'yes'}"
                text = f"{what} in {show_percent(share)} of the rows, was {show_percent(usual)}"
                found.append(Finding("share", output.column, text))
        elif output.kind == "value" and profile.quantiles[place]:
            values = np.sort(tally.sample[:, place])
            values = values[~np.isnan(values)]
            for kind, told in (
                ("unit", _tell_unit(profile, place, values)),
                ("shift", _tell_shift(profile, place, values, limits.shift)),
                ("range", _tell_range(model, tally, place, there, profile.rows, limits.outside)),
            ):
                if told is not None:
                    found.append(Finding(kind, output.column, f"{name}: {told}"))
                    break
    return found


def _tell_range(
    model: TablePredictor, tally: Tally, place: int, rows: int, trained: int, limit: float
) -> str | None:
    """Say if many rows are outside the range of the training rows."""
    assert tally.outside is not None
    count, seen = int(tally.outside[place]), model.fitted_.seen
    if count <= limit * rows or not _is_more(count, rows, 1.0 / trained):
        return None
    low, high = (show_number(float(end[place])) for end in (seen.low, seen.high))
    share = show_percent(count / rows)
    return f"{share} of the rows are outside the training range ({low} to {high})"


def _tell_unit(profile: TrainingProfile, place: int, values: NDArray) -> str | None:
    """Say if all quantiles are off by about the same large factor."""
    shares = profile.shares
    if len(values) < 20 or not set(UNIT_SHARES) <= set(shares):
        return None
    then = np.array([profile.quantiles[place][shares.index(share)] for share in UNIT_SHARES])
    now = np.quantile(values, UNIT_SHARES, method="inverted_cdf")
    with np.errstate(all="ignore"):
        powers = np.log10(now / then)
    powers = powers[np.isfinite(powers)]
    if len(powers) < 3 or np.ptp(powers) > SPREAD or abs(np.median(powers)) < UNIT:
        return None
    factor = 10.0 ** float(np.median(powers))
    times = f"{show_number(factor)} times" if factor > 1.0 else f"1 / {show_number(1 / factor)} of"
    return (
        f"values are about {times} those of training (median {show_number(float(now[2]))}, was "
        f"{show_number(float(then[2]))}): another unit?"
    )


def _tell_shift(profile: TrainingProfile, place: int, values: NDArray, limit: float) -> str | None:
    """Say if a distribution has moved."""
    if not len(values):
        return None
    known, shares = np.array(profile.quantiles[place]), np.array(profile.shares)
    last = np.append(known[1:] != known[:-1], True)  # of equal quantiles
    below = np.searchsorted(values, known[last], side="right") / len(values)
    most = np.append(shares[1:], 1.0)[last]  # equal values may go on up to the next quantile
    distance = float(np.maximum(below - most, shares[last] - below).max())
    chance = KS_CHANCE * np.sqrt(1.0 / len(values) + 1.0 / profile.rows)
    if distance <= max(limit, chance):
        return None
    ends = [show_number(float(end)) for end in np.quantile(values, [0.05, 0.5, 0.95])]
    typical = profile.typical(place)
    assert typical is not None
    was = [show_number(typical[0]), show_number(typical[1])]
    middle = show_number(float(known[list(profile.shares).index(0.5)]))
    return (
        f"values have moved: median {ends[1]}, was {middle}; nine of ten from {ends[0]} to "
        f"{ends[2]}, was {was[0]} to {was[1]}"
    )


def _check_alerts(
    model: TablePredictor, tally: Tally, limits: Limits, threshold: float | None, novelty: bool
) -> list[Finding]:
    found, rows, novel = [], tally.rows, tally.novel
    usual_novel = float(model.fitted_.seen.novel_training_rows().mean())
    if novelty and novel / rows > usual_novel + limits.novel and _is_more(novel, rows, usual_novel):
        text = (
            f"novel rows: {show_percent(novel / rows)} of the rows ({novel:,}) are unlike all "
            f"training rows, was {show_percent(usual_novel)}"
        )
        found.append(Finding("novel", None, text))
    if threshold is None or not tally.judged:
        return found
    usual, alerts, rows = _usual_alerts(model, novelty, threshold), tally.alerts, tally.judged
    share = alerts / rows
    more = share > limits.alerts * usual and _is_more(alerts, rows, usual)
    fewer = share * limits.alerts < usual and _is_more(rows - alerts, rows, 1.0 - usual)
    if more or fewer:
        text = (
            f"alerts: {show_percent(share)} of the rows ({alerts:,}), was {show_percent(usual)} of "
            "the training rows"
        )
        found.append(Finding("alerts", None, text))
    return found


def _usual_alerts(model: TablePredictor, novelty: bool, limit: float) -> float:
    """Return the share of alerts among the rows that the training rows stand for."""
    chances, weights = model.oob_.probabilities, model.oob_.shares.weigh(model.oob_.labels)
    there = np.isfinite(chances)
    above = chances > limit
    if novelty:
        above |= model.fitted_.seen.novel_training_rows()
    total = float(weights[there].sum())
    return float(weights[there & above].sum()) / total if total else 0.0


def _expected(
    model: TablePredictor, profile: TrainingProfile
) -> tuple[dict[str, float], dict[str, float]]:
    """Return by column the shares of training rows with nothing, and with words that are rare."""
    missing: dict[str, float] = {}
    rare: dict[str, float] = {}
    for mean, output in zip(profile.means, model.outputs_, strict=True):
        if output.kind == "missing":
            missing[output.column] = mean
        if output.kind == "other":
            rare[output.column] = mean
    if not isinstance(model.preparation_, PlainColumns):
        for step in model.preparation_.steps_:
            if isinstance(step, LevelStep) and step.rows:
                # by Good and Turing: levels that were there once tell how many are still new,
                # and those that were there twice how many rows have one that was there once
                twice = 2 * step.counts.count(2)
                rare[step.name] = 1.0 - (sum(step.counts) - twice) / step.rows
    return missing, rare


def _date_columns(model: TablePredictor) -> set[str]:
    if isinstance(model.preparation_, PlainColumns):
        return set()
    return {step.name for step in model.preparation_.steps_ if isinstance(step, DateStep)}


def _is_more(count: int, rows: int, share: float) -> bool:
    """Whether a count is larger than chance makes it if each row has this share."""
    from scipy.special import bdtrc

    return count > 0 and bool(bdtrc(count - 1, rows, min(max(share, 1e-9), 1.0)) < CHANCE)


def _column(model: TablePredictor, batch: Any, name: str) -> Any:
    return column_of(batch, _called(model, name, batch.schema.names))


def _called(model: TablePredictor, name: str, known: list[str]) -> str:
    """Return what a column of the training is called in a table, which may have no header."""
    other = numbered(name)
    return other if not model.is_named and other in known else name


def _find_missing(column: Any, step: Any = None) -> NDArray:
    """Tell which cells have nothing, or what the step takes for nothing."""
    if kind_of(column.type) == "text" and isinstance(step, DateStep):
        return ~is_filled(as_text(column, step.name))
    if kind_of(column.type) == "text" and isinstance(step, NumberStep):
        return np.isnan(parse(as_text(column, step.name), step.format or NumberFormat()).values)
    return np.asarray(pc.is_null(column, nan_is_null=True))


def _without_filled(rows: NDArray, model: TablePredictor, holes: dict[str, NDArray]) -> NDArray:
    """Return rows with NaN where a number is none of the table, but was filled in."""
    places = [
        (place, holes[output.column])
        for place, output in enumerate(model.outputs_)
        if output.kind == "value" and holes[output.column].any()
    ]
    rows = rows.copy() if places else rows
    for place, hole in places:
        rows[hole, place] = np.nan
    return rows


def _sample_size(n_columns: int) -> int:
    return min(SAMPLE, max(100, SAMPLE_NUMBERS // n_columns))


def _keys(first_row: int, count: int) -> NDArray:
    """Return a random number for every row that depends on nothing but its number (splitmix64)."""
    numbers = np.arange(first_row, first_row + count, dtype=np.uint64)
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
