"""What to read of a table, and its columns in their types: a few bad cells do not matter."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_mask, as_names, check_names, pa, pc
from boreod.tables.cells import (
    TYPES,
    BadCells,
    Kind,
    Rule,
    Where,
    declared_kind,
    find_kind,
    find_written,
    to_kind,
    with_nulls,
)
from boreod.tables.number_formats import CODE, NumberFormat, parse
from boreod.text import listed, renamed_hint, shorten, suggest
from boreod.validation import LARGEST

BLOCK_ROWS = 10_000  # of formats that are read row by row
ROW = "\0row"  # a column of row numbers, where rows are left out
LONG = r"[eE]\+?\d{3}|(\d[ ,.']?){100}"  # what large numbers look like: an exponent, or many digits
ROWS = b"boreod.rows"  # the same as metadata of a batch
Typed = tuple[Any, Iterator[Any]]  # a pyarrow schema, and the record batches to come


@dataclass(frozen=True)
class Options:
    """How to read a table; what a format does not need is left aside."""

    separator: str | None = None
    header: int | None = None  # its line, False for none
    encoding: str | None = None
    decimal: str | None = None
    types: Mapping[str, str | Rule] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    query: str | None = None
    bad_cells: BadCells = field(default_factory=BadCells)
    computed: tuple[str, ...] | None = ()  # columns of which numbers may be too large, None for all
    optional: tuple[str, ...] = ()  # columns that need not be there
    met: set[str] = field(default_factory=set)  # columns to drop that were there
    batch_rows: int = 50_000  # rows of a batch, as far as a format reads so many at once

    def __post_init__(self) -> None:
        for name, kind in self.types.items():
            if kind not in TYPES and not isinstance(kind, Rule):
                raise TableError(
                    f"The type of a column must be one of {', '.join(TYPES)}; got {kind!r} for "
                    f"{shorten(name)}."
                )
        if self.decimal not in (".", ",", None):
            raise TableError(f"`decimal` (--decimal) must be . or , and not {self.decimal!r}.")

    def chosen(self, known: list[str], shown: str) -> list[int]:
        """Return the places of the columns to read; the others may be called anything.

        Refuse names of columns that are not there, and columns to read with the same name.
        """
        wanted = None if self.columns is None else as_names(self.columns, known)
        if wanted is not None:
            wanted = tuple(n for n in wanted if n in known or n not in self.optional)
        dropped = as_names(self.drop, known)
        self.met.update(set(dropped) & set(known))
        needed = (name for name in dropped if name not in self.optional)
        check_columns((*(wanted or ()), *needed), known, shown, self.computed or ())
        if wanted is None:
            places = [place for place, name in enumerate(known) if name not in dropped]
        else:
            places = [p for name in wanted for p, other in enumerate(known) if other == name]
        check_names([known[place] for place in places], shown, places)
        if not places:
            raise TableError(f"No column of {shown} is left. Name fewer of them to drop (--drop).")
        return places


def check_columns(
    columns: Iterable[str] | None, known: list[str], shown: str, trained: Container[str] = ()
) -> None:
    """Refuse names of columns that are not there; those of a model, ``trained``, all at once."""
    missing = [name for name in columns or () if name not in known]
    gone = [name for name in missing if name in trained]
    if gone:
        hint = renamed_hint(gone[0], known, [name for name in known if name in trained])
        one = "it" if len(gone) == 1 else "them"
        remedy = f"Rename {one}" if hint else f"The columns are {listed(known)}. Add {one}"
        raise TableError(
            f"{shown} has no column {listed(gone, 5)}, which the model was fitted with{hint}"
            f"{'' if hint else '.'} {remedy}, or fit again to tables like this one."
        )
    for name in missing:
        raise TableError(f"{shown} has no column {shorten(name)}. {suggest(name, known)}")


@dataclass(frozen=True)
class Block:
    """Columns of text for some rows, and where each of these rows is in the file."""

    table: Any
    where: Where


def kind_of_values(column: Any, name: str, options: Options, *, numbers: bool, words: bool) -> Kind:
    """Return what cells hold that came as numbers, words or both; words stay text."""
    if name in options.types:
        return declared_kind(options.types[name])
    # Long numbers are codes.
    kind = find_kind(column, options.decimal if words else None)
    if numbers or not words:
        return kind
    return Kind("text", NumberFormat() if kind == ("number", None) else kind.rule)


def typed(first: Block, rest: Iterable[Block], kinds: dict[str, Kind], options: Options) -> Typed:
    """Return the table of some blocks, given what the columns of the first one are."""
    schema = pa.schema([(name, TYPES[kind.type]) for name, kind in kinds.items()])

    def batch(block: Block) -> tuple[Any, NDArray]:
        wrong = np.zeros(block.table.num_rows, bool)
        columns = [_convert(block, name, kind, options, wrong) for name, kind in kinds.items()]
        return pa.RecordBatch.from_arrays(columns, schema=schema), wrong

    return _without_bad_rows(schema, map(batch, chain([first], rest)), options.bad_cells)


def cleaned(schema: Any, batches: Iterable[Any], options: Options) -> Typed:
    """Return a table that knows its types, without bad cells."""

    def clean_all() -> Iterator[tuple[Any, NDArray]]:
        rules: dict[str, Rule] | None = None
        start = 1
        for batch in batches:
            if rules is None and batch.num_rows:
                rules = find_rules(batch, options)
            yield _clean(batch, rules or {}, partial(_name_row, start), options)
            start += batch.num_rows

    return _without_bad_rows(schema, clean_all(), options.bad_cells)


def _name_row(start: int, row: int) -> str:
    return f"Row {start + row}"


def find_rules(batch: Any, options: Options) -> dict[str, Rule]:
    """Return the rules of columns of text that hold numbers or dates."""
    rules: dict[str, Rule] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(column.type):
            rule: Any = options.types.get(name)
            if rule is None:
                rule = find_written(column, options.decimal).rule
            elif rule == "number":
                rule = NumberFormat()
            if isinstance(rule, Rule):
                rules[name] = rule
    return rules


def row_numbers(batch: Any, first_row: int) -> NDArray:
    """Return the numbers of a batch's rows in its table; some may have been left out."""
    numbers = (batch.schema.metadata or {}).get(ROWS)
    if numbers is None:
        return np.arange(first_row, first_row + batch.num_rows)
    return np.frombuffer(numbers, np.int64)


def _without_bad_rows(
    schema: Any, batches: Iterable[tuple[Any, NDArray]], found: BadCells
) -> Typed:
    """Return a table; rows with bad cells are left out if so asked, and the others numbered."""
    if found.policy != "drop":
        return schema, (batch for batch, _ in batches)

    def kept() -> Iterator[Any]:
        for batch, bad in batches:
            numbers = np.arange(found.seen + 1, found.seen + 1 + batch.num_rows)
            found.seen += batch.num_rows
            found.rows += int(bad.sum())
            yield batch.append_column(ROW, pa.array(numbers)).filter(pa.array(~bad))

    return schema.append(pa.field(ROW, pa.int64())), kept()


def _clean(
    batch: Any, rules: Mapping[str, Rule], where: Where, options: Options
) -> tuple[Any, NDArray]:
    """Return a batch with nulls for bad cells, and the rows that hold one.

    Bad cells hold text that does not follow the rule of its column, infinite numbers, or numbers
    that are too large.
    """
    wrong = np.zeros(batch.num_rows, bool)
    for place, field_ in enumerate(batch.schema):
        column = batch.column(place)
        rule = None
        if field_.name in rules and pa.types.is_string(field_.type):
            rule = rules[field_.name]
            bad = rule.find_bad(column)
        elif pa.types.is_floating(field_.type):
            bad = as_mask(pc.is_inf(column))
        else:
            continue
        block = Block(batch, where)
        found, bad = _emptied(block, field_.name, column, bad, Kind("number", rule), options)
        wrong |= bad
        if found is not column:
            batch = batch.set_column(place, field_, found)
    return batch, wrong


def _convert(block: Block, name: str, kind: Kind, options: Options, wrong: NDArray) -> Any:
    """Return a column in its type; take note of cells that do not fit."""
    column = block.table.column(name)
    found, bad = to_kind(column, kind)
    if bad is None:
        bad = np.zeros(len(column), bool)
    if kind == ("number", None) and name not in options.types:
        # Codes would change as numbers.
        bad = bad | as_mask(pc.match_substring_regex(column, CODE))
    found, bad = _emptied(block, name, found, bad, kind, options)
    wrong |= bad
    return found


def _emptied(
    block: Block, name: str, found: Any, bad: NDArray, kind: Kind, options: Options
) -> tuple[Any, NDArray]:
    """Return a column with nulls for bad cells, and which cells these are.

    Numbers that are too large are bad in columns that are computed with.
    """
    what = "truth value" if kind.type == "boolean" else "number"
    if kind.rule is not None:
        what = kind.rule.what
    large = np.zeros(len(found), bool)
    if options.computed is None or name in options.computed:
        large = _find_large(found, kind.rule)
    options.bad_cells.add(block.table.column(name), bad, name, block.where, what, large)
    bad = bad | large
    return with_nulls(found, bad), bad


def _find_large(column: Any, rule: Rule | None) -> NDArray:
    """Return which numbers of a column are finite, and too large to compute with."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
    elif isinstance(rule, NumberFormat) and pc.any(pc.match_substring_regex(column, LONG)).as_py():
        values = parse(column, rule).values
    else:
        return np.zeros(len(column), bool)
    return (np.abs(values) > LARGEST) & np.isfinite(values)
