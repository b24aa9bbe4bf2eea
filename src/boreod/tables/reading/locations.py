"""Find tables on a disk or at an address, determine their formats, and read their bytes.

Text is unpacked and converted to UTF-8, whatever its encoding.
"""

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import re
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boreod.tables.arrow import TableError, fs, pa
from boreod.text import listed

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
READ_ONLY_SUFFIXES = {
    ".json": "jsonl", ".xlsx": "xlsx", ".xlsm": "xlsx", ".xls": "xlsx", ".sqlite": "sqlite",
    ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb",
}  # fmt: skip
PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
TEXT_FORMATS = ("csv", "tsv", "jsonl")
FORMATS = (*TEXT_FORMATS, "parquet", "arrow")
READ_ONLY_FORMATS = ("xlsx", "sqlite", "duckdb")
STANDARD = "-"
# This character joins the names of several files into one name. It is in no name of a file.
BETWEEN = "\0"
CHUNK = 1 << 20
# Seconds to wait for a thread that reads ahead.
MAX_WAIT = 0.3
UNPACKERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
OTHER_FORMATS = {
    b"PAR1": "a Parquet file. Pass format='parquet' (--format parquet)",
    b"ARROW1": "an Arrow file. Pass format='arrow' (--format arrow)",
    b"PK\x03\x04": "a zip archive or an Excel workbook. Call it .zip (with one CSV) or .xlsx",
    b"\xd0\xcf\x11\xe0": "an Excel workbook. Call it .xls",
    b"SQLite format": "an SQLite database. Pass format='sqlite' (--format sqlite)",
    b"\xff\xff\xff\xff": "an Arrow stream. Pass format='arrow' (--format arrow)",
}


@dataclass(frozen=True)
class Place:
    """A file or folder in a file system. Places can be pickled, so that workers can open them."""

    # A file system of pyarrow.
    filesystem: Any
    # The absolute path, as the file system expects it.
    path: str
    # What the user wrote, without passwords, for messages.
    shown: str

    @property
    def is_local(self) -> bool:
        """Whether the file or folder is on a disk of this machine."""
        return isinstance(self.filesystem, fs.LocalFileSystem)

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder; raise if it does not exist."""
        with reading(self.shown):
            kind = self.filesystem.get_file_info(self.path).type
            if kind == fs.FileType.NotFound:
                raise FileNotFoundError
        return bool(kind == fs.FileType.Directory)


def find_place(path: str) -> Place:
    """Return the place of a file or folder; pyarrow decides which addresses are known."""
    if BETWEEN in path:
        raise TableError(
            "A folder of scores, or a cluster, needs a single file or a folder of Parquet files, "
            f"and not {path.count(BETWEEN) + 1} names. Put the files into one folder, or name a "
            "file for the scores (-o scored.csv)."
        )
    if not is_address(path):
        return Place(fs.LocalFileSystem(), os.path.abspath(path), path)
    shown = show_place(path)
    if re.match("gc?s://", path) and "retry_limit_seconds" not in path:
        # By default, pyarrow tries to reach Google for a quarter of an hour.
        path += f"{'&' if '?' in path else '?'}retry_limit_seconds=30"
    with reading(shown, address=path):
        filesystem, inside = fs.FileSystem.from_uri(path)
    return Place(filesystem, inside, shown)


def is_address(path: str) -> bool:
    """Return whether a name is an address, such as ``s3://bucket/folder``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def show_place(path: str) -> str:
    """Return a name or an address for messages, without passwords and options.

    Examples
    --------
    >>> show_place("s3://key:secret@bucket/folder?region=eu-west-1")
    's3://bucket/folder'
    """
    return re.sub(r"//[^/@]*@", "//", path).partition("?")[0] if is_address(path) else path


def local_path(path: str) -> str | None:
    """Return the name of a file or folder on a disk; None for addresses of other places."""
    if not is_address(path):
        return path
    return find_place(path).path if path.startswith("file://") else None


def refuse_address(path: str) -> None:
    """Refuse to write to an address."""
    if is_address(path):
        raise TableError(
            f"Tables are written to folders of this machine, also mounted ones, and not to "
            f"addresses; got {show_place(path)}. Name a file or folder, and copy it there "
            "afterwards."
        )


def several(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Return one name for several files, as ``open_table`` takes it."""
    return BETWEEN.join(os.fspath(path) for path in paths)


def expand(path: str) -> list[str]:
    """Return the files that a name stands for; it may join several names, and hold patterns."""
    found: list[str] = []
    for name in path.split(BETWEEN):
        is_pattern = not is_address(name) and not os.path.exists(name) and glob.has_magic(name)
        matching = sorted(glob.glob(name, recursive=True)) if is_pattern else [name]
        if not matching:
            raise TableError(f"No file matches {name}. Check the pattern and the folder.")
        found += matching
    if len(found) > 1 and STANDARD in found:
        raise TableError("Standard input (-) cannot be one of several files. Name files only.")
    return found


def is_pipe(path: str) -> bool:
    """Return whether a name stands for standard input, a pipe or a device."""
    is_place = os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)
    return path == STANDARD or not is_place


def can_read_again(path: str) -> bool:
    """Return whether a table can be read twice. A pipe cannot."""
    return all(is_address(p) or os.path.isfile(p) or os.path.isdir(p) for p in expand(path))


def find_format(path: str, asked: str | None, *, to_read: bool = False) -> str | None:
    """Return the requested format, or else the format of the suffix; None if it is unknown."""
    formats = (*FORMATS, *READ_ONLY_FORMATS) if to_read else FORMATS
    if asked is not None:
        if asked not in formats:
            raise TableError(
                f"`format` (--format) must be one of {', '.join(formats)}; got {asked!r}."
            )
        return asked
    packed = PACKED if to_read else PACKED[:1]
    suffixes = SUFFIXES | READ_ONLY_SUFFIXES if to_read else SUFFIXES
    suffix = next((suffix for suffix in packed if path.lower().endswith(suffix)), "")
    found = suffixes.get(Path(path[: len(path) - len(suffix)]).suffix.lower())
    return None if suffix and found not in TEXT_FORMATS else found


def is_gzipped(path: str) -> bool:
    """Return whether a name has the suffix of gzip."""
    return path.lower().endswith(".gz")


@contextmanager
def reading(shown: str, kind: str | None = None, address: str = "") -> Iterator[None]:
    """Turn errors of pyarrow and of the operating system into one sentence about a file.

    ``kind`` is what the file should be. Without ``kind``, the sentence says that the file cannot be
    reached. ``address`` may hold passwords, so the sentence shows ``shown`` in its place.
    """
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"There is no file {shown}. Check the name and the folder.") from None
    except PermissionError:
        raise TableError(f"{shown} may not be read. Change its permissions or copy it.") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).replace(address or shown, shown).strip().partition("\n")[0]
        reason = reason.rstrip(".")[:150] or "no data"
        if kind is None:
            raise TableError(
                f"{shown} cannot be reached ({reason}). Check the address (file:///, s3:// and "
                "gs:// are known, a space is %20), the network and your permissions there."
            ) from None
        raise TableError(
            f"{shown} is not {kind}, or it is damaged ({reason}). Write it again, or say with "
            "`format` (--format) what it is."
        ) from None


class TextSource(io.RawIOBase):
    """Read a text file or standard input (``-``) once, from its beginning to its end, as UTF-8.

    If no encoding is given, the text must be UTF-8, or UTF-16 with a byte order mark. The stack
    closes the file.
    """

    def __init__(self, path: str, encoding: str | None, stack: ExitStack) -> None:
        super().__init__()
        self._reading = threading.RLock()
        self._end_was_seen = threading.Event()
        self._was_read = False
        self.path = path
        self.shown = "standard input" if path == STANDARD else path
        self.encoding = encoding or "utf-8-sig"
        self.quotes = 0
        try:
            self._decoder = codecs.getincrementaldecoder(self.encoding)("strict")
        except (LookupError, TypeError):
            raise TableError(
                f"`encoding` (--encoding) must be a name such as utf-8 or cp1252; got {encoding!r}."
            ) from None
        self._waiting = b""
        self._bytes = self._lines = 0
        self._ended = False
        with reading(self.shown, "a readable file"):
            raw = open_bytes(path, stack)
            first = raw.peek(8)[:8]
        if encoding is None and first.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.encoding = "utf-16"
            self._decoder = codecs.getincrementaldecoder(self.encoding)("strict")
        with _unpacking(self.shown):
            self._stream = unpacked(raw, path)
        for magic, what in OTHER_FORMATS.items():
            if encoding is None and self._stream is raw and first.startswith(magic):
                raise TableError(f"{self.shown} is not plain text but {what}.")

    def head(self, size: int = CHUNK) -> bytes:
        """Return the next bytes without consuming them."""
        while len(self._waiting) < size and not self._ended:
            self._waiting += self._next()
        return self._waiting[:size]

    def skip(self, size: int) -> None:
        """Consume bytes that ``head`` has returned."""
        self._waiting = self._waiting[size:]

    def readable(self) -> bool:
        """Return True: the source can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes to a buffer, and return their number."""
        self._was_read = True
        with self._reading:
            data = b"" if self.closed else self.head(len(buffer))
            self.skip(len(data))
            if not data:
                self._end_was_seen.set()
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file; standard input stays open.

        A thread of pyarrow may read ahead. If it reads while the interpreter ends, the process
        crashes. So this method waits until the thread has reached the end of the file, but not
        longer than MAX_WAIT, because the thread may be waiting for a pipe.
        """
        waited = self._reading.acquire(timeout=MAX_WAIT)
        try:
            if not self.closed and self.path != STANDARD:
                self._stream.close()
            super().close()
        finally:
            if waited:
                self._reading.release()
        if self._was_read and not self._end_was_seen.is_set():
            self._end_was_seen.wait(MAX_WAIT)

    def _next(self) -> bytes:
        """Return the next chunk as UTF-8; it is empty at the end, or before a whole character."""
        with _unpacking(self.shown):
            data = bytes(self._stream.read(CHUNK))
        self._ended = not data
        before = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            raise self._wrong_letter(error, before) from None
        encoded: bytes = text.encode("utf-8")
        if b"\x00" in encoded:
            line = self._lines + encoded[: encoded.index(b"\x00")].count(b"\n") + 1
            raise TableError(
                f"{self.shown} is not text: line {line} holds a zero byte. "
                "Pass its `format` (--format) or its encoding (--encoding)."
            )
        self._bytes += len(data)
        self._lines += encoded.count(b"\n")
        self.quotes += encoded.count(b'"')
        return encoded

    def _wrong_letter(self, error: UnicodeDecodeError, before: int) -> TableError:
        line = self._lines + error.object[: error.start].count(b"\n") + 1
        place = self._bytes - before + error.start + 1
        name = "UTF-8" if self.encoding == "utf-8-sig" else self.encoding
        return TableError(
            f"{self.shown} is not {name} text: line {line} has the byte "
            f"0x{error.object[error.start]:02x} (byte {place} of the file). Save it as UTF-8, or "
            "pass its encoding; old spreadsheets write encoding='cp1252' (--encoding cp1252)."
        )


@contextmanager
def _unpacking(shown: str) -> Iterator[None]:
    """Turn errors of unpacking into one sentence about the packed file."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
        raise TableError(
            f"{shown} cannot be unpacked: it is cut short or damaged. Copy it again."
        ) from None
    except NotImplementedError:
        raise TableError(f"{shown} is packed in an unknown way. Unpack it first.") from None
    except RuntimeError:
        raise TableError(f"{shown} is locked by a password. Unpack it first.") from None
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it is cut short or damaged. Copy it again"
        raise TableError(f"{shown} cannot be read: {reason}.") from None


def unpacked(raw: Any, path: str) -> Any:
    """Return a stream of the unpacked bytes of ``raw``, or ``raw`` itself if it is not packed."""
    first = raw.peek(6)[:6]
    for magic, unpack in UNPACKERS.items():
        if first.startswith(magic):
            return unpack(raw)
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        return pa.CompressedInputStream(pa.PythonFile(raw), "zstd")
    if first.startswith(b"PK\x03\x04") and path.lower().endswith(".zip"):
        return zipfile.ZipFile(raw).open(zip_member(path))
    return raw


def zip_member(path: str) -> str:
    """Return the name of the only file in a zip archive."""
    with reading(path, "a zip archive"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = [info.filename for info in archive.infolist() if not info.is_dir()]
        except zipfile.BadZipFile as error:
            raise OSError(str(error)) from None
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise TableError(
            f"{path} holds {len(names)} files ({listed(names, 5)}), of which one could be a table. "
            "Unpack it, and name the files."
        )
    return names[0]


def open_bytes(path: str, stack: ExitStack) -> Any:
    """Return a stream of bytes that can be peeked into; standard input stays open."""
    if path != STANDARD:
        return stack.enter_context(open(path, "rb"))
    if sys.stdin is None:
        raise TableError("There is no standard input. Pass the name of a file.")
    stream = sys.stdin.buffer
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)
