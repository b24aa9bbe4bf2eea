"""The zip archive around a model file: two members that are not compressed.

Every byte around the two members follows from their names, sizes and checksums. So the reader takes
sizes from the length of the file, reads the members, and compares the rest with what the writer
would have written: no directory of the archive is ever believed. The layout is that of zip64, which
has no limit of 4 GB and which all common tools read.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import calcsize, pack, unpack_from
from typing import BinaryIO, NamedTuple
from zlib import crc32

from boreod.files import whole_file
from boreod.text import shorten

MANIFEST, ARRAYS = b"manifest.json", b"arrays.safetensors"
MANIFEST_LIMIT = 3 * 2**20  # bytes; parsed JSON can take 26 times as much memory

LOCAL, LOCAL_EXTRA = "<4s5H3L2H", "<2H2Q"
CENTRAL, CENTRAL_EXTRA = "<4s6H3L5H2L", "<2H3Q"
END64, LOCATOR, END = "<4sQ2H2L4Q", "<4sLQL", "<4s4H2LH"
SIGNATURE = b"PK\3\4"
ZIP64, MIDNIGHT, FIRST_DAY = 45, 0, 0x21  # version that reads it; 1980-01-01, the first day of zip
SEE_EXTRA, SEE_EXTRA_SHORT = 2**32 - 1, 2**16 - 1


class ModelFileError(ValueError):
    """A file is no usable model file, or a model cannot be put into one."""


class Member(NamedTuple):
    """What an archive says about a member."""

    name: bytes
    size: int = 0
    checksum: int = 0


class Archive:
    """The members of a model file that is open at its start, read one after the other."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        empty = Member(MANIFEST), Member(ARRAYS)
        self._room = size - sum(len(_header(member)) for member in empty) - len(_directory(*empty))
        self.manifest = self._read_manifest()
        self.arrays_size = self._room - len(self.manifest)

    def read_arrays(self) -> bytes:
        """Return the second member, and see to it that nothing else is in the file."""
        header = self._file.read(len(_header(Member(ARRAYS))))
        arrays = self._file.read(self.arrays_size)
        manifest, member = _describe(MANIFEST, self.manifest), _describe(ARRAYS, arrays)
        directory = _directory(manifest, member)
        end = self._file.read(len(directory) + 1)
        if header != _header(member) or end != directory:
            raise ModelFileError("it was changed or damaged after it was written")
        return arrays

    def _read_manifest(self) -> bytes:
        header = self._file.read(len(_header(Member(MANIFEST))))
        if self._room < 0 or not header.startswith(SIGNATURE):
            raise ModelFileError("it is no archive that `boreod.save` wrote, or was cut off")
        start = calcsize(LOCAL)
        name = header[start : start + len(MANIFEST)]
        if name != MANIFEST:
            shown = shorten(name.decode(errors="replace"))
            raise ModelFileError(f"its first member must be 'manifest.json', but is {shown}")
        size = unpack_from(LOCAL_EXTRA, header, start + len(MANIFEST))[2]
        if size > min(self._room, MANIFEST_LIMIT):
            raise ModelFileError(
                f"its manifest claims {size} bytes, of at most {min(self._room, MANIFEST_LIMIT)}"
            )
        manifest = self._file.read(size)
        if header != _header(_describe(MANIFEST, manifest)):
            raise ModelFileError("its manifest was changed or damaged after it was written")
        return manifest


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a model file and read its manifest."""
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # opening one would wait for a writer
            raise ModelFileError("it is a pipe, and a model file must be a regular file")
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ModelFileError("it is a device, and a model file must be a regular file")
            yield Archive(file, facts.st_size)
    except OSError as error:
        raise _explain(error, path, "read") from None


def write_archive(path: Path, manifest: bytes, arrays: bytes) -> None:
    """Write a model file under another name, and give it its own when it is complete."""
    if len(manifest) > MANIFEST_LIMIT:
        raise ModelFileError(
            f"The manifest of a model file may have {MANIFEST_LIMIT} bytes, and this one has "
            f"{len(manifest)}: save a model of fewer columns (`within`), or shorten `extra`."
        )
    members = _describe(MANIFEST, manifest), _describe(ARRAYS, arrays)
    try:
        with whole_file(path) as unfinished, unfinished.open("xb") as file:
            for member, content in zip(members, (manifest, arrays), strict=True):
                file.write(_header(member))
                file.write(content)
            file.write(_directory(*members))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _explain(error, path, "written") from None


def _describe(name: bytes, content: bytes) -> Member:
    return Member(name, len(content), crc32(content))


def _header(member: Member) -> bytes:
    """Return what stands before a member."""
    name, size, checksum = member
    fixed = (ZIP64, 0, 0, MIDNIGHT, FIRST_DAY, checksum, SEE_EXTRA, SEE_EXTRA)
    extra = pack(LOCAL_EXTRA, 1, 16, size, size)
    return pack(LOCAL, SIGNATURE, *fixed, len(name), len(extra)) + name + extra


def _directory(*members: Member) -> bytes:
    """Return what stands after the last member."""
    entries, offset = b"", 0
    for name, size, checksum in members:
        fixed = (ZIP64, ZIP64, 0, 0, MIDNIGHT, FIRST_DAY, checksum, SEE_EXTRA, SEE_EXTRA)
        extra = pack(CENTRAL_EXTRA, 1, 24, size, size, offset)
        lengths = (len(name), len(extra), 0)
        entries += pack(CENTRAL, b"PK\1\2", *fixed, *lengths, 0, 0, 0, SEE_EXTRA) + name + extra
        offset += len(_header(Member(name))) + size
    end64 = pack(END64, b"PK\6\6", 44, ZIP64, ZIP64, 0, 0, 2, 2, len(entries), offset)
    locator = pack(LOCATOR, b"PK\6\7", 0, offset + len(entries), 1)
    short, long = SEE_EXTRA_SHORT, SEE_EXTRA
    return entries + end64 + locator + pack(END, b"PK\5\6", 0, 0, short, short, long, long, 0)


def _explain(error: OSError, path: Path, done: str) -> OSError:
    """Return the same error with the name of the model file and without that of a part of it."""
    reason = (error.strerror or str(error)).lower()
    number = error.errno or errno.EIO
    return OSError(number, f"The model file could not be {done} ({reason})", str(path))
