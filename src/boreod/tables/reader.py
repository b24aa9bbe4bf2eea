"""Read tables of any format, at once or in batches; several files may be one table."""

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

import numpy as np

from boreod.tables.arrow import (
    Column,
    TableError,
    as_arrow,
    as_names,
    check_same,
    kind_of,
    pa,
    pc,
    rebatch,
)
from boreod.tables.cells import BadCells
from boreod.tables.preparing.labels import LabelSource
from boreod.tables.preparing.since import add_to_batches, as_list
from boreod.tables.reading import binary_files, blocks, databases, json_lines, locations, separated
from boreod.text import shorten, suggest

FilePath = str | os.PathLike[str]


class TableReader(AbstractContextManager["TableReader"]):
    """An open table. Use it in a ``with`` statement: iterate over it once, or call ``read_all``.

    Attributes
    ----------
    path
        The file name, or ``-`` for standard input.
    columns
        Names and types of the columns.
    schema
        The pyarrow schema that all batches have.
    header
        Names of all columns of the table, read or not.
    """

    def __init__(
        self, path: str, opened: blocks.Typed, options: blocks.Options, stack: ExitStack
    ) -> None:
        self.path = path
        self.schema, batches = opened
        self.columns = tuple(Column(field.name, kind_of(field.type)) for field in self.schema)
        self.header = list(options.seen)
        self._stack = stack
        self._found = options.found
        self._batches = self._noted(rebatch(batches, options.batch_rows))
        # The first batch is read now, so that an error in the first rows is raised here.
        self._batches = chain(list(islice(self._batches, 1)), self._batches)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over pyarrow record batches of the same schema."""
        return self._batches

    def __exit__(self, *_: object) -> None:
        self.close()

    def _noted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches; then warn of bad cells, and of a last row that looks like totals."""
        last = pa.RecordBatch.from_pylist([], self.schema)
        for batch in batches:
            last = batch
            if self._found.policy == "drop":
                own, self._found.kept = np.split(self._found.kept, [batch.num_rows])
                last = batch.replace_schema_metadata({blocks.ROWS: own.tobytes()})
            yield last
        advice = " `bad_cells` (--bad-cells): drop leaves the rows out, error stops."
        for note in (self._found.note(advice), _total_note(last, self._found.total)):
            if note is not None:
                warnings.warn(note, stacklevel=3)

    def read_all(self) -> Any:
        """Return the rest as one pyarrow table."""
        return pa.Table.from_batches(list(self._batches), schema=self.schema)

    def close(self) -> None:
        """Close the file."""
        self._batches = iter(())
        self._stack.close()


def settle_labels(table: Any, labels: LabelSource | None) -> Any:
    """Return a pyarrow table with the labels that ``labels`` gives its rows, if any."""
    if labels is None:
        return table
    schema, batches = labels.add_to(table.schema, table.to_batches(), None, _read_answers(labels))
    return pa.Table.from_batches(list(batches), schema)


def _read_answers(labels: LabelSource) -> Any:
    """Return the second table of labels, or None if there is none."""
    if labels.answers is None:
        return None
    if not isinstance(labels.answers, str | os.PathLike):
        return as_arrow(labels.answers)
    types = dict.fromkeys((*labels.ids, labels.label), "text")
    return read_table(labels.answers, types=types, columns=list(types))


def _total_note(batch: Any, bad: tuple[str, str] | None) -> str | None:
    """Return a note if the last row of a table, or its bad cell, looks like a line of totals."""
    words = "totals?|sum|summe|gesamt(summe)?|somme|totale|suma|итого"
    cells = [
        (field.name, column[-1].as_py() or "")
        for field, column in zip(batch.schema, batch.columns, strict=True)
        if pa.types.is_string(field.type) and len(column)
    ]
    for name, cell in [*cells, *([bad] if bad else [])]:
        if re.fullmatch(rf"\s*(grand |sub)?-?({words})\b.{{0,20}}", cell, re.IGNORECASE):
            return (
                f"The last row looks like a line of totals (column {shorten(name)}: "
                f"{shorten(cell)}). It is read like any other row. If it is a line of totals, "
                "remove it from the table."
            )
    return None


def open_table(path: FilePath | list[str] | tuple[str, ...], **options: Any) -> TableReader:
    r"""Open a table for reading in batches; memory does not depend on its length.

    Parameters
    ----------
    path
        A file; several files with the same columns, as a list or a pattern (``day*.csv``); a folder
        of Parquet or text files, also in subfolders; or ``-`` for standard input (text or an Arrow
        stream). Text may be compressed (gzip, zstd, bzip2, xz, or a zip archive of one file).
        Parquet files and folders may have an address such as ``s3://bucket/folder``. Excel
        workbooks need ``pip install boreod[excel]``, DuckDB databases ``boreod[duckdb]``.
    **options
        Options of :class:`ReadOptions`.

    Raises
    ------
    TableError
        If the table cannot be read. A broken later row raises an error when it is read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "payments.csv"
    ...     _ = path.write_text("amount;country\n3.5;DE\n;NA\n")
    ...     with open_table(path) as reader:
    ...         print(*reader.columns)
    ...         print([batch.to_pylist() for batch in reader][0][1])
    Column(name='amount', type='number') Column(name='country', type='text')
    {'amount': None, 'country': 'NA'}
    """
    if options.get("columns") is not None:
        options["columns"] = tuple(options["columns"])
    asked = blocks.ReadOptions(**options)
    how = settle(asked)
    name = locations.several(path) if isinstance(path, list | tuple) else os.fspath(path)
    stack = ExitStack()
    try:
        opened = _open_source(name, how, stack)
        if how.rename or how.scale:
            opened = how.repaired(opened[0]), map(how.repair, opened[1])
        # If only some columns are read, the columns of `since` are added only if they are given as
        # `Since` objects, not as names.
        if asked.since and (how.columns is None or not isinstance(as_list(asked.since)[0], str)):
            opened = add_to_batches(*opened, asked.since)
        if asked.labels is not None:
            opened = asked.labels.add_to(*opened, asked.columns, _read_answers(asked.labels))
        shown = locations.show_place(name).replace(locations.BETWEEN, ", ")
        return TableReader(shown, opened, how, stack)
    except BaseException:
        stack.close()
        raise


def settle(asked: blocks.ReadOptions) -> blocks.Options:
    """Return the options of the reader of a single format, with the names of columns in the file.

    Columns are renamed after they are read.
    """
    labels = asked.labels
    has_answers = labels is not None and labels.answers is not None
    old = {new: name for name, new in asked.rename.items()}

    def in_file(names: Iterable[str] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(old.get(name, name) for name in names)

    settled = {
        "types": {old.get(name, name): kind for name, kind in (asked.types or {}).items()},
        "columns": in_file(asked.columns if labels is None else labels.columns(asked.columns)),
        "drop": (asked.drop,) if isinstance(asked.drop, str) else tuple(asked.drop),
        "computed": in_file(asked.computed),
        "optional": in_file((*asked.optional, *((labels.label,) if has_answers else ()))),
        "found": BadCells(asked.bad_cells),
    }
    return blocks.Options(**{**vars(asked), **settled})


def read_table(path: FilePath | list[str] | tuple[str, ...], **options: Any) -> Any:
    """Read a whole table into a ``pyarrow.Table``; path and options are those of ``open_table``."""
    with open_table(path, **options) as reader:
        return reader.read_all()


def _open_source(path: str, options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open a file, a folder, standard input, or several of these as one table."""
    paths = locations.expand(path)
    if len(paths) == 1 and os.path.isdir(paths[0]):
        paths = binary_files.find_text_files(paths[0], options.format) or paths
    if len(paths) == 1:
        return _open(paths[0], options, stack)
    return _open_several(paths, options, stack)


def _open_several(paths: list[str], options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open files with the same columns; the first file with rows decides the column types.

    Columns to drop may be missing in some files.
    """
    optional = (*options.optional, *options.drop, *as_names(options.drop, []))
    options = replace(options, optional=optional)
    names: list[str] = []
    rules: dict[str, Any] = {}
    left = iter(paths)
    for path in left:
        options.found.file = PurePath(path).name
        schema, batches = _open(path, options, stack)
        names = names or schema.names
        check_same(names, schema.names, paths[0], path)
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is not None:
            rules = blocks.find_rules(first, options)
            batches = chain([first], batches)
            break
    kinds = {name: rules.get(name, kind_of(schema.field(name).type)) for name in names}
    types = {name: kind for name, kind in kinds.items() if kind != "date or time"}
    same = replace(options, types={**types, **options.types})

    def all_batches() -> Iterator[Any]:
        yield from batches
        for path in left:
            options.found.file = PurePath(path).name
            with ExitStack() as own:
                found, others = _open(path, same, own)
                check_same(names, found.names, paths[0], path)
                for batch in others:
                    yield _cast(batch, schema, path)
        for name in as_names(options.drop, list(options.met)):
            if name not in options.met:
                raise TableError(
                    f"No file has a column {shorten(name)} to drop. {suggest(name, names)}"
                )

    return schema, all_batches()


def _cast(batch: Any, schema: Any, path: str) -> Any:
    """Return a batch with the columns of a schema, in its order."""
    try:
        columns = [pc.cast(batch.column(field.name), field.type) for field in schema]
    except pa.ArrowException as error:
        raise TableError(
            f"Files that are one table must have columns of the same types, unlike {path}: "
            f"{str(error).splitlines()[0]}."
        ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _open(path: str, options: blocks.Options, stack: ExitStack) -> blocks.Typed:
    """Open a file, a folder of Parquet files, or standard input."""
    found = locations.find_format(path, options.format, to_read=True)
    if locations.is_address(path) or os.path.isdir(path):
        if found not in (None, "parquet"):
            raise TableError(
                "From addresses, only Parquet files can be read; "
                f"{locations.show_place(path)} is {found}. Pass the name of a file on a disk."
            )
        found = "parquet"
    elif locations.is_pipe(path):
        if found not in (None, "arrow", *locations.TEXT_FORMATS):
            raise TableError(
                f"Standard input and pipes cannot be {found}. Pass the name of a file."
            )
    elif found is None:
        found = _format_within(path)
    if options.query is not None and found not in ("duckdb", "sqlite", "xlsx"):
        what = found.capitalize() if found in ("arrow", "parquet") else "text"
        raise TableError(
            "`query` (--query) is for databases and workbooks; "
            f"{locations.show_place(path)} is {what}. Leave it out."
        )
    if found == "parquet":
        return binary_files.open_parquet(path, options)
    if found == "xlsx":
        return databases.open_workbook(path, options)
    openers = {
        "arrow": binary_files.open_arrow,
        "duckdb": databases.open_duckdb,
        "sqlite": databases.open_sqlite,
    }
    if found in openers:
        return openers[found](path, options, stack)
    return _open_text(path, found, options, stack)


def _format_within(path: str) -> str:
    """Return the format of the only file in a zip archive; raise if ``path`` is no archive."""
    if not path.lower().endswith(".zip"):
        with locations.reading(path):
            os.stat(path)
        raise TableError(
            f"The name {path} does not tell its format. Use {', '.join(locations.SUFFIXES)} (text "
            f"also with .gz; to read also {', '.join(locations.PACKED[1:])} and "
            f"{', '.join(locations.READ_ONLY_SUFFIXES)}), or pass `format` (--format): "
            f"{', '.join(locations.FORMATS)}."
        )
    found = locations.find_format(locations.zip_member(path), None, to_read=True)
    if found not in locations.TEXT_FORMATS:
        raise TableError(f"{path} holds no text (CSV, TSV, JSON). Unpack it first.")
    return found


def _open_text(
    path: str, found: str | None, options: blocks.Options, stack: ExitStack
) -> blocks.Typed:
    source = stack.enter_context(locations.TextSource(path, options.encoding, stack))
    if found is None:
        found = "jsonl" if source.head().lstrip().startswith((b"{", b"[")) else "csv"
    if found == "jsonl":
        return json_lines.open_json_lines(source, options)
    if found == "tsv" and options.separator is None:
        options = replace(options, separator="\t")
    return separated.open_separated(source, options)
