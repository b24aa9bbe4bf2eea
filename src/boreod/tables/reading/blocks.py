"""What to read of a table, and its columns in their types: a few bad cells do not matter."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import TableError, as_names, check_names, pa, pc
from boreod.tables.bad_cells import ROW, BadCells, clean, find_large
from boreod.tables.cells import TYPES, Kind, declared_kind, find_kind, to_kind
from boreod.tables.date_forms import DateForm, find_form
from boreod.tables.number_formats import CODE, NumberFormat, find_format
from boreod.text import listed, shorten, suggest, tell_renamed

Typed = tuple[Any, Iterator[Any]]  # a pyarrow schema, and the record batches to come


@dataclass(frozen=True)
class Options:
    """How to read a table; what a format does not need is left aside."""

    separator: str | None = None
    header: int | None = None  # its line, False for none
    encoding: str | None = None
    decimal: str | None = None
    types: Mapping[str, str | NumberFormat | DateForm] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    query: str | None = None
    bad_cells: BadCells = field(default_factory=BadCells)
    computed: tuple[str, ...] | None = ()  # columns of which numbers may be too large, None for all
    optional: tuple[str, ...] = ()  # of the columns, those that need not be there
    met: set[str] = field(default_factory=set)  # columns to drop that were there

    def __post_init__(self) -> None:
        for name, kind in self.types.items():
            if kind not in TYPES and not isinstance(kind, NumberFormat | DateForm):
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
        hint = tell_renamed(gone[0], known, [name for name in known if name in trained])
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
    where: Callable[[int], str]


def kind_of_values(column: Any, name: str, options: Options, *, numbers: bool, words: bool) -> Kind:
    """Return what cells hold that came as numbers, words or both; words stay text."""
    if name in options.types:
        return declared_kind(options.types[name])
    kind = find_kind(column, options.decimal if words else None)  # long numbers are codes
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

    return without_bad_rows(schema, map(batch, chain([first], rest)), options.bad_cells)


def cleaned(schema: Any, batches: Iterable[Any], options: Options) -> Typed:
    """Return a table that knows its types, without bad cells."""

    def clean_all() -> Iterator[tuple[Any, NDArray]]:
        rules: dict[str, NumberFormat | DateForm] | None = None
        start = 1
        for batch in batches:
            if rules is None and batch.num_rows:
                rules = find_rules(batch, options)
            where = partial(_name_row, start)
            yield clean(batch, rules or {}, where, options.bad_cells, options.computed)
            start += batch.num_rows

    return without_bad_rows(schema, clean_all(), options.bad_cells)


def _name_row(start: int, row: int) -> str:
    return f"Row {start + row}"


def find_rules(batch: Any, options: Options) -> dict[str, NumberFormat | DateForm]:
    """Return the rules of columns of text that hold numbers or dates."""
    rules: dict[str, NumberFormat | DateForm] = {}
    for field_ in batch.schema:
        if pa.types.is_string(field_.type):
            declared = options.types.get(field_.name)
            rule: Any = NumberFormat() if declared == "number" else declared
            if declared is None:
                form, doubtful = find_form(batch.column(field_.name))
                rule = DateForm(form) if form and not doubtful else None
                rule = rule or find_format(batch.column(field_.name), options.decimal)
            if isinstance(rule, NumberFormat | DateForm):
                rules[field_.name] = rule
    return rules


def without_bad_rows(schema: Any, batches: Iterable[tuple[Any, NDArray]], found: BadCells) -> Typed:
    """Return a table; rows with bad cells are left out if so asked, and the others numbered."""
    if found.policy != "drop":
        return schema, (batch for batch, _ in batches)

    def kept() -> Iterator[Any]:
        for batch, bad in batches:
            numbers = np.arange(found.seen + 1, found.seen + 1 + batch.num_rows)
            found.seen += batch.num_rows
            found.rows += int(bad.sum())
            whole = batch.append_column(ROW, pa.array(numbers))
            yield whole.filter(pa.array(~bad)) if bad.any() else whole

    return schema.append(pa.field(ROW, pa.int64())), kept()


def _convert(block: Block, name: str, kind: Kind, options: Options, wrong: NDArray) -> Any:
    """Return a column in its type; take note of cells that do not fit."""
    column = block.table.column(name)
    found, bad = to_kind(column, kind)
    if kind == ("number", None) and name not in options.types:
        codes = pc.match_substring_regex(column, CODE)  # these would change as numbers
        if pc.any(codes).as_py():
            mask = pc.fill_null(codes, False).to_numpy(zero_copy_only=False)
            bad = mask if bad is None else bad | mask
            found = pc.replace_with_mask(found, pa.array(mask), pa.scalar(None, found.type))
    bad = np.zeros(len(column), bool) if bad is None else bad
    what = "number" if kind.rule is None else kind.rule.what
    what = "truth value" if kind.type == "boolean" else what
    large = None
    if kind.type != "boolean" and (options.computed is None or name in options.computed):
        large = find_large(found, kind.rule)
    options.bad_cells.add(column, bad, name, block.where, what, large)
    if large is not None and large.any():
        bad |= large
        found = pc.replace_with_mask(found, pa.array(large), pa.scalar(None, found.type))
    wrong |= bad
    return found
