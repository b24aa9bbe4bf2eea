"""Options for reading tables, and conversion of columns to types despite a few bad cells."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables import cells
from boreod.tables.arrow import (
    MissingColumnsError,
    Names,
    TableError,
    as_mask,
    as_names,
    check_names,
    kind_of,
    option,
    pa,
    pc,
)
from boreod.tables.number_formats import CODE, NumberFormat, parse
from boreod.text import find_renames, listed, shorten, suggest
from boreod.validation import LARGEST, is_number

# The number of rows in a block, in formats that are read row by row.
BLOCK_ROWS = 10_000
# If rows are left out, the metadata of a batch holds the numbers of its rows under this key.
ROWS = b"boreod.rows"
# A cell may hold a large number if it has a large exponent or many digits.
LARGE = r"[eE]\+?\d{3}|(\d[ ,.']?){100}"
# The largest factor by which a column may be multiplied.
MAX_FACTOR = 1e30
# A pyarrow schema, and the record batches to come.
Typed = tuple[Any, Iterator[Any]]
# Rows as Python columns or as a record batch, and the place of each of these rows.
Values = tuple[dict[str, list[Any]], cells.Where]
Block = tuple[Any, cells.Where]
# A column, its bad cells, and its kind.
Converted = tuple[Any, NDArray, cells.Kind]


@dataclass(frozen=True)
class ReadOptions:
    """How a table is read.

    Parameters
    ----------
    format
        ``csv``, ``tsv``, ``jsonl`` (also an array of objects), ``parquet``, ``arrow``, ``xlsx``,
        ``sqlite`` or ``duckdb``. If None, the name of the file decides.
    separator
        One character between the cells of a line. If None, it is detected.
    header
        Where separated text or a sheet has its column names. A number is the number of their line.
        If True, they are in the first line. If False, there are none, and the columns are called
        c0, c1 and so on. If None, they are in the first line, or below titles with fewer cells, and
        a first line of only numbers is refused.
    encoding
        Encoding of text. If None, it is UTF-8, or UTF-16 with a byte order mark.
    decimal
        Decimal point of numbers in text, ``.`` or ``,``. If None, the cells decide. If they do not
        decide, as in 1,234, the column stays text.
    types
        Types of columns in text formats: ``number``, ``boolean``, ``text``, or a rule for how
        numbers or dates are written. The first rows decide the types of all other columns. Names
        that the table does not have are ignored.
    columns
        Names of the columns to read, in this order. If None, all columns are read.
    since
        Columns of ids, such as ``card`` or ``card:time``. Each of them adds a column: the time
        since the last row of the same id, in hours for dates. The table must be sorted by time.
    drop
        Names of columns to leave out. These columns may hold values of any type, and several of
        them may have the same name.
    bad_cells
        What to do with cells that hold no number in a column of numbers: ``missing`` treats them as
        missing, ``error`` raises an error, and ``drop`` leaves out their rows. A warning at the end
        gives the number of bad cells and the places of the first ones.
    computed
        Columns that the caller computes with. If None, these are all columns. In these columns,
        numbers beyond 1e150 are bad cells, because their squares may be infinite.
    query
        For a database, SQL or the name of a table. For a workbook, the name of a sheet. It may be
        None if there is only one table or sheet.
    labels
        A second file of labels, and the words that are labels. If None, only the column of labels
        is used.
    batch_rows
        Number of rows in a batch. The last batch may have fewer.
    rename
        Columns of the file to read under other names, such as ``{"Amount": "amount"}``. All other
        options use the new names.
    scale
        Columns of numbers to multiply by a factor, such as ``{"weight": 0.001}``.
    optional
        Columns that may be missing. If they are, the table is read without them.
    """

    format: str | None = None
    separator: str | None = None
    header: bool | int | None = None
    encoding: str | None = None
    decimal: str | None = None
    types: Mapping[str, str | cells.Rule] | None = None
    columns: Iterable[str] | None = None
    since: Any = ()
    drop: Names = ()
    bad_cells: str = "missing"
    computed: Iterable[str] | None = ()
    query: str | None = None
    labels: Any = None
    batch_rows: int = 50_000
    rename: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    optional: Iterable[str] = ()

    def __post_init__(self) -> None:
        if type(self.batch_rows) is not int or self.batch_rows < 1:
            raise TableError(
                f"`batch_rows` must be a whole number from 1 on; got {self.batch_rows!r}."
            )
        for name, kind in (self.types or {}).items():
            if kind not in cells.TYPES and not isinstance(kind, cells.Rule):
                raise TableError(
                    f"The type of a column must be one of {', '.join(cells.TYPES)}; got {kind!r} "
                    f"for {shorten(name)}."
                )
        if self.decimal not in (".", ",", None):
            raise TableError(f"`decimal` (--decimal) must be . or , and not {self.decimal!r}.")
        if len(set(self.rename.values())) < len(self.rename):
            raise TableError(
                "`rename` (--rename) gives one name to several columns: "
                f"{listed(f'{old}={new}' for old, new in self.rename.items())}. Leave one out."
            )
        for name, factor in self.scale.items():
            if not is_number(factor) or not 1 / MAX_FACTOR <= abs(factor) <= MAX_FACTOR:
                raise TableError(
                    f"`scale` (--scale) must be a number other than 0, from 1e-30 to 1e30 in size; "
                    f"got {shorten(factor)} for {shorten(name)}."
                )


@dataclass(frozen=True)
class Options(ReadOptions):
    """Options for the reader of a single format, and what the reader finds."""

    types: Mapping[str, str | cells.Rule] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    computed: tuple[str, ...] | None = ()
    optional: tuple[str, ...] = ()
    # Columns to drop that at least one file has.
    met: set[str] = field(default_factory=set)
    # All columns of the table, read or not, with their new names.
    seen: dict[str, None] = field(default_factory=dict)
    found: cells.BadCells = field(default_factory=cells.BadCells)

    def chosen(self, known: list[str], shown: str) -> list[int]:
        """Return the places of the columns to read.

        Refuse names that the table does not have, and columns to read that have the same name.
        """
        self._check_renames(known, shown)
        header = [self.rename.get(name, name) for name in known]
        self.seen.update(dict.fromkeys(header))
        wanted = None if self.columns is None else as_names(self.columns, known)
        if wanted is not None:
            wanted = tuple(n for n in wanted if n in known or n not in self.optional)
        dropped = as_names(self.drop, known)
        self.met.update(set(dropped) & set(known))
        needed = (name for name in dropped if name not in self.optional)
        check_columns((*(wanted or ()), *needed), known, shown, self.computed or (), header)
        if wanted is None:
            places = [place for place, name in enumerate(known) if name not in dropped]
        else:
            places = [p for name in wanted for p, other in enumerate(known) if other == name]
        check_names([known[place] for place in places], shown, places)
        if not places:
            check_columns(self.columns, known, shown, self.computed or (), header)
            raise TableError(f"No column of {shown} is left. Name fewer columns to drop (--drop).")
        return places

    def _check_renames(self, known: list[str], shown: str) -> None:
        """Raise if a column to rename is not there, or if another one has its new name."""
        for old, new in self.rename.items():
            if old not in known:
                raise TableError(
                    f"{shown} has no column {shorten(old)} to rename (`rename`, --rename). "
                    f"{suggest(old, known)}"
                )
            if new in known and new not in self.rename:
                raise TableError(
                    f"{shown} has a column {shorten(new)} already, so {shorten(old)} cannot have "
                    f"this name, too ({option('rename', f'{old}={new}')}). Leave the option out, "
                    f"or give {shorten(new)} another name, too."
                )

    def repaired(self, schema: Any) -> Any:
        """Return a schema with the new names of columns, and numbers in scaled columns."""
        fields = [field.with_name(self.rename.get(field.name, field.name)) for field in schema]
        names = [field.name for field in fields]
        for name in self.scale:
            if name not in names:
                raise TableError(
                    f"There is no column {shorten(name)} to multiply (`scale`, --scale) among "
                    f"those that are read. {suggest(name, names)}"
                )
            held = fields[names.index(name)]
            if kind_of(held.type) != "number" and self._format_of(name) is None:
                raise TableError(
                    f"`scale` (--scale) multiplies numbers, and column {shorten(name)} holds "
                    f"{kind_of(held.type)}. Name a column of numbers."
                )
            fields[names.index(name)] = pa.field(name, pa.float64())
        return pa.schema(fields)

    def repair(self, batch: Any) -> Any:
        """Return a batch with the new names of columns, and scaled columns multiplied."""
        schema = self.repaired(batch.schema)
        columns = batch.columns
        for name, factor in self.scale.items():
            place = schema.names.index(name)
            numbers = cells.as_numbers(columns[place], name, "number", 1, self._format_of(name))
            numbers *= factor
            if np.abs(np.nan_to_num(numbers)).max(initial=0.0) > LARGEST:
                raise TableError(
                    f"Column {shorten(name)} times {factor:g} is beyond {LARGEST:.0e}, too large "
                    "to compute with. Correct the factor (`scale`, --scale)."
                )
            columns[place] = pa.array(numbers, from_pandas=True)
        return pa.RecordBatch.from_arrays(
            columns, schema=schema.with_metadata(batch.schema.metadata)
        )

    def _format_of(self, name: str) -> NumberFormat | None:
        """Return how numbers of a column of text are written; None if there is no such rule."""
        old = next((old for old, new in self.rename.items() if new == name), name)
        rule = self.types.get(old)
        return rule if isinstance(rule, NumberFormat) else None


def check_columns(
    columns: Iterable[str] | None,
    known: list[str],
    shown: str,
    trained: Container[str] = (),
    header: list[str] | None = None,
) -> None:
    """Raise if a table lacks columns; one error names all missing columns of a model.

    If columns are renamed, ``header`` has the new names of the known columns.
    """
    missing = [name for name in columns or () if name not in known]
    gone = [name for name in missing if name in trained]
    if gone:
        renames = find_renames(gone, known, [name for name in known if name in trained])
        hints = "".join(f"; {shorten(new)} is new: renamed?" for new in renames.values())
        one = "it" if len(gone) == 1 else "them"
        remedy = f"The columns are {listed(known)}. Add {one}"
        if renames:
            remedy = option("rename", *(f"{new}={old}" for old, new in renames.items()))
            remedy = f"Rename {one}, here or in the file ({remedy})"
        raise MissingColumnsError(
            f"{shown} has no column {listed(gone, 5)}, which the model was fitted with{hints}"
            f"{'' if hints else '.'} {remedy}, or fit again to tables like this one.",
            header or known,
        )
    for name in missing:
        raise TableError(f"{shown} has no column {shorten(name)}. {suggest(name, known)}")


def rows_after(before: int) -> cells.Where:
    """Return a function that names the rows of a block, given the number of earlier rows."""
    return lambda row: f"Row {before + row + 1}"


def from_values(blocks: Iterator[Values], options: Options) -> Typed:
    """Return a table from blocks of Python values; strings stay text even if they hold digits."""
    values, where = next(blocks)
    first = _to_text(values)
    kinds = {}
    for name, column in zip(values, first.columns, strict=True):
        came_as = set(map(type, values[name])) - {type(None)}
        if name in options.types:
            kinds[name] = cells.declared_kind(options.types[name])
        elif came_as == {bool}:
            kinds[name] = cells.Kind("boolean")
        else:
            # Numbers with many digits are codes.
            kinds[name] = cells.find_kind(column, options.decimal if str in came_as else None)
            if str in came_as <= {str, bool}:
                rule = NumberFormat() if kinds[name] == ("number", None) else kinds[name].rule
                kinds[name] = cells.Kind("text", rule)
    rest = ((_to_text(own), at) for own, at in blocks)
    return typed(chain([(first, where)], rest), kinds, options)


def _to_text(values: dict[str, list[Any]]) -> Any:
    columns = [
        pa.array(
            [v if v is None or isinstance(v, str) else repr(v).lower() for v in own], pa.string()
        )
        for own in values.values()
    ]
    return pa.RecordBatch.from_arrays(columns, list(values))


def typed(blocks: Iterable[Block], kinds: dict[str, cells.Kind], options: Options) -> Typed:
    """Return a table from blocks of text, given the kinds of its columns."""
    schema = pa.schema([(name, cells.TYPES[kind.type]) for name, kind in kinds.items()])

    def convert(name: str, column: Any) -> Converted:
        kind = kinds[name]
        found, bad = cells.to_kind(column, kind)
        if kind == ("number", None) and name not in options.types:
            # Codes would lose digits as numbers.
            bad = bad | as_mask(pc.match_substring_regex(column, CODE))
        return found, bad, kind

    return _checked(schema, blocks, convert, options)


def cleaned(schema: Any, batches: Iterable[Any], options: Options) -> Typed:
    """Return a table of typed columns without its bad cells.

    Bad cells hold text that does not follow the rule of its column, or infinite numbers.
    """
    rules: dict[str, cells.Rule] = {}

    def blocks() -> Iterator[Block]:
        rows = 0
        for batch in batches:
            if not rows:
                rules.update(find_rules(batch, options))
            yield batch, rows_after(rows)
            rows += batch.num_rows

    def convert(name: str, column: Any) -> Converted:
        if name in rules:
            return column, rules[name].find_bad(column), cells.Kind("number", rules[name])
        if pa.types.is_floating(column.type):
            return column, as_mask(pc.is_inf(column)), cells.Kind("number")
        return column, np.zeros(len(column), bool), cells.Kind("number")

    return _checked(schema, blocks(), convert, options)


def find_rules(batch: Any, options: Options) -> dict[str, cells.Rule]:
    """Return the rules of columns of text that hold numbers or dates."""
    rules: dict[str, cells.Rule] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(column.type):
            rule: Any = options.types.get(name)
            if rule is None:
                rule = cells.find_rule(column, options.decimal)
            elif rule == "number":
                rule = NumberFormat()
            if isinstance(rule, cells.Rule):
                rules[name] = rule
    return rules


def row_numbers(batch: Any, first_row: int) -> NDArray:
    """Return the row numbers of a batch in its table; rows may have been left out between them."""
    numbers = (batch.schema.metadata or {}).get(ROWS)
    if numbers is None:
        return np.arange(first_row, first_row + batch.num_rows)
    return np.frombuffer(numbers, np.int64)


def _checked(
    schema: Any, blocks: Iterable[Block], convert: Callable[[str, Any], Converted], options: Options
) -> Typed:
    """Return a table with nulls for bad cells, or without their rows if the policy is to drop them.

    In columns that the caller computes with, numbers that are too large are bad cells.
    """
    found = options.found

    def batches() -> Iterator[Any]:
        for table, where in blocks:
            wrong = np.zeros(table.num_rows, bool)
            columns = []
            for name in schema.names:
                column, bad, kind = convert(name, table.column(name))
                large = np.zeros(len(column), bool)
                if options.computed is None or name in options.computed:
                    large = _find_large(column, kind.rule)
                found.add(table.column(name), bad, name, where, kind.what, large)
                columns.append(cells.with_nulls(column, bad | large))
                wrong |= bad | large
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            if found.policy == "drop":
                found.leave_out(wrong)
                batch = batch.filter(pa.array(~wrong))
            yield batch

    return schema, batches()


def _find_large(column: Any, rule: cells.Rule | None) -> NDArray:
    """Return which cells of a column hold finite numbers that are too large to compute with."""
    if pa.types.is_floating(column.type):
        # A limit of float64 does not fit into smaller floats.
        values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    elif isinstance(rule, NumberFormat) and pc.any(pc.match_substring_regex(column, LARGE)).as_py():
        values = parse(column, rule).values
    else:
        return np.zeros(len(column), bool)
    return (np.abs(values) > LARGEST) & np.isfinite(values)
