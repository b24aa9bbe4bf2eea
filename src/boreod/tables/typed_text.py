"""Blocks of text cells as batches whose columns keep the types that the first block has."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from boreod.tables.arrow import pa
from boreod.tables.cells import TYPES, check_types, convert, find_kind, has_decimal_commas
from boreod.tables.errors import TableError, option
from boreod.text import shorten, suggest


@dataclass(frozen=True)
class Options:
    """How to read a table; what a format does not need is left aside."""

    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str = "."
    types: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_types(self.types)
        if self.decimal not in (".", ","):
            raise TableError(f"`decimal` (--decimal) must be . or , and not {self.decimal!r}.")


@dataclass(frozen=True)
class Opened:
    """An open table: its schema, its batches to come, and remarks."""

    schema: Any
    batches: Iterator[Any]
    notes: list[str]


@dataclass(frozen=True)
class Block:
    """Columns of text for some rows, and where each of these rows is in the file."""

    table: Any
    where: Callable[[int], str]


def typed(
    first: Block, rest: Iterable[Block], kinds: dict[str, str], options: Options, notes: list[str]
) -> Opened:
    """Return the table of some blocks, given what the columns of the first one are."""
    schema = pa.schema([(name, TYPES[kind]) for name, kind in kinds.items()])

    def batches() -> Iterator[Any]:
        yield _typed_batch(first, schema, kinds, options)
        for block in rest:
            yield _typed_batch(block, schema, kinds, options)

    return Opened(schema, batches(), notes)


def find_kinds(block: Any, options: Options, *, commas: bool) -> dict[str, str]:
    """Return the kinds of the columns of a first block, as declared or as they look.

    Parameters
    ----------
    block
        A batch of text columns.
    options
        Declared types and the decimal point.
    commas
        Whether decimal commas can occur: not if the comma separates columns.
    """
    kinds = {}
    for name, column in zip(block.schema.names, block.columns, strict=True):
        kind = options.types.get(name) or find_kind(column, options.decimal)
        undeclared_text = kind == "text" and name not in options.types
        if commas and undeclared_text and options.decimal == "." and has_decimal_commas(column):
            raise TableError(
                f"Column {shorten(name)} seems to hold numbers with a decimal comma. Pass "
                f"decimal=',' (--decimal ,), or read it as text ({option('text', name)})."
            )
        kinds[name] = kind
    return kinds


def check_columns(columns: Iterable[str] | None, known: list[str], shown: str) -> list[str]:
    """Return the columns to read, all by default; refuse those that are not there."""
    if columns is None:
        return known
    for name in columns:
        if name not in known:
            raise TableError(f"{shown} has no column {shorten(name)}. {suggest(name, known)}")
    return list(dict.fromkeys(columns))


def _typed_batch(block: Block, schema: Any, kinds: dict[str, str], options: Options) -> Any:
    columns = [
        convert(
            name,
            block.table.column(name),
            kind,
            declared=name in options.types,
            decimal=options.decimal,
            where=block.where,
        )
        for name, kind in kinds.items()
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
