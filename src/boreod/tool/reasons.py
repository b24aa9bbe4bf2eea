"""Reasons in words: values compared with normal rows, neighborhoods, and known cases.

An explanation says what each column added to a row's log-odds. This module groups columns by
*topic*. Most columns of the table are a topic each, with all their levels and marks, and all scores
of neighborhoods are one topic. Each topic gets a sentence that is true whatever the model learned,
such as "amount 4,900 is higher than 99.7 % of normal rows (typical: 12 to 310)". The sentences are
about topics that raise the log-odds. If no topic raises them, the sentences are about topics that
lower them, and say so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.fitted import Assessment, Fitted
from boreod.ensemble.profile import TrainingProfile, in_ranges
from boreod.predictor import Predictor, assess, prepare_here
from boreod.representation.array_rows import Cells, Output
from boreod.scores import DETECTORS, SCORES
from boreod.text import show_number, show_percent

# Topics that add less than this share of the row's largest contribution are left out.
NEGLIGIBLE = 0.05
# A value is called high (low) if it is above (below) at least this share of the normal rows.
EXTREME = 0.9
# Longer cells are cut in sentences.
MAX_LETTERS = 40
NEIGHBORS = "neighbors"
# Spreadsheets take a cell for a formula if it begins with one of the four signs, also in their wide
# forms and after blanks. Some programs split cells at semicolons, whatever the quotation marks say.
FORMULA = re.compile(r"(^|; )(?=\W*?[-=+@\uff0d\uff1d\uff0b\uff20])")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Reason(NamedTuple):
    """A sentence, its topic, and what the topic added to the log-odds.

    The contribution of a sentence about novelty or a known case is None.
    """

    text: str
    about: str
    contribution: float | None

    @property
    def shown(self) -> str:
        """The sentence, marked if it speaks against an outlier."""
        against = "against it: " if (self.contribution or 0.0) < 0.0 else ""
        return against + as_prose(self.text)


class _Topic(NamedTuple):
    """A topic with its ``places`` in an explanation, and its ``members`` among the raw columns."""

    name: str
    places: list[int]
    members: list[int]


def reasons_of(model: Predictor, X: Any, number: int, novelty: bool) -> list[list[Reason]]:
    """Return the reasons of every row of a table; the strongest sign of an outlier comes first."""
    rows = prepare_here(model, X, "reason")
    found = assess(model, rows, explain=True, novelty=novelty)
    return write_reasons(model, rows, found, number, X)


def write_reasons(
    model: Predictor, rows: NDArray, found: Assessment, number: int, table: Any
) -> list[list[Reason]]:
    """Return up to ``number`` reasons of every row, given the prepared rows and their table."""
    writer = ReasonWriter(model.fitted_, outputs_of(model), model.record_.profile)
    return writer.write(rows, found, number, model.preparation_.words_of(table))


def as_prose(text: str) -> str:
    r"""Return a text about columns on one line, which no spreadsheet takes for a formula.

    The name of a column may be anything. If it looks like a formula, the word "column" is put
    before it.

    Examples
    --------
    >>> as_prose("=1+1 is missing"), as_prose("b\tc 2 ranges above; @a 1 ranges below")
    ('column =1+1 is missing', 'b c 2 ranges above; column @a 1 ranges below')
    """
    letters = (letter if letter.isprintable() else " " for letter in text)
    plain = text if text.isprintable() else "".join(letters)
    return FORMULA.sub(r"\1column ", plain)


def outputs_of(model: Predictor) -> list[Output]:
    """Return a description of each raw column of a detector."""
    return [Output(*output) for output in model.preparation_.outputs_]


@dataclass(frozen=True)
class ReasonWriter:
    """Writes reasons of rows for a fitted detector.

    Attributes
    ----------
    fitted
        The detector.
    outputs
        A description of each raw column of the detector.
    profile
        The profile of the training rows. If None, sentences are shorter.
    """

    fitted: Fitted
    outputs: Sequence[Output]
    profile: TrainingProfile | None = None

    def write(
        self, rows: NDArray, found: Assessment, number: int, cells: Cells | None = None
    ) -> list[list[Reason]]:
        """Return up to ``number`` reasons of every row.

        The first reason of a novel row is that it is novel. The last reason of a row near a known
        outlier names that outlier. ``cells`` holds the words of the table, by column and row;
        missing cells are None.
        """
        assert found.explanation is not None
        topics = self._topics(found.explanation.columns)
        parts = found.explanation.contributions
        sums = np.column_stack([parts[:, topic.places].sum(axis=1) for topic in topics])
        novel = [None] * len(rows) if found.novelty is None else found.novelty.words()
        near = self._near(rows)
        result = []
        for row in range(len(rows)):
            first = [Reason(text, "novelty", None) for text in (novel[row],) if text]
            last = [Reason(text, "known case", None) for text in (near[row],) if text]
            words = {column: texts[row] for column, texts in (cells or {}).items()}
            reasons: dict[str, Reason] = {}
            for place in _rank(sums[row])[: max(0, number - len(first) - len(last))]:
                change = float(sums[row, place])
                if topics[place].members:
                    text = self._sentence(topics[place], rows[row], words)
                else:
                    text = _score_sentence(topics[place], row, found, change)
                # All parts of a missing date have the same sentence.
                same = reasons.get(text, Reason(text, topics[place].name, 0.0))
                reasons[text] = same._replace(contribution=(same.contribution or 0.0) + change)
            result.append([*first, *reasons.values(), *last][:number])
        return result

    def _topics(self, columns: list[str]) -> list[_Topic]:
        """Return the topics of sentences."""
        raw = {name: place for place, name in enumerate(self.fitted.seen.columns)}
        values = [output.column for output in self.outputs if output.kind == "value"]
        topics: dict[str, _Topic] = {}
        for place, name in enumerate(columns):
            if name in raw:
                output = self.outputs[raw[name]]
                alone = output.kind != "value" or values.count(output.column) == 1
                about = output.column if alone else name
                topic = topics.setdefault(f"column {about}", _Topic(about, [], []))
                topic.members.append(raw[name])
            else:
                about = NEIGHBORS if _score_of(name) in SCORES else name
                topic = topics.setdefault(about, _Topic(about, [], []))
            topic.places.append(place)
        return list(topics.values())

    def _sentence(self, topic: _Topic, values: NDArray, words: dict[str, str | None]) -> str:
        """Return a sentence about a column of the table."""
        missing = self._missing_sentence(self.outputs[topic.members[0]].column, values, words)
        if missing is not None:
            return missing
        by_kind = {self.outputs[place].kind: place for place in topic.members}
        if "value" in by_kind:
            place = by_kind["value"]
            return self._number_sentence(topic.name, place, float(values[place]))
        for kind, yes, no in (("flag", "yes", "no"), ("missing", "missing", "there")):
            if kind in by_kind and (kind == "flag" or len(by_kind) == 1):
                is_one = bool(values[by_kind[kind]])
                share = self._share(by_kind[kind], is_one)
                return f"{topic.name} is {yes if is_one else no}, {share}"
        word = words.get(topic.name)
        if "frequency" in by_kind or "odds" in by_kind:
            return self._id_sentence(topic.name, by_kind, values, word)
        return self._level_sentence(topic, values, word)

    def _missing_sentence(
        self, column: str, values: NDArray, words: dict[str, str | None]
    ) -> str | None:
        """Return a sentence if a row has no value in a column of the table, else None."""
        marks = [
            place for place, output in enumerate(self.outputs) if output[:2] == (column, "missing")
        ]
        for place in marks:
            if values[place]:
                return f"{column} is missing, {self._share(place, True)}"
        if not marks and words.get(column, "") is None:
            return f"{column} is missing, as in no training row"
        return None

    def _id_sentence(
        self, name: str, by_kind: dict[str, int], values: NDArray, word: str | None
    ) -> str:
        """Return a sentence about the frequency of an id, and about its odds of outliers."""
        facts = []
        if "frequency" in by_kind:
            share = 10.0 ** min(float(values[by_kind["frequency"]]), 0.0)
            facts.append(f"is in at most 1 of {1.0 / max(share, 1e-15):,.0f} training rows")
        odds = float(values[by_kind["odds"]]) if "odds" in by_kind else 0.0
        if odds != 0.0 or not facts:
            times = float(np.exp(np.clip(odds, -30.0, 30.0)))
            facts.append(f"has {show_number(times)} times the usual odds of outliers")
        return f"{name if word is None else f'{name} {_cut(word)}'} {' and '.join(facts)}"

    def _number_sentence(self, name: str, place: int, value: float) -> str:
        """Return a sentence that compares a value with those of normal rows."""
        part = self.outputs[place].level
        if part == "age in days" and value <= 0.0:
            return f"{self.outputs[place].column} is not before the newest training row"
        shown = f"{name} {_show_value(value, part)}"
        typical = None if self.profile is None else self.profile.typical(place)
        if self.profile is None or typical is None:
            return shown
        low, high = (_show_value(end, part) for end in typical)
        below, above = self.profile.compare(place, value)
        usual = f"(typical: {low} to {high})" if low != high else f"(typical: {low})"
        for share, word in ((below, "higher"), (above, "lower")):
            if share >= 1.0:
                return f"{shown} is {word} than all normal rows {usual}"
            if share >= EXTREME:
                return f"{shown} is {word} than {_most(share)} normal rows {usual}"
        if typical[0] <= value <= typical[1]:
            return f"{shown} is usual by itself {usual}"
        return f"{shown} {usual}"

    def _level_sentence(self, topic: _Topic, values: NDArray, word: str | None) -> str:
        """Return a sentence about a level and the share of normal rows that have it."""
        for place in topic.members:
            output = self.outputs[place]
            if output.kind == "level" and values[place]:
                return f"{topic.name} is {_cut(output.level)}, {self._share(place, True)}"
        other = next((p for p in topic.members if self.outputs[p].kind == "other"), None)
        shown = "another value" if word is None else _cut(word)
        if other is None:
            return f"{topic.name} is {shown}, which no training row has"
        return f"{topic.name} is {shown}, which is rare or new: {self._share(other, True)}"

    def _share(self, place: int, is_one: bool) -> str:
        """Return in words how many normal rows have the same value in a column of 0 and 1."""
        if self.profile is None:
            return "unlike other rows"
        mean = self.profile.means[place]
        share = mean if is_one else 1.0 - mean
        if share <= 0.0:
            return "as in no normal row"
        shown = show_percent(share)
        return f"as in {'few' if shown == '0 %' else shown + ' of the'} normal rows"

    def _near(self, rows: NDArray) -> list[str | None]:
        """Return for each row which known outlier is near it, in words, or None."""
        cases = None if self.profile is None else self.profile.cases
        if cases is None:
            return [None] * len(rows)
        seen = self.fitted.seen
        nearest, distances = cases.find(in_ranges(rows, seen.low, seen.high))
        # Known cases are stored with seven digits.
        equal = distances <= 1e-6 * (1.0 + cases.near)
        words = np.where(equal, "equal to", "near").tolist()
        return [
            f"{word} known case {_cut(cases.names[place])}" if is_near else None
            for word, place, is_near in zip(words, nearest, distances <= cases.near, strict=True)
        ]


def _rank(changes: NDArray) -> list[int]:
    """Return the topics that raise the log-odds; if there are none, the topics that lower them.

    Examples
    --------
    >>> _rank(np.array([-2.0, 0.5, 1.0, 0.01])), _rank(np.array([-2.0, 0.0, -3.0]))
    ([2, 1], [2, 0])
    """
    signed = changes if (changes > 0.0).any() else -changes
    counts = np.flatnonzero(signed > NEGLIGIBLE * signed.max(initial=0.0))
    return counts[np.argsort(-signed[counts], kind="stable")].tolist()


def _score_sentence(topic: _Topic, row: int, found: Assessment, change: float) -> str:
    """Write a sentence about all neighborhood scores together, or about one other score."""
    assert found.explanation is not None
    if topic.name != NEIGHBORS:
        score = DETECTORS.get(_score_of(topic.name))
        title = topic.name if score is None else score.title.lower()
        return f"{'set apart' if change > 0.0 else 'not set apart'} by {title}"
    parts = found.explanation.contributions[row, topic.places]
    order = np.argsort(-parts if change > 0.0 else parts, kind="stable")[:3]
    named = [
        SCORES[_score_of(found.explanation.columns[topic.places[place]])].title
        for place in order
        if parts[place] * change > 0.0
    ]
    by = f" ({', '.join(named)})" if named else ""
    novelty = found.novelty
    share = 0.0 if novelty is None or novelty.p_values is None else 1.0 - novelty.p_values[row]
    if share >= EXTREME:
        return f"farther from its nearest rows than {_most(share)} normal rows{by}"
    return f"its nearest rows are {'unlike' if change > 0.0 else 'like'} those of normal rows{by}"


def _score_of(family: str) -> str:
    """Return the score of a family; its name gets a suffix if a raw column has the same name."""
    return family.removesuffix(" scores")


def _show_value(value: float, part: str) -> str:
    """Return a number, an hour of a clock, or a day of the week.

    Examples
    --------
    >>> _show_value(3.25, "hour"), _show_value(7.0, "weekday"), _show_value(3.25, "")
    ('3:15', 'Sunday', '3.25')
    """
    if part == "hour" and 0.0 <= value < 24.0:
        minutes = int(60.0 * value)
        return f"{minutes // 60}:{minutes % 60:02d}"
    if part == "weekday" and value in range(1, 8):
        return WEEKDAYS[int(value) - 1]
    return show_number(value)


def _most(share: float) -> str:
    """Return a share below 1 in words that stand before a noun.

    Examples
    --------
    >>> _most(0.9966), _most(0.9999)
    ('99.7 % of', 'nearly all')
    """
    shown = show_percent(share)
    return "nearly all" if shown == "100 %" else f"{shown} of"


def _cut(word: str) -> str:
    return word if len(word) <= MAX_LETTERS else f"{word[: MAX_LETTERS - 3]}..."
