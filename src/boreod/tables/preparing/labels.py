"""Labels that come from a second file, by id, and words that mean an inlier.

Both are settled while a table is read: its column of labels then holds what the answers say, and is
empty where nobody knows.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from boreod.tables.arrow import Names, TableError, as_names, column_of, pa, pc
from boreod.tables.cells import as_text, canonical, whole_words
from boreod.text import count_of, listed, shorten

MOST = 3  # conflicts in a note


def label_options(
    label: str | None, ids: Names, answers: Any, outlier_label: Any, inlier_label: Any
) -> dict[str, Any]:
    """Return the option of ``boreod.tables.open_table`` for labels that are not plain."""
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
    """Where labels come from besides their column, and what they mean.

    Attributes
    ----------
    label
        The column of labels, in the table, in the second file, or in both.
    ids
        The columns by which rows of both are found.
    answers
        The second file, or a frame; None for none.
    outlier_label, inlier_label
        The words of outliers and inliers; other words are no labels. Without a word of inliers all
        words stay.
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
        """What the second file is called in sentences."""
        named = isinstance(self.answers, str | PathLike)
        return str(self.answers) if named else "`labels`"

    def columns(self, wanted: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the columns to read of a table, if so many are wanted."""
        if wanted is None:
            return None
        ids = self.ids if self.answers is not None else ()
        return tuple(dict.fromkeys([*wanted, *as_names(ids, [])]))

    def add_to(
        self, schema: Any, batches: Iterable[Any], wanted: tuple[str, ...] | None, answers: Any
    ) -> tuple[Any, Iterator[Any]]:
        """Return a table with its labels settled; answers are the table of the second file."""
        given = None if answers is None else Answers.read(answers, self)
        ids = as_names(self.ids, schema.names)
        extra = [] if wanted is None else [n for n in ids if n not in as_names(wanted, [])]
        place = schema.get_field_index(self.label)
        labels = pa.field(self.label, pa.string())
        whole = schema.append(labels) if place < 0 else schema.set(place, labels)
        final = pa.schema([one for one in whole if one.name not in extra])

        def settled() -> Iterator[Any]:
            for batch in batches:
                words = self._words(batch, place)
                if given is not None:
                    words = given.apply(words, _keys(batch, ids))
                columns = {**dict(zip(batch.schema.names, batch.columns, strict=True))}
                columns[self.label] = self._known(words)
                yield pa.RecordBatch.from_arrays([columns[n] for n in final.names], schema=final)
            if given is not None:
                warnings.warn(given.note(self.shown), stacklevel=2)

        return final, settled()

    def _words(self, batch: Any, place: int) -> Any:
        if place < 0:
            return pa.nulls(batch.num_rows, pa.string())
        words = as_text(column_of(batch, self.label), self.label)
        return pc.utf8_trim_whitespace(words)

    def _known(self, words: Any) -> Any:
        """Return words with nulls for those that are neither of outliers nor of inliers."""
        if self.inlier_label is None:
            return words
        known = [canonical(str(w).strip()) for w in (self.outlier_label, self.inlier_label)]
        found = [w for w in pc.unique(words).to_pylist() if w is not None and canonical(w) in known]
        mask = pc.is_in(words, value_set=pa.array(found, pa.string()))
        return pc.if_else(mask, words, pa.scalar(None, pa.string()))


@dataclass
class Answers:
    """What a second file says of ids; the last answer counts."""

    last: dict[str, str]
    conflicts: dict[str, list[str]]
    met: set[str] = field(default_factory=set)
    changed: int = 0

    @classmethod
    def read(cls, table: Any, source: LabelSource) -> "Answers":
        """Read a table of ids and labels; empty labels are no answers."""
        ids = as_names(source.ids, table.column_names)
        for name in (*ids, source.label):
            if name not in table.column_names:
                raise TableError(
                    f"{source.shown} has no column {shorten(name)}, which tells ids or labels. "
                    f"Its columns are {listed(table.column_names)}."
                )
        words = as_text(column_of(table, source.label), source.label)
        given: dict[str, list[str]] = {}
        for key, word in zip(_keys(table, ids), pc.utf8_trim_whitespace(words), strict=True):
            if key is not None and word.is_valid:
                given.setdefault(key, []).append(word.as_py())
        conflicts = {key: said for key, said in given.items() if len(set(map(canonical, said))) > 1}
        return cls({key: said[-1] for key, said in given.items()}, conflicts)

    def apply(self, words: Any, keys: list[str | None]) -> Any:
        """Return labels of rows: the answers, and what was there where there is none."""
        result = words.to_pylist()
        for row, key in enumerate(keys):
            if key is not None and key in self.last:
                self.met.add(key)
                before, answer = result[row], self.last[key]
                self.changed += before is not None and canonical(before) != canonical(answer)
                result[row] = answer
        return pa.array(result, pa.string())

    def note(self, shown: str) -> str:
        """Return what to tell the user."""
        parts = [f"{count_of(len(self.met), 'id')} of the table have an answer in {shown}"]
        if self.changed:
            parts.append(f"{count_of(self.changed, 'label')} of the table changed by it")
        if self.conflicts:
            some = [f"{k.replace(chr(0), ', ')}: {', '.join(v)}" for k, v in self.conflicts.items()]
            shown_ones = "; ".join(some[:MOST]) + ("; ..." if len(some) > MOST else "")
            parts.append(
                f"{count_of(len(some), 'id')} with several answers, the last of which counts "
                f"({shown_ones})"
            )
        unknown = len(self.last) - len(self.met)
        if unknown:
            parts.append(f"{count_of(unknown, 'id')} not in the table")
        return "; ".join(parts) + "."


def _keys(table: Any, ids: tuple[str, ...]) -> list[str | None]:
    """Return ids as text, several of them as one; None where one is missing."""
    cells = [whole_words(as_text(column_of(table, name), name)).to_pylist() for name in ids]
    return [
        None if None in row else "\0".join(cell.strip() for cell in row)
        for row in zip(*cells, strict=True)
    ]
