"""The time since the last row of the same id, such as a card, in a table sorted by time.

The rows are read in order, and the last time of every id is remembered. So the table must be sorted
by time and be read as a whole. For a single row, the time since the last row is not known.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import typed_json
from boreod.tables.arrow import TableError, column_of, encode, kind_of, pa
from boreod.tables.cells import as_numbers, as_text
from boreod.tables.preparing import dates, decisions
from boreod.text import listed, shorten, suggest

METADATA = b"boreod.since"


@dataclass(frozen=True)
class Since:
    """The column of ids and the column of times from which a new column is computed."""

    id: str
    time: str
    kind: str = "number"
    # The form of a DateStep, or None if times are numbers in any unit.
    form: str | None = None
    zone: str | None = None

    @property
    def name(self) -> str:
        """Name of the new column."""
        return f"time since last {self.id}"

    @property
    def is_possible(self) -> bool:
        """Whether a fit could have learned these values."""
        if self.form is None:
            return self.kind == "number" and self.zone is None
        return dates.DateStep(self.time, self.kind, self.form, self.zone).is_possible

    def read(self, batch: Any, first_row: int) -> NDArray:
        """Return the times: dates in hours, numbers in their own unit, NaN for missing cells."""
        column = column_of(batch, self.time)
        if self.form is None:
            return as_numbers(column, self.time, "number", first_row)
        return (
            dates.read_moments(column, self.time, self.form, self.zone, first_row).instant / 3600.0
        )


Asked = str | Iterable[str | Since]


def is_whole(batch: Any) -> bool:
    """Return whether rows are a whole table, and not a part of one or a single row."""
    return isinstance(batch, pa.Table) and batch.num_rows > 1


def found_in(schema: Any) -> list[Since]:
    """Return how the columns with times since the last row were made."""
    stored = [(field.metadata or {}).get(METADATA) for field in schema]
    return [typed_json(Since, json.loads(text), "since") for text in stored if text is not None]


def add_to_table(table: Any, asked: Asked) -> Any:
    """Return a whole table with the requested new columns."""
    if not as_list(asked):
        return table
    batches = table.combine_chunks().to_batches()
    schema, made = add_to_batches(table.schema, iter(batches), asked)
    return pa.Table.from_batches(list(made), schema)


def add_to_batches(schema: Any, batches: Iterator[Any], asked: Asked) -> tuple[Any, Iterator[Any]]:
    """Return schema and batches with the requested new columns.

    Only the ids and their last times stay in memory.
    """
    first = next(batches, None)
    if first is None:
        return schema, batches
    found = [s if isinstance(s, Since) else _resolve(s, first) for s in as_list(asked)]
    for since in found:
        for name in sorted({since.id, since.time} - set(schema.names)):
            raise TableError(
                f"`since` (--since) needs the column {shorten(name)}, which is not there or "
                f"left out. {suggest(name, schema.names)}"
            )
        if since.name in schema.names:
            raise TableError(f"The table has a column {shorten(since.name)} already. Rename it.")
        # The metadata of the field says how the column was made.
        metadata = {METADATA: json.dumps(asdict(since)).encode()}
        schema = schema.append(pa.field(since.name, pa.float64(), metadata=metadata))
    return schema, _added(schema, chain([first], batches), found)


def as_list(asked: Asked) -> list[Any]:
    """Return the requested columns as a list; commas separate several names in one string."""
    found: list[Any] = []
    for one in [asked] if isinstance(asked, str) else asked:
        found += map(str.strip, one.split(",")) if isinstance(one, str) else [one]
    return found


def _added(schema: Any, batches: Iterable[Any], found: list[Since]) -> Iterator[Any]:
    memories = list(map(_Memory, found))
    row = 1
    for batch in batches:
        columns = [*batch.columns, *(memory.add(batch, row) for memory in memories)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        row += batch.num_rows


@dataclass
class _Memory:
    """The last time of every id in the rows read so far, and the latest time of all."""

    since: Since
    last: dict[str, float] = field(default_factory=dict)
    latest: float = -np.inf

    def add(self, batch: Any, first_row: int) -> Any:
        """Return, for each row, the time since the last row of its id; null if there is none."""
        times = self.since.read(batch, first_row)
        there = np.flatnonzero(~np.isnan(times))
        earlier = np.diff(times[there], prepend=self.latest) < 0
        if earlier.any():
            row = first_row + int(there[np.argmax(earlier)])
            raise TableError(
                f"The time since the last row of {shorten(self.since.id)} needs a table that is "
                f"sorted by {shorten(self.since.time)}; row {row} is earlier than a row before it. "
                "Sort the table."
            )
        self.latest = times[there[-1]] if len(there) else self.latest
        distinct, codes = encode(as_text(column_of(batch, self.since.id), self.since.id))
        there = there[codes[there] < len(distinct)]
        # The rows of an id stand together, in the order of time.
        order = there[np.argsort(codes[there], kind="stable")]
        own = codes[order]
        when = times[order]
        before = np.roll(when, 1)
        is_first = np.diff(own, prepend=-1) != 0
        words = distinct.take(pa.array(own[is_first])).to_pylist()
        before[is_first] = [self.last.get(word, np.nan) for word in words]
        result = np.full(len(times), np.nan)
        result[order] = when - before
        is_last = np.diff(own, append=-1) != 0
        self.last.update(zip(words, when[is_last], strict=True))
        return pa.array(result, pa.float64(), from_pandas=True)


def _resolve(text: str, batch: Any) -> Since:
    """Return the columns meant by ``card`` or ``card:time``, given the first rows of a table."""
    names = batch.schema.names
    owner, _, time = (text, "", "") if text in names else text.rpartition(":")
    if not owner or owner not in names or (time and time not in names):
        wrong = time if owner in names else owner or text
        raise TableError(
            "`since` (--since) must name a column of ids and perhaps one of times, such as card "
            f"or card:time; got {shorten(text)}. {suggest(wrong, names)}"
        )
    if time:
        return _read_time(owner, time, batch)
    found = []
    for name in names:
        with suppress(TableError):
            since = _read_time(owner, name, batch)
            if name != owner and since.form is not None:
                found.append(since)
    if len(found) == 1:
        return found[0]
    times = listed([since.time for since in found])
    what = f"{times} hold dates" if found else "none of its columns holds dates"
    raise TableError(
        f"`since` (--since) {shorten(text)} needs one column of dates, and {what}. Name it: "
        f"{text}:COLUMN."
    )


def _read_time(owner: str, name: str, batch: Any) -> Since:
    column = column_of(batch, name)
    step = decisions.decide(column, decisions.Question(name)).step
    if isinstance(step, dates.DateStep):
        return Since(owner, name, step.kind, step.form, step.zone)
    # A column that holds a single date has no step.
    if kind_of(column.type) == "date or time":
        return Since(owner, name, "text", "year-month-day", getattr(column.type, "tz", None))
    if kind_of(column.type) == "number":
        return Since(owner, name)
    raise TableError(
        f"`since` (--since) needs a column of dates, times or numbers; {shorten(name)} holds words."
    )
