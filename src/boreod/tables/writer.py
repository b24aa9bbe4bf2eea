"""Write tables: a whole file or none."""

import gzip
import os
import secrets
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from boreod.tables.arrow import pa
from boreod.tables.encoders import Encoder, make_encoder
from boreod.tables.errors import TableError, writing
from boreod.tables.formats import (
    STANDARD,
    SUFFIXES,
    TEXT_FORMATS,
    find_format,
    is_gzipped,
    refuse_name,
)
from boreod.tables.locations import local_path, refuse_address
from boreod.tables.reader import FilePath
from boreod.tables.sniffing import read_separator
from boreod.text import listed


class TableWriter:
    """Write batches to a file that appears, complete, when the ``with`` block ends well.

    Until then the rows are in a file of another name in the same folder; it goes away if anything
    is raised, Ctrl-C included. Standard output gets its rows as they come.

    Parameters
    ----------
    path
        A file name whose suffix tells the format (text also with .gz), or ``-`` for standard
        output.
    format
        ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``arrow``; None to go by the name, and for
        standard output ``csv``.
    separator
        Between the cells of separated text; None for a comma, or a tab in TSV.
    inputs
        Files and folders that are being read; they are not overwritten.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     with TableWriter(path) as writer:
    ...         writer.write(pa.RecordBatch.from_pydict({"row": [1, 2], "risk": [0.25, 0.5]}))
    ...     path.read_text().splitlines()
    ['"row","risk"', '1,0.25', '2,0.5']
    """

    def __init__(
        self,
        path: FilePath,
        *,
        format: str | None = None,  # noqa: A002
        separator: str | None = None,
        inputs: Iterable[FilePath] = (),
    ) -> None:
        self.path = os.fspath(path)
        refuse_address(self.path)
        self.rows = 0
        self._shown = "Standard output" if self.path == STANDARD else self.path
        self._format = _output_format(self.path, format)
        self._separator = read_separator(separator) if separator else None
        self._target: str | None = None
        self._part: str | None = None
        if self.path != STANDARD:
            self._target = os.path.realpath(self.path)
            check_target(self._target, self.path, list(inputs))
        self._file: Any = None
        self._packed: Any = None
        self._encoder: Encoder | None = None
        self._schema: Any = None

    def write(self, batch: Any) -> None:
        """Write a pyarrow record batch; all must have the columns of the first."""
        with writing(self._shown):
            if self._encoder is None:
                self._start(batch.schema)
            elif batch.schema != self._schema:
                batch = self._adapted(batch)
            assert self._encoder is not None
            self._encoder.write(batch)
        self.rows += batch.num_rows

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            with writing(self._shown):
                self._finish()
        except BaseException:
            self._discard()
            raise

    def _start(self, schema: Any) -> None:
        self._schema = schema
        self._file = self._open()
        sink = self._file
        if is_gzipped(self.path):
            self._packed = sink = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0)
        self._encoder = make_encoder(sink, schema, self._format, self._separator)

    def _open(self) -> Any:
        if self._target is None:
            if sys.stdout is None:
                raise TableError("There is no standard output to write to. Name a file.")
            sys.stdout.flush()
            return sys.stdout.buffer
        if _is_device(self._target):
            return open(self._target, "wb")
        folder, name = os.path.split(self._target)
        part = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.part")
        file = open(part, "xb")  # noqa: SIM115  closed at the end
        self._part = part
        return file

    def _adapted(self, batch: Any) -> Any:
        missing = set(self._schema.names) ^ set(batch.schema.names)
        if missing:
            raise TableError(
                f"All batches for {self.path} must have the same columns; they differ in "
                f"{listed(sorted(missing), 5)}."
            )
        try:
            return pa.RecordBatch.from_arrays(
                [batch.column(field.name).cast(field.type) for field in self._schema],
                schema=self._schema,
            )
        except pa.ArrowException as error:
            raise TableError(
                f"A batch for {self.path} does not have the column types of the first: {error}"
            ) from None

    def _finish(self) -> None:
        if self._encoder is None:
            raise TableError(f"There are no rows for {self.path}, so it was not written.")
        self._encoder.close()
        if self._packed is not None:
            self._packed.close()
        self._file.flush()
        if self._target is not None:
            self._file.close()
        if self._part is not None:
            os.replace(self._part, self._target or self.path)
            self._part = None

    def _discard(self) -> None:
        """Close and remove what was written so far, whatever state it is in."""
        for held in (self._encoder, self._packed, self._file if self._target else None):
            with suppress(Exception):  # the file goes away, and the first error is the one to tell
                if held is not None:
                    held.close()
        if self._part is not None:
            with suppress(OSError):
                os.unlink(self._part)
            self._part = None


def write_batches(path: FilePath, batches: Iterable[Any], **options: Any) -> int:
    """Write batches to a file and return the number of rows; on any error there is no file.

    Parameters
    ----------
    path
        As in ``TableWriter``.
    batches
        Pyarrow record batches, also a ``TableReader``.
    **options
        As in ``TableWriter``.
    """
    with TableWriter(path, **options) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.rows


def _output_format(path: str, asked: str | None) -> str:
    found = find_format(path, asked)
    if path == STANDARD:
        found = found or "csv"
        if found not in TEXT_FORMATS:
            raise TableError(
                f"Standard output can be csv, tsv or jsonl; got format {found!r}. Pass the name of "
                "a file."
            )
    if found is None:
        raise refuse_name(path)
    if is_gzipped(path) and found not in TEXT_FORMATS:
        raise TableError(f"{path} is packed already as {found}. Leave .gz out of its name.")
    return found


def check_target(target: str, shown: str, inputs: list[FilePath]) -> None:
    """Refuse to write where nothing can be written, or over what is being read.

    Parameters
    ----------
    target
        The file without links, as ``os.path.realpath`` gives it.
    shown
        Its name as the user wrote it.
    inputs
        Files and folders that are being read, or addresses of them.
    """
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise TableError(f"{shown} is a folder. Pass the name of a file.")
    if not os.path.isdir(folder):
        raise TableError(f"There is no folder {Path(shown).parent} to write to. Make it first.")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise TableError(f"{shown} is there and may not be written. Choose another name.")
    paths = (local_path(os.fspath(source)) for source in inputs)
    for source in [os.path.realpath(path) for path in paths if path is not None]:
        if target == source or (os.path.exists(target) and _is_same(target, source)):
            raise TableError(
                f"{shown} is being read, so it is not overwritten. Choose another name."
            )
        if os.path.isdir(source) and _is_read_with(target, source):
            raise TableError(
                f"{shown} is in the folder that is being read, and would be part of the table the "
                "next time. Choose another folder."
            )


def _is_read_with(target: str, folder: str) -> bool:
    """Tell whether a file is in a folder, or a Parquet file in a folder of it."""
    parent = os.path.dirname(target)
    deep = SUFFIXES.get(Path(target).suffix.lower()) == "parquet"
    return parent == folder or (deep and Path(folder) in Path(target).parents)


def _is_same(target: str, source: str) -> bool:
    return os.path.exists(source) and os.path.samefile(target, source)


def _is_device(path: str) -> bool:
    """Tell whether a path is a pipe or device, which cannot be replaced by a file."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)
