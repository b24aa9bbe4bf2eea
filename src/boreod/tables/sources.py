"""Text that comes in as bytes: unpacked, and checked for its encoding."""

import codecs
import gzip
import io
import sys
import threading
import zlib
from typing import Any

from boreod.tables.arrow import TableError
from boreod.tables.locations import STANDARD, reading

CHUNK = 1 << 20
TIMEOUT = 0.3  # seconds to wait for a thread that reads ahead
GZIP = b"\x1f\x8b"
OTHER_FORMATS = {
    b"PAR1": "a Parquet file. Pass format='parquet' (--format parquet)",
    b"ARROW1": "an Arrow file. Pass format='arrow' (--format arrow)",
    b"PK\x03\x04": "a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook. Save the sheet as CSV",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8, or pass encoding='utf-16' (--encoding utf-16)",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8, or pass encoding='utf-16' (--encoding utf-16)",
}


class TextSource(io.RawIOBase):
    """Read a text file or standard input (``-``) once, from its beginning to its end, as UTF-8.

    Without an encoding it must be UTF-8, with or without a byte order mark.
    """

    def __init__(self, path: str, encoding: str | None) -> None:
        super().__init__()
        self._reading = threading.RLock()
        self._end_was_seen = threading.Event()
        self._was_read = False
        self.path, self.shown = path, "standard input" if path == STANDARD else path
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
            self._raw = _open(path)
            first = self._raw.peek(8)[:8]
        is_packed = first.startswith(GZIP)
        self._stream: Any = gzip.GzipFile(fileobj=self._raw) if is_packed else self._raw
        for magic, what in OTHER_FORMATS.items():
            if encoding is None and first.startswith(magic):
                self.close()
                raise TableError(f"{self.shown} is not plain text but {what}.")

    def head(self, size: int = CHUNK) -> bytes:
        """Return the beginning of what was not read yet, and leave it there."""
        while len(self._waiting) < size and not self._ended:
            self._waiting += self._next()
        return self._waiting[:size]

    def skip(self, size: int) -> None:
        """Leave out what ``head`` has shown."""
        self._waiting = self._waiting[size:]

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Put the next bytes into a buffer, and return their number."""
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

        A thread of pyarrow may read ahead. It is waited for until it has found the end: one that
        reads while the interpreter ends would take the process with it. One that waits for a pipe
        is left alone.
        """
        waited = self._reading.acquire(timeout=TIMEOUT)
        try:
            if not self.closed and self.path != STANDARD:
                self._stream.close()
                self._raw.close()
            super().close()
        finally:
            if waited:
                self._reading.release()
        if self._was_read:
            self._end_was_seen.wait(TIMEOUT)

    def _next(self) -> bytes:
        """Return the next chunk as UTF-8; empty at the end or within a letter."""
        data = self._unpack()
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

    def _unpack(self) -> bytes:
        try:
            return bytes(self._stream.read(CHUNK))
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise TableError(
                f"{self.shown} cannot be unpacked: it is cut short or damaged. Copy it again."
            ) from None
        except OSError as error:
            raise TableError(f"{self.shown} cannot be read: {error.strerror}.") from None

    def _wrong_letter(self, error: UnicodeDecodeError, before: int) -> TableError:
        line = self._lines + error.object[: error.start].count(b"\n") + 1
        place = self._bytes - before + error.start + 1
        name = "UTF-8" if self.encoding == "utf-8-sig" else self.encoding
        return TableError(
            f"{self.shown} is not {name} text: line {line} has the byte "
            f"0x{error.object[error.start]:02x} (byte {place} of the file). Save it as UTF-8, or "
            "pass its encoding; old spreadsheets write encoding='cp1252' (--encoding cp1252)."
        )


def _open(path: str) -> Any:
    """Return a stream of bytes that can be peeked into."""
    if path != STANDARD:
        return open(path, "rb")
    if sys.stdin is None:
        raise TableError("There is no standard input. Pass the name of a file.")
    stream = sys.stdin.buffer
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)
