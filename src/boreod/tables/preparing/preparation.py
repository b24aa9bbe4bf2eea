"""Turn the columns of a table into a float64 matrix, for training rows and new rows alike."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.files import typed_json
from boreod.tables.arrow import Names, TableError, as_names, check_names, column_of, kind_of
from boreod.tables.preparing import decisions, leaks
from boreod.tables.preparing.since import Since, add_to_table, found_in, is_whole
from boreod.tables.preparing.steps import STORED_BYTES, LevelStep, Step, Targets, make_targets
from boreod.tables.reading.blocks import check_columns
from boreod.text import listed, shorten, suggest, tell_once

# The version of stored preparations.
VERSION = 3
RESULT = "left out: a result of scoring"
# No stored preparation can have more columns.
MAX_COLUMNS = 100_000


class ColumnSummary(NamedTuple):
    """A column, what it holds, what was done to it, and how many output columns it became."""

    column: str
    holds: str
    done: str
    outputs: int


class Preparation:
    """Learn from a training table how to turn its columns into numbers.

    Numbers stay as they are, booleans become 0 and 1, and categories get one column per level. Ids
    with many levels become their frequency and, if there are labels, their odds of the code 1.
    Dates become hour, weekday, day of the month and age. Free text becomes a few counts.
    Missing numbers get the median of the training rows. If some were missing in training, an extra
    column marks them. Columns with a single value and ids of rows are left out with a note.

    Parameters
    ----------
    max_levels
        Maximum number of levels of a category that get a column each; other levels are pooled.
    seed
        Random seed of the order of rows in which levels of ids are learned.

    Attributes
    ----------
    names_
        Names of the output columns.
    summary_
        What was done to each input column.
    notes_
        Remarks for the user.
    label_, ids_
        The column of labels (None if there is none), and the columns of ids.
    since_
        The new columns of times since the last row of an id, each computed from two columns.
    inputs_
        The columns that ``transform`` needs.
    types_
        How to read these columns from text; pass it to ``open_table`` as `types`.

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

    def __init__(self, max_levels: int = 20, seed: int = 0) -> None:
        self.max_levels = max_levels
        self.seed = seed
        self.steps_: list[Step] = []

    def fit(self, table: Any, codes: NDArray | None = None, **options: Any) -> "Preparation":
        """Learn from a training table; parameters are those of :meth:`fit_transform`."""
        self.fit_transform(table, codes, **options)
        return self

    @tell_once()
    def fit_transform(
        self,
        table: Any,
        codes: NDArray | None = None,
        *,
        label: str | None = None,
        ids: Names = (),
        drop: Names = (),
        keep: Names | None = None,
        decimal: str | None = None,
        assume: bool = True,
    ) -> NDArray:
        """Learn from a training table, and return its rows as a matrix for training.

        The result may differ from that of :meth:`transform`: for an id with many levels, the
        numbers of a row do not depend on the row itself.

        Parameters
        ----------
        table
            A pyarrow table.
        codes
            Labels: 1, 0, or -1 for unlabelled rows. If None, there are no labels.
        label
            The column of labels, which is not learned from.
        ids
            Columns that identify a row, which are not learned from, either. In ``ids``, ``drop``
            and ``keep``, one string may hold several names, separated by commas.
        drop
            Columns to leave out.
        keep
            The only columns to learn from. If None, these are all columns without another role.
        decimal
            Decimal point of numbers in text, if their column does not decide it.
        assume
            Whether unlabelled rows count as the code 0.
        """
        if type(self.max_levels) is not int or self.max_levels < 1:
            raise ValueError(
                f"`max_levels` must be a whole number from 1 on; got {self.max_levels!r}."
            )
        if not table.num_rows:
            raise TableError("The table has no rows to learn from.")
        check_names(table.column_names, "the table")
        ids = as_names(ids, table.column_names)
        roles = _read_roles(table.column_names, label, ids, drop, keep)
        found = leaks.find_results(table.column_names, label) if keep is None else []
        results = [name for name in found if roles[name] == "used"]
        roles |= dict.fromkeys(results, RESULT)
        since = found_in(table.schema)
        made = [one.name for one in since]
        roles |= dict.fromkeys(made, "used")
        targets = None if codes is None else make_targets(codes, assume, self.seed)
        wanted = set(made if keep is None else table.column_names)
        question = decisions.Question("", self.max_levels, targets, decimal)
        steps, summary, notes = _learn(table, roles, question, wanted)
        notes += leaks.result_notes(results, label)
        if not steps:
            raise TableError(
                f"No column is left to learn from. {' '.join(notes)} Columns with values that "
                "differ between rows, and that rows have in common, are needed: amounts, "
                "categories, dates."
            )
        known = (VERSION, self.max_levels, label, list(ids), assume, self.seed)
        self._set(_Learned(*known, since, steps, summary, notes))
        matrix = self._fill_training(table, targets)
        if codes is not None:
            owners = [(step.name, name) for step in steps for name in step.names]
            notes += leaks.find_leaks(table, codes, assume, matrix, owners, list(ids))
        return matrix

    def transform(self, batch: Any, *, first_row: int = 1) -> NDArray:
        """Return rows as float64 with the columns ``names_``; extra input columns are ignored.

        A batch is a pyarrow record batch or table with its columns in any order. Errors count its
        rows from ``first_row``.
        """
        if not self.steps_:
            raise TableError("This preparation is not fitted yet. Call `fit` first.")
        known = batch.schema.names
        check_columns(self.inputs_, known, "The table", self.inputs_)
        needed = set(self.inputs_)
        check_names([name for name in known if name in needed], "the table")
        return self._fill(
            self._complete(batch), lambda step, part, column: step.fill(part, column, first_row)
        )

    def transform_training(self, table: Any, codes: NDArray | None) -> NDArray:
        """Return the rows of the training table again, as :meth:`fit_transform` gave them."""
        learned = self._learned
        targets = None if codes is None else make_targets(codes, learned.assume, learned.seed)
        if targets is None and any(isinstance(s, LevelStep) and s.total_known for s in self.steps_):
            raise TableError(
                "The training table had enough labelled outliers to learn from ids, and these "
                "labels have too few. Pass the labels of the training table."
            )
        return self._fill_training(self._complete(table), targets)

    def _complete(self, batch: Any) -> Any:
        """Add the times since the last row of an id to a batch, if the model uses such times."""
        wanted = [since for since in self.since_ if since.name not in batch.schema.names]
        if wanted and not is_whole(batch):
            raise TableError(
                f"This model uses the {wanted[0].name!r}, which a single row or a part of a table "
                "does not have. Score a whole file, or a frame of several rows, sorted by "
                f"{shorten(wanted[0].time)}."
            )
        return add_to_table(batch, wanted) if wanted else batch

    def _fill_training(self, table: Any, targets: Targets | None) -> NDArray:
        return self._fill(table, lambda step, part, col: step.fill_training(part, col, targets))

    def _fill(self, table: Any, fill: Callable[[Step, NDArray, Any], NDArray]) -> NDArray:
        result = np.zeros((table.num_rows, len(self.names_)))
        start = 0
        for step in self.steps_:
            part = result[:, start : start + len(step.outputs)]
            start += len(step.outputs)
            missing = fill(step, part, column_of(table, step.name))
            if step.marked:
                part[:, -1] = missing
        return result

    @property
    def differs_in_training(self) -> bool:
        """Whether ``transform`` would give training rows other values than they got in the fit."""
        return any(isinstance(step, LevelStep) for step in self.steps_)

    @property
    def inputs_(self) -> list[str]:
        """The columns that ``transform`` needs."""
        made = {since.name: since for since in self.since_}
        names = [step.name for step in self.steps_ if step.name not in made]
        return list(dict.fromkeys([*names, *(n for s in made.values() for n in (s.id, s.time))]))

    @property
    def marks_(self) -> dict[int, int]:
        """For each output column with filled-in values, the index of the column that marks them."""
        origins = [(step.name, kind) for step in self.steps_ for kind, _ in step.outputs]
        marks = {name: place for place, (name, kind) in enumerate(origins) if kind == "missing"}
        return {
            place: marks[name]
            for place, (name, kind) in enumerate(origins)
            if kind == "value" and name in marks
        }

    @property
    def types_(self) -> dict[str, Any]:
        """How to read the columns from text; ids are read as they are written."""
        kinds: dict[str, Any] = {since.id: "text" for since in self.since_}
        kinds |= {since.time: since.kind for since in self.since_}
        kinds |= {step.name: step.reading for step in self.steps_}
        return kinds | dict.fromkeys(self.ids_, "text")

    def describe(self) -> str:
        """Return ``summary_`` as lines of aligned text."""
        rows = [ColumnSummary._fields, *self.summary_]
        widths = [max(len(str(row[i])) for row in rows) for i in range(4)]
        return "\n".join(
            "  ".join([*map(str.ljust, row[:3], widths), str(row[3]).rjust(widths[3])])
            for row in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned as numbers, words and lists, ready for JSON."""
        kinds = {step: becomes for becomes, step in decisions.STEPS.items()}
        steps = [{"becomes": kinds[type(step)], **asdict(step)} for step in self.steps_]
        summary = [list(row) for row in self.summary_]
        return {**asdict(replace(self._learned, steps=[])), "steps": steps, "summary": summary}

    @classmethod
    def from_dict(cls, data: Any) -> "Preparation":
        """Return a fitted preparation from the result of ``to_dict``; refuse anything else."""
        try:
            stored = typed_json(_Learned, data, "preparation")
            learned = replace(stored, steps=list(map(_read_step, stored.steps)))
            learned.check()
            return cls(learned.max_levels, learned.seed)._set(learned)
        except ValueError as error:
            reason = str(error).partition(". ")[0]
            raise TableError(
                f"The stored preparation of columns is damaged or of another version: {reason}. "
                "Fit again."
            ) from None

    def _set(self, learned: "_Learned") -> "Preparation":
        names = [name for step in learned.steps for name in step.names]
        check_names(names, "the prepared table")
        self._learned = learned
        self.steps_ = learned.steps
        self.names_ = names
        self.summary_ = [ColumnSummary(*row) for row in learned.summary]
        self.notes_ = learned.notes
        self.label_ = learned.label
        self.ids_ = tuple(learned.ids)
        self.since_ = tuple(learned.since)
        return self


@dataclass(frozen=True)
class _Learned:
    """What a preparation has learned; this is what a model file stores."""

    version: int
    max_levels: int
    label: str | None
    ids: list[str]
    assume: bool
    seed: int
    since: list[Since]
    # The steps, or their stored form.
    steps: list[Any]
    summary: list[tuple[str, str, str, int]]
    notes: list[str]

    def check(self) -> None:
        """Refuse what ``fit`` cannot have learned."""
        steps = self.steps
        for is_right, what in (
            (self.version == VERSION, f"the version {shorten(self.version)}, not {VERSION}"),
            (self.max_levels >= 1, f"{shorten(self.max_levels)} as `max_levels`"),
            (all(since.is_possible for since in self.since), "an impossible column of times"),
            (self.seed >= 0, f"{shorten(self.seed)} as seed"),
            (all(s.is_possible and s.names for s in steps), "a step that no fit could learn"),
            (len({step.name for step in steps}) == len(steps) > 0, "a column twice, or none"),
            (len(set(self.ids)) == len(self.ids), "an id twice"),
            (sum(len(step.names) for step in steps) <= MAX_COLUMNS, "too many columns"),
            (all(row[3] >= 0 for row in self.summary), "a negative number of columns"),
        ):
            if not is_right:
                raise ValueError(f"it has {what}")


def _read_step(data: Any) -> Step:
    """Return a step from stored data, which may be anything."""
    stored = dict(data) if isinstance(data, dict) else {}
    becomes = stored.pop("becomes", None)
    if not isinstance(becomes, str) or becomes not in decisions.STEPS:
        raise ValueError(f"it has a step for {shorten(becomes)}")
    if becomes == "date":
        # Older files do not have ``zoned``.
        stored.setdefault("zoned", None)
    return typed_json(decisions.STEPS[becomes], stored, "step")


def _read_roles(
    known: list[str], label: str | None, ids: tuple[str, ...], drop: Names, keep: Names | None
) -> dict[str, str]:
    """Return what each column of a table is: label, id, left out, or used."""
    asked = {
        "label": () if label is None else (label,),
        "ids": ids,
        "drop": as_names(drop, known),
        "keep": () if keep is None else as_names(keep, known),
    }
    role_of: dict[str, str] = {}
    for role, names in asked.items():
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"`{role}` must be names of columns; got {name!r}.")
            if name not in known:
                flag = "--id" if role == "ids" else f"--{role}"
                raise TableError(
                    f"`{role}` ({flag}) must name columns of the table; got {shorten(name)}. "
                    f"{suggest(name, known)}"
                )
            if role_of.setdefault(name, role) != role:
                raise TableError(
                    f"A column can have one role; {shorten(name)} is named in both "
                    f"`{role_of[name]}` and `{role}`. Take it out of one."
                )
    if keep is not None and not asked["keep"]:
        raise TableError("`keep` (--keep) must name at least one column, or be left out.")
    others = "keep" if keep is None else "drop"
    shown = {"label": "label", "ids": "id", "drop": "left out", "keep": "used"}
    roles = {name: shown[role_of.get(name, others)] for name in known}
    if "used" not in roles.values():
        raise TableError(
            f"No column is left to learn from; the table has {listed(known)}. Name fewer columns "
            "as `label`, `ids` or `drop`."
        )
    return roles


def _learn(
    table: Any, roles: dict[str, str], question: decisions.Question, wanted: set[str]
) -> tuple[list[Step], list[tuple[str, str, str, int]], list[str]]:
    """Decide the step of every column, and refuse all bad columns in one error."""
    steps: list[Step] = []
    summary: list[tuple[str, str, str, int]] = []
    notes: list[str] = []
    refused: list[str] = []
    for name, role in roles.items():
        if role != "used":
            summary.append((name, _holds(table, name), role, 0))
            continue
        try:
            column = column_of(table, name)
            decision = decisions.decide(column, replace(question, name=name, wanted=name in wanted))
        except TableError as error:
            refused.append(str(error))
            continue
        outputs = 0
        if decision.step is not None:
            steps.append(decision.step)
            outputs = len(decision.step.names)
        if decision.note is not None:
            notes.append(decision.note)
        summary.append((name, kind_of(column.type), decision.done, outputs))
    if refused:
        raise TableError(" ".join(refused))
    many = sum(isinstance(step, LevelStep) for step in steps)
    kept = [s.within(STORED_BYTES // many) if isinstance(s, LevelStep) else s for s in steps]
    return kept, summary, notes


def _holds(table: Any, name: str) -> str:
    """Return what an unused column holds, even if no step could use it."""
    try:
        return kind_of(column_of(table.slice(0, 0), name).type)
    except TableError:
        return str(table.schema.field(name).type)
