"""Where tables are: on a disk, or at an address such as ``s3://bucket/folder``."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from boreod.tables.arrow import fs, pa
from boreod.tables.errors import TableError

ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
PATIENCE = 30  # seconds; Google's own default is a quarter of an hour


@dataclass(frozen=True)
class Place:
    """A file or folder in a file system; it survives pickling, so that others can go there.

    Attributes
    ----------
    filesystem
        A pyarrow file system.
    path
        As the file system takes it; absolute.
    shown
        How to call it in a sentence: as the user wrote it, without passwords.
    """

    filesystem: Any
    path: str
    shown: str

    @property
    def is_local(self) -> bool:
        """Whether it is on a disk of this machine."""
        return isinstance(self.filesystem, fs.LocalFileSystem)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder; refuse what is not there."""
        with reaching(self.shown):
            kind = self.filesystem.get_file_info(self.path).type
        if kind == fs.FileType.NotFound:
            raise TableError(f"There is no file {self.shown}. Check the name and the folder.")
        return bool(kind == fs.FileType.Directory)


def is_address(path: str) -> bool:
    """Tell whether a name is an address.

    Examples
    --------
    >>> is_address("s3://bucket/folder"), is_address("folder/a.parquet"), is_address("-")
    (True, False, False)
    """
    return ADDRESS.match(path) is not None


def find_place(path: str) -> Place:
    """Return where a file or folder is.

    Parameters
    ----------
    path
        A name, or an address that pyarrow knows: ``file:///``, ``s3://``, ``gs://`` and others.

    """
    if not is_address(path):
        return Place(fs.LocalFileSystem(), os.path.abspath(path), path)
    shown = show_place(path)
    if re.match("gc?s://", path) and "retry_limit_seconds" not in path:
        path += f"{'&' if '?' in path else '?'}retry_limit_seconds={PATIENCE}"
    with reaching(shown, path):
        filesystem, inside = fs.FileSystem.from_uri(path)
    return Place(filesystem, inside, shown)


def show_place(path: str) -> str:
    """Return a name or an address for a sentence: without passwords and options.

    Examples
    --------
    >>> show_place("s3://key:secret@bucket/folder?region=eu-west-1")
    's3://bucket/folder'
    """
    return re.sub(r"//[^/@]*@", "//", path).partition("?")[0] if is_address(path) else path


def local_path(path: str) -> str | None:
    """Return the name of a file or folder on a disk; None for addresses of other places.

    Examples
    --------
    >>> local_path("file:///data/a%20b"), local_path("a.csv"), local_path("s3://bucket/folder")
    ('/data/a b', 'a.csv', None)
    """
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


@contextmanager
def reaching(shown: str, secret: str = "") -> Iterator[None]:
    """Put what goes wrong on the way to a place into one sentence.

    Parameters
    ----------
    shown
        How to call the place.
    secret
        The address with its passwords, not to be shown.
    """
    try:
        yield
    except PermissionError:
        raise TableError(f"{shown} may not be read. Change its permissions or copy it.") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        reason = reason.replace(secret, shown) if secret else reason
        raise TableError(
            f"{shown} cannot be reached ({reason[:150]}). Check the address (file:///, s3:// and "
            "gs:// are known, a space is %20), the network and your permissions there."
        ) from None
