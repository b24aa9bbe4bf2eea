"""Convert labels from a column, its batches or a second file to the codes 1, 0 and -1.

People write labels in many ways: 0 and 1, yes and no, or words of their own. Before labels become
codes, the reader of a table may change them in two ways. If a second file has a label for the id of
a row (an *answer*), the answer replaces the label of the row. If the user names both labels, cells
with other words become empty.
"""

import shlex
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import Names, TableError, as_names, column_of, encode, pa, pc
from boreod.tables.cells import as_text, whole_words
from boreod.tables.number_formats import MISSING
from boreod.text import count_of, listed, shorten
from boreod.validation import INLIER, OUTLIER, UNLABELLED, label_code

YES = {"yes", "y", "t", "ja", "j", "oui", "si", "sí", "sim", "tak", "да"}
NO = {"no", "n", "f", "nein", "nee", "non", "não", "nie", "нет"}
OPEN = ("?", "??", "-", "n.a.", "unknown", "unlabelled", "unlabeled", "pending", "open", "tbd")
# A column of a file with more distinct values holds ids, not labels.
MAX_LABELS = 10_000
# A note shows at most this many ids with conflicting answers.
MAX_CONFLICTS = 3


def read_label_column(
    values: Any, outlier_label: Any = None, *, name: str = "label", assume: bool = False
) -> NDArray:
    """Return a column of labels as codes: 1 for outliers, 0 for inliers, -1 for unlabelled rows.

    Parameters
    ----------
    values
        A pyarrow array, or anything that can be converted to one.
    outlier_label
        The label of outliers; all other labels get the code 0. If None, the labels must be 0 and 1,
        true and false, yes and no, or Y and N, as text or not, in upper or lower case. Missing
        values are always unlabelled. Values such as -1, ``?`` and ``unknown`` are unlabelled unless
        they are the ``outlier_label``.
    name
        Name of the column, for errors.
    assume
        Whether unlabelled rows may count as inliers. If so, labels may be 1 and -1 without any 0.

    Examples
    --------
    >>> read_label_column(["Yes", "no", None])
    array([ 1,  0, -1])
    >>> read_label_column(["ok", "fraud", ""], "fraud")
    array([ 0,  1, -1])
    """
    return _LabelWords([values], name).codes(outlier_label, assume).astype(np.int64)


def read_label_batches(
    batches: Iterable[Any], outlier_label: Any = None, *, name: str = "label", assume: bool = False
) -> NDArray:
    """Return the codes of a column that comes in batches; a code takes one byte.

    Parameters are those of :func:`read_label_column`.
    """
    return _LabelWords(batches, name, MAX_LABELS).codes(outlier_label, assume)


class _LabelWords:
    """The distinct words of a column of labels, and for each row the index of its word."""

    def __init__(self, batches: Iterable[Any], name: str, most: float = np.inf) -> None:
        self.name = name
        self.numbers: dict[str, int] = {}
        self._parts: list[NDArray] = []
        for values in batches:
            column = column_of(pa.table({name: _to_array(values, name)}), name)
            distinct, places = encode(column)
            words = pc.utf8_trim_whitespace(as_text(distinct, name)).to_pylist()
            own = [
                -1 if w is None else self.numbers.setdefault(w, len(self.numbers)) for w in words
            ]
            small = np.int8 if len(self.numbers) <= 127 else np.int32
            self._parts.append(np.array([*own, -1], small)[places])
            if len(self.numbers) > most:
                raise TableError(
                    f"Column {shorten(name)} holds more than {most} different values, "
                    "which cannot be labels. Name the column of labels (--label)."
                )

    def codes(self, outlier_label: Any, assume: bool) -> NDArray:
        """Return the codes of all rows."""
        found = list(self.numbers)
        if outlier_label is None:
            codes = [label_code(meaning, OUTLIER) for meaning in self._meanings(assume)]
        else:
            wanted = as_text(_to_array([outlier_label], self.name), self.name)[0].as_py()
            if wanted is None:
                raise TableError(
                    "`outlier_label` (--outlier-label) must not be empty; leave it out."
                )
            outlier = _canonical(wanted.strip())
            codes = [label_code(_meaning(word, outlier), outlier) for word in found]
            if OUTLIER not in codes:
                raise TableError(
                    f"No row of column {shorten(self.name)} has the value {outlier_label!r} that "
                    "`outlier_label` (--outlier-label) names; it holds "
                    f"{listed(found, 5) or 'nothing'}."
                )
        # A row without a word has the index -1. It selects the last code, that of unlabelled rows.
        by_number = np.array([*codes, UNLABELLED], np.int8)
        return np.concatenate([by_number[:0], *(by_number[part] for part in self._parts)])

    def _meanings(self, assume: bool) -> list[Any]:
        """Return 1, 0, -1 or None for each word; refuse words with an unclear meaning."""
        found = list(self.numbers)
        meanings = [_plain_meaning(word) for word in found]
        known = set(meanings) - {None}
        if known <= {OUTLIER, INLIER, UNLABELLED} and (assume or known != {OUTLIER, UNLABELLED}):
            return meanings
        others = sorted(meant for meant in known if isinstance(meant, str))
        labels = known - set(others)
        if others and {OUTLIER, INLIER} <= labels <= {OUTLIER, INLIER, UNLABELLED}:
            yes, no = (shlex.quote(found[meanings.index(code)]) for code in (OUTLIER, INLIER))
            raise TableError(
                f"Column {shorten(self.name)} holds {listed(others, 5)} beside labels of outliers "
                "and inliers. Correct these cells or leave them empty. Or name the labels: "
                f"`outlier_label` and `inlier_label` (--outlier-label={yes} --inlier-label={no}). "
                "Rows with other words are then unlabelled."
            )
        raise TableError(
            f"Column {shorten(self.name)} must hold 0 and 1, true and false or yes and no as "
            "labels (empty or -1 for unlabelled rows"
            f"{'' if assume else ', never 1 and -1 but no 0'}); it holds {listed(found, 5)}. "
            "Say which value marks an outlier: `outlier_label` "
            f"(--outlier-label={shlex.quote(self._rarest())}, if the rarest). If some values are "
            "no labels, say which value marks an inlier, too (--inlier-label)."
        )

    def _rarest(self) -> str:
        """Return the rarest word; of equally rare words, the last in alphabetical order."""
        counts = np.bincount(np.concatenate(self._parts) + 1, minlength=len(self.numbers) + 1)[1:]
        words = {w: n for w, n in zip(self.numbers, counts, strict=True) if w.lower() not in OPEN}
        return max(word for word, count in words.items() if count == min(words.values()))


def _plain_meaning(word: str) -> Any:
    """Return the meaning of a word if the user named no label of outliers."""
    lower = word.lower()
    if lower in YES:
        return float(OUTLIER)
    return float(INLIER) if lower in NO else _meaning(word)


def _meaning(word: str, outlier: Any = None) -> Any:
    """Return the value for ``label_code``: None for a missing word that is not ``outlier``."""
    meant = _canonical(word)
    is_empty = word in MISSING or word.lower() in OPEN
    return None if is_empty and meant != outlier else meant


def _canonical(word: str) -> float | str:
    """Return the number that a word stands for (true is 1, false is 0), or else the word."""
    try:
        return float({"true": "1", "false": "0"}.get(word.lower(), word))
    except ValueError:
        return word


def _to_array(values: Any, name: str) -> Any:
    """Return an Arrow array; values of several types become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    with suppress(pa.ArrowException, TypeError, ValueError):
        return pa.array(values, from_pandas=True)
    try:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    except TypeError:
        raise TableError(
            f"Column {shorten(name)} must be one column of labels; got {type(values).__name__}."
        ) from None


def label_options(
    label: str | None, ids: Names, answers: Any, outlier_label: Any, inlier_label: Any
) -> dict[str, Any]:
    """Return the option ``labels`` of ``open_table`` for a second file or an inlier label."""
    if answers is None and inlier_label is None:
        return {}
    if label is None:
        raise TableError(
            "`labels` (--labels) and `inlier_label` (--inlier-label) need the column of labels: "
            "`label` (--label)."
        )
    return {"labels": LabelSource(label, as_names(ids, []), answers, outlier_label, inlier_label)}


@dataclass(frozen=True)
class LabelSource:
    """A second file of labels, and the words that count as labels.

    Attributes
    ----------
    label
        The column of labels, in the table, in the second file, or in both.
    ids
        The columns that match rows of the table with rows of the second file.
    answers
        The second file, a frame in its place, or None.
    outlier_label, inlier_label
        The labels of outliers and inliers. If ``inlier_label`` is None, all words are labels.
        Otherwise only these two words are labels.
    """

    label: str
    ids: tuple[str, ...] = ()
    answers: Any = None
    outlier_label: Any = None
    inlier_label: Any = None

    def __post_init__(self) -> None:
        if self.answers is not None and not self.ids:
            raise TableError(
                "Labels of a second file (--labels) are found by the id of a row. Name its column: "
                "`ids` (--id)."
            )
        if self.inlier_label is not None and self.outlier_label is None:
            raise TableError(
                f"`inlier_label` (--inlier-label) is {shorten(self.inlier_label)}. Name the word "
                "of outliers, too: `outlier_label` (--outlier-label)."
            )

    @property
    def shown(self) -> str:
        """The name of the second file, for messages."""
        return str(self.answers) if isinstance(self.answers, str | PathLike) else "`labels`"

    def columns(self, wanted: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the wanted columns and the columns of ids; None if all columns are wanted."""
        if wanted is None or self.answers is None:
            return wanted
        return tuple(dict.fromkeys([*wanted, *self.ids]))

    def add_to(
        self, schema: Any, batches: Iterable[Any], wanted: tuple[str, ...] | None, answers: Any
    ) -> tuple[Any, Iterator[Any]]:
        """Return schema and batches with their final labels; ``answers`` is the second table."""
        given = None if answers is None else Answers.read(answers, self)
        extra = [] if wanted is None else [n for n in self.ids if n not in as_names(wanted, [])]
        place = schema.get_field_index(self.label)
        labels = pa.field(self.label, pa.string())
        whole = schema.append(labels) if place < 0 else schema.set(place, labels)
        final = pa.schema([one for one in whole if one.name not in extra])

        def settled() -> Iterator[Any]:
            for batch in batches:
                words = pa.nulls(batch.num_rows, pa.string())
                if place >= 0:
                    words = _words(batch, self.label)
                if given is not None:
                    words = given.apply(words, _keys(batch, self.ids))
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                columns[self.label] = self._known(words)
                yield pa.RecordBatch.from_arrays([columns[n] for n in final.names], schema=final)
            if given is not None:
                warnings.warn(given.note(self.shown), stacklevel=2)

        return final, settled()

    def _known(self, words: Any) -> Any:
        """Return words, with null in place of every word that is neither of the two labels."""
        if self.inlier_label is None:
            return words
        known = [_canonical(str(w).strip()) for w in (self.outlier_label, self.inlier_label)]
        found = [w for w in pc.unique(words.drop_null()).to_pylist() if _canonical(w) in known]
        mask = pc.is_in(words, value_set=pa.array(found, pa.string()))
        return pc.if_else(mask, words, pa.scalar(None, pa.string()))


@dataclass
class Answers:
    """The labels that a second file has for ids; if an id has several, the last label counts."""

    given: dict[str, list[str]]
    met: set[str] = field(default_factory=set)
    changed: int = 0

    @classmethod
    def read(cls, table: Any, source: LabelSource) -> "Answers":
        """Read a table of ids and labels; empty labels are no answers."""
        for name in (*source.ids, source.label):
            if name not in table.column_names:
                raise TableError(
                    f"{source.shown} has no column {shorten(name)} of ids or labels. "
                    f"Its columns are {listed(table.column_names)}."
                )
        words = _words(table, source.label).to_pylist()
        given: dict[str, list[str]] = {}
        for key, word in zip(_keys(table, source.ids), words, strict=True):
            if key is not None and word is not None:
                given.setdefault(key, []).append(word)
        return cls(given)

    def apply(self, words: Any, keys: list[str | None]) -> Any:
        """Return the labels of rows: the answer for a row's id, or else the old label."""
        self.met |= self.given.keys() & set(keys)
        new = [self.given[key][-1] if key in self.given else None for key in keys]
        self.changed += sum(
            before is not None and given is not None and _canonical(before) != _canonical(given)
            for before, given in zip(words.to_pylist(), new, strict=True)
        )
        return pc.coalesce(pa.array(new, pa.string()), words)

    def note(self, shown: str) -> str:
        """Return a sentence about the answers."""
        parts = [f"{count_of(len(self.met), 'id')} of the table have an answer in {shown}"]
        if self.changed:
            parts.append(f"{count_of(self.changed, 'label')} of the table changed")
        some = [
            f"{key.replace(chr(0), ', ')}: {', '.join(said)}"
            for key, said in self.given.items()
            if len(set(map(_canonical, said))) > 1
        ]
        if some:
            first = "; ".join(some[:MAX_CONFLICTS] + ["..."] * (len(some) > MAX_CONFLICTS))
            count = count_of(len(some), "id")
            parts.append(f"{count} with several answers, the last of which counts ({first})")
        unknown = len(self.given) - len(self.met)
        if unknown:
            parts.append(f"{count_of(unknown, 'id')} not in the table")
        return "; ".join(parts) + "."


def _words(table: Any, name: str) -> Any:
    """Return a column as text without spaces around cells."""
    return pc.utf8_trim_whitespace(as_text(column_of(table, name), name))


def _keys(table: Any, ids: tuple[str, ...]) -> list[str | None]:
    """Return for each row a text that joins its ids, or None if one of them is missing."""
    cells = [whole_words(as_text(column_of(table, name), name)).to_pylist() for name in ids]
    return [
        None if None in row else "\0".join(cell.strip() for cell in row)
        for row in zip(*cells, strict=True)
    ]
