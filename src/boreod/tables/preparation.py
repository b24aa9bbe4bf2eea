"""Columns of a table as a float64 matrix, the same way for training rows and for new ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.errors import TableError, check_names
from boreod.tables.learning import decide
from boreod.tables.plain_types import kind_of
from boreod.tables.roles import Names, Roles, read_roles
from boreod.tables.steps import Step
from boreod.tables.stored import (
    VERSION,
    broken,
    entries,
    fields,
    step_from_dict,
    step_to_dict,
    summary_from_dict,
    word,
    words,
)
from boreod.tables.summary import ColumnSummary, format_summary
from boreod.tables.values import column_of
from boreod.text import listed, shorten, suggest


class Preparation:
    """Learn from a training table how to make numbers of its columns.

    Numbers stay as they are, booleans are 0 and 1, categories have one column a level. Missing
    numbers get the median of the training rows; where some were missing in training, a column of
    its own says so. Columns that hold one value only are left out. Ids, free text and dates are
    refused, with advice.

    Parameters
    ----------
    max_levels
        The most levels of a category that get columns of their own; the others are pooled.

    Attributes
    ----------
    names_
        Names of the output columns.
    summary_
        What was done to each input column.
    notes_
        Remarks for the user.
    label_, ids_
        The columns of labels and ids, None and empty if there are none.
    inputs_
        The columns that ``transform`` needs.
    types_
        How to read them from text: pass it to ``open_table`` as `types`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"amount": [1.5, None, 3.0, 2.0], "country": ["DE", "FR", "DE", "FR"]})
    >>> preparation = Preparation().fit(table)
    >>> preparation.names_
    ['amount', 'amount is missing', 'country=DE', 'country=FR']
    >>> preparation.transform(table.slice(1, 1))
    array([[2., 1., 0., 1.]])
    """

    names_: list[str]
    summary_: list[ColumnSummary]
    notes_: list[str]
    label_: str | None
    ids_: tuple[str, ...]

    def __init__(self, max_levels: int = 20) -> None:
        self.max_levels = max_levels
        self._steps: list[Step] = []

    def fit(
        self,
        table: Any,
        *,
        label: str | None = None,
        ids: Names = (),
        drop: Names = (),
        keep: Names | None = None,
    ) -> "Preparation":
        """Learn from a training table.

        Parameters
        ----------
        table
            A pyarrow table.
        label
            The column of labels, which is not learned from.
        ids
            Columns that name a row, which are not learned from either.
        drop
            Columns to leave out.
        keep
            The only columns to learn from; None for all others.
        """
        if type(self.max_levels) is not int or self.max_levels < 1:
            raise ValueError(
                f"`max_levels` must be a whole number from 1 on; got {self.max_levels!r}."
            )
        if not table.num_rows:
            raise TableError("The table has no rows to learn from.")
        check_names(table.column_names, "the table")
        roles = read_roles(table.column_names, label, ids, drop, keep)
        steps, summary, notes = _learn(table, roles, self.max_levels)
        if not steps:
            raise TableError(f"No column is left to learn from. {' '.join(notes)}")
        return self._set(steps, summary, notes, roles.label, roles.ids)

    def transform(self, batch: Any, *, first_row: int = 1) -> NDArray:
        """Return rows as float64, one column a name of ``names_``; extra columns are ignored.

        Parameters
        ----------
        batch
            A pyarrow record batch or table, its columns in any order.
        first_row
            Number of its first row, for errors.
        """
        if not self._steps:
            raise TableError(
                "This preparation is not fitted yet. Call `fit` with a training table."
            )
        known = batch.schema.names
        missing = [step.name for step in self._steps if step.name not in known]
        if missing:
            raise TableError(
                f"The table has no column {listed(missing, 5)}, which the model was fitted with. "
                f"{suggest(missing[0], known)}"
            )
        needed = set(self.inputs_)
        check_names([name for name in known if name in needed], "the table")
        result = np.zeros((batch.num_rows, len(self.names_)))
        start = 0
        for step in self._steps:
            end = start + len(step.names)
            step.fill(result[:, start:end], column_of(batch, step.name), first_row)
            start = end
        return result

    @property
    def inputs_(self) -> list[str]:
        """The columns that ``transform`` needs."""
        return [step.name for step in self._steps]

    @property
    def types_(self) -> dict[str, str]:
        """How to read the columns from text; ids as they are."""
        return {
            **{step.name: step.kind for step in self._steps},
            **dict.fromkeys(self.ids_, "text"),
        }

    def describe(self) -> str:
        """Return ``summary_`` as lines of text."""
        return format_summary(self.summary_)

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned as numbers, words and lists, ready for JSON."""
        return {
            "version": VERSION,
            "max_levels": self.max_levels,
            "label": self.label_,
            "ids": list(self.ids_),
            "steps": [step_to_dict(step) for step in self._steps],
            "summary": [list(row) for row in self.summary_],
            "notes": list(self.notes_),
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Preparation":
        """Return a fitted preparation from what ``to_dict`` gave; anything else is refused.

        Parameters
        ----------
        data
            Plain data, perhaps from a file that others have written.
        """
        names = ("version", "max_levels", "label", "ids", "steps", "summary", "notes")
        held = fields(data, *names)
        if type(held["version"]) is not int or held["version"] != VERSION:
            raise broken(f"the version {shorten(held['version'])}, not {VERSION}")
        if type(held["max_levels"]) is not int or held["max_levels"] < 1:
            raise broken(f"{shorten(held['max_levels'])} as `max_levels`")
        steps = [step_from_dict(step) for step in entries(held["steps"])]
        words([step.name for step in steps])  # distinct
        if not steps:
            raise broken("no steps")
        label = None if held["label"] is None else word(held["label"])
        notes = [word(note) for note in entries(held["notes"])]
        summary = summary_from_dict(held["summary"])
        return cls(held["max_levels"])._set(steps, summary, notes, label, words(held["ids"]))

    def _set(
        self,
        steps: list[Step],
        summary: list[ColumnSummary],
        notes: list[str],
        label: str | None,
        ids: tuple[str, ...],
    ) -> "Preparation":
        names = [name for step in steps for name in step.names]
        check_names(names, "the prepared table")
        self._steps, self.names_ = steps, names
        self.summary_, self.notes_ = summary, notes
        self.label_, self.ids_ = label, ids
        return self


def _learn(
    table: Any, roles: Roles, max_levels: int
) -> tuple[list[Step], list[ColumnSummary], list[str]]:
    """Decide for every column, and refuse all bad ones at once."""
    steps: list[Step] = []
    summary: list[ColumnSummary] = []
    notes: list[str] = []
    refused: list[str] = []
    for name in table.column_names:
        if name not in roles.used:
            role = "label" if name == roles.label else "id" if name in roles.ids else "left out"
            summary.append(ColumnSummary(name, _holds(table, name), role, 0))
            continue
        try:
            column = column_of(table, name)
            decision = decide(column, name, max_levels)
        except TableError as error:
            refused.append(str(error))
            continue
        if decision.step is not None:
            steps.append(decision.step)
        if decision.note is not None:
            notes.append(decision.note)
        outputs = 0 if decision.step is None else len(decision.step.names)
        summary.append(ColumnSummary(name, kind_of(column.type), decision.done, outputs))
    if refused:
        raise TableError(" ".join(refused))
    return steps, summary, notes


def _holds(table: Any, name: str) -> str:
    """Say what an unused column holds, which may be something that cannot be used."""
    try:
        return kind_of(column_of(table.slice(0, 0), name).type)
    except TableError:
        return str(table.schema.field(name).type)
