"""Write tables; an error never leaves an incomplete file."""

import errno
import gzip
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from math import isnan
from pathlib import Path
from typing import Any

from boreod.files import is_protected, whole_file
from boreod.tables.arrow import TableError, arrow_csv, pa, parquet, plain_batch, plain_schema
from boreod.tables.reader import FilePath
from boreod.tables.reading import locations
from boreod.text import listed


class TableWriter(AbstractContextManager["TableWriter"]):
    """Write batches to a file, which appears only when the ``with`` block ends without an error.

    Until then, the rows are in a temporary file in the same folder. Any exception, including
    Ctrl-C, removes the temporary file. Rows for standard output are written at once.

    Parameters
    ----------
    path
        A file name with the suffix of its format (for text also with .gz), or ``-`` for standard
        output.
    format
        ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``arrow``. If None, the suffix of the name
        decides; for standard output it is ``csv``.
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
        inputs: Iterable[FilePath] = (),
    ) -> None:
        self.path = os.fspath(path)
        locations.refuse_address(self.path)
        self.rows = 0
        self._shown = "Standard output" if self.path == locations.STANDARD else self.path
        self._format = _output_format(self.path, format)
        if self.path != locations.STANDARD:
            check_target(self.path, inputs)
        self._stack = ExitStack()
        self._write: Callable[[Any], None] | None = None
        self._schema: Any = None

    def write(self, batch: Any) -> None:
        """Write a pyarrow record batch; all batches must have the same schema."""
        with writing(self._shown):
            if self._write is None:
                self._schema = batch.schema
                self._write = self._start(batch.schema)
            elif batch.schema != self._schema:
                raise TableError(
                    f"All batches for {self.path} must have the same columns and types; got "
                    f"{listed(map(str, batch.schema), 5)} after "
                    f"{listed(map(str, self._schema), 5)}."
                )
            self._write(batch)
        self.rows += batch.num_rows

    def __exit__(self, *raised: Any) -> None:
        if raised[0] is not None:
            # The temporary file is removed, and the first error is shown.
            with suppress(Exception):
                self._stack.__exit__(*raised)
        elif self._write is None:
            raise TableError(f"There are no rows for {self.path}, so it was not written.")
        else:
            with writing(self._shown):
                self._stack.close()

    def _start(self, schema: Any) -> Callable[[Any], None]:
        """Open the file, and return a function that writes a batch to it."""
        sink = self._open()
        if locations.is_gzipped(self.path):
            sink = self._stack.enter_context(gzip.GzipFile("", "wb", fileobj=sink, mtime=0))
        if self._format in ("parquet", "arrow"):
            make = parquet.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
            return self._stack.enter_context(make(pa.PythonFile(sink, mode="w"), schema)).write
        plain = plain_schema(schema, "the table to write")
        if self._format == "jsonl":
            return lambda batch: _write_json_lines(sink, plain_batch(batch, plain))
        options = arrow_csv.WriteOptions(delimiter="\t" if self._format == "tsv" else ",")
        text = self._stack.enter_context(arrow_csv.CSVWriter(sink, plain, write_options=options))
        return lambda batch: text.write(plain_batch(batch, plain))

    def _open(self) -> Any:
        if self.path == locations.STANDARD:
            if sys.stdout is None:
                raise TableError("There is no standard output to write to. Name a file.")
            sys.stdout.flush()
            self._stack.callback(sys.stdout.buffer.flush)
            return sys.stdout.buffer
        if os.path.exists(self.path) and not stat.S_ISREG(os.stat(self.path).st_mode):
            # A pipe or device must not be replaced by a file.
            return self._stack.enter_context(open(self.path, "wb"))
        unfinished = self._stack.enter_context(whole_file(Path(self.path)))
        return self._stack.enter_context(open(unfinished, "wb"))


def write_batches(path: FilePath, batches: Iterable[Any], **options: Any) -> int:
    """Write batches to a file and return the number of rows; an error leaves no incomplete file.

    Parameters
    ----------
    path
        As in ``TableWriter``.
    batches
        Pyarrow record batches, or a ``TableReader``.
    **options
        As in ``TableWriter``.
    """
    with TableWriter(path, **options) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.rows


def check_target(path: FilePath, inputs: Iterable[FilePath]) -> None:
    """Refuse a target that cannot be written, or that is being read."""
    shown = os.fspath(path)
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise TableError(f"{shown} is a folder. Pass the name of a file.")
    if not os.path.isdir(os.path.dirname(target)):
        raise TableError(f"There is no folder {Path(shown).parent} to write to. Make it first.")
    if os.path.islink(target):
        raise TableError(f"{shown} is a link that leads back to itself. Choose another name.")
    if is_protected(Path(target)):
        raise TableError(
            f"{shown} is write-protected, so it is not overwritten. Allow writing (chmod u+w), or "
            "choose another name."
        )
    paths = [
        locations.local_path(path)
        for source in inputs
        for path in locations.expand(os.fspath(source))
    ]
    for source in [os.path.realpath(path) for path in paths if path is not None]:
        both_exist = os.path.exists(target) and os.path.exists(source)
        if target == source or (both_exist and os.path.samefile(target, source)):
            raise TableError(
                f"{shown} is being read, so it is not overwritten. Choose another name."
            )
        is_parquet = locations.SUFFIXES.get(Path(target).suffix.lower()) == "parquet"
        above = list(map(str, Path(target).parents))
        if os.path.isdir(source) and source in (above if is_parquet else above[:1]):
            raise TableError(
                f"{shown} is in the folder that is being read, and would be part of the table the "
                "next time. Choose another folder."
            )


@contextmanager
def writing(shown: str) -> Iterator[None]:
    """Turn errors of the operating system into a ``TableError`` of one sentence."""
    try:
        yield
    except BrokenPipeError:
        # The program that reads the output has ended, which is not an error of the table.
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full. Free some space or write to another disk"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = "this is not permitted. Choose another folder"
        else:
            reason = f"{error.strerror or error}. Choose another place"
        raise TableError(
            f"{shown} could not be written: {reason}. Nothing was left there."
        ) from None


def _output_format(path: str, asked: str | None) -> str:
    found = locations.find_format(path, asked)
    if path == locations.STANDARD:
        found = found or "csv"
        if found not in locations.TEXT_FORMATS:
            raise TableError(f"Standard output cannot be {found}. Pass the name of a file.")
    if found is None:
        raise TableError(
            f"The name {path} does not tell in which format to write. Use "
            f"{', '.join(locations.SUFFIXES)}; text also with .gz."
        )
    if locations.is_gzipped(path) and found not in locations.TEXT_FORMATS:
        raise TableError(f"{path} is packed already as {found}. Leave .gz out of its name.")
    return found


def _write_json_lines(sink: Any, batch: Any) -> None:
    """Write one object per row, missing values as null."""
    lines = []
    for row in batch.to_pylist():
        cells = {k: None if isinstance(v, float) and isnan(v) else v for k, v in row.items()}
        try:
            lines.append(json.dumps(cells, ensure_ascii=False, allow_nan=False, default=str))
        except ValueError:
            raise TableError(
                "JSON has no infinite numbers, but a row of the table holds one. Write CSV or "
                "Parquet instead."
            ) from None
    sink.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
