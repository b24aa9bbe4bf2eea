"""Where tables are, on a disk or at an address such as ``s3://bucket/folder``; their formats."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boreod.tables.arrow import TableError, fs, pa

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
READ_SUFFIXES = {
    **SUFFIXES,
    ".json": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xlsx",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
}
PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
TEXT_FORMATS = ("csv", "tsv", "jsonl")
FORMATS = (*TEXT_FORMATS, "parquet", "arrow")
READ_FORMATS = (*FORMATS, "xlsx", "sqlite", "duckdb")
STANDARD = "-"
BETWEEN = "\n"  # the names of several files, where one name is expected


@dataclass(frozen=True)
class Place:
    """A file or folder in a file system; it survives pickling, so that workers can open it."""

    filesystem: Any  # a file system of pyarrow
    path: str  # absolute, as the file system takes it
    shown: str  # for sentences: what the user wrote, without passwords

    @property
    def is_local(self) -> bool:
        """Whether it is on a disk of this machine."""
        return isinstance(self.filesystem, fs.LocalFileSystem)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder; refuse what is not there."""
        with reading(self.shown):
            kind = self.filesystem.get_file_info(self.path).type
        if kind == fs.FileType.NotFound:
            raise TableError(f"There is no file {self.shown}. Check the name and the folder.")
        return bool(kind == fs.FileType.Directory)


def find_place(path: str) -> Place:
    """Return where a file or folder is; addresses are those that pyarrow knows."""
    if not is_address(path):
        return Place(fs.LocalFileSystem(), os.path.abspath(path), path)
    shown = show_place(path)
    if re.match("gc?s://", path) and "retry_limit_seconds" not in path:
        # Google's own default is a quarter of an hour.
        path += f"{'&' if '?' in path else '?'}retry_limit_seconds=30"
    with reading(shown, address=path):
        filesystem, inside = fs.FileSystem.from_uri(path)
    return Place(filesystem, inside, shown)


def is_address(path: str) -> bool:
    """Return whether a name is an address, such as ``s3://bucket/folder``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def show_place(path: str) -> str:
    """Return a name or an address for a sentence: without passwords and options.

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
    """Return the files that a name stands for: several, or those that a pattern matches."""
    names = path.split(BETWEEN)
    found: list[str] = []
    for name in names:
        is_pattern = not is_address(name) and not os.path.exists(name) and glob.has_magic(name)
        matching = sorted(glob.glob(name, recursive=True)) if is_pattern else [name]
        if not matching:
            raise TableError(f"No file matches {name}. Check the pattern and the folder.")
        found += matching
    if len(found) > 1 and STANDARD in found:
        raise TableError("Standard input (-) cannot be one of several files. Name files only.")
    return found


def can_read_again(path: str) -> bool:
    """Return whether a table can be read twice, which a pipe cannot."""
    return all(is_address(p) or os.path.isfile(p) or os.path.isdir(p) for p in expand(path))


def find_format(path: str, asked: str | None, *, to_read: bool = False) -> str | None:
    """Return the format that is asked for, or else that of the name; None if neither."""
    formats = READ_FORMATS if to_read else FORMATS
    if asked is not None:
        if asked not in formats:
            raise TableError(
                f"`format` (--format) must be one of {', '.join(formats)}; got {asked!r}."
            )
        return asked
    packed = PACKED if to_read else PACKED[:1]
    suffixes = READ_SUFFIXES if to_read else SUFFIXES
    suffix = next((suffix for suffix in packed if path.lower().endswith(suffix)), "")
    found = suffixes.get(Path(path[: len(path) - len(suffix)]).suffix.lower())
    return None if suffix and found not in TEXT_FORMATS else found


def is_gzipped(path: str) -> bool:
    """Return whether a name asks for gzip."""
    return path.lower().endswith(".gz")


def refuse_name(path: str, to_read: bool = True) -> TableError:
    """Return the error for a name without a known format."""
    if not to_read:
        return TableError(
            f"The name {path} does not tell in which format to write. Use {', '.join(SUFFIXES)}; "
            "text also with .gz."
        )
    return TableError(
        f"The name {path} does not tell its format. Use {', '.join(SUFFIXES)} (text also "
        f"with .gz; to read also {', '.join(PACKED[1:])} and {', '.join(list(READ_SUFFIXES)[10:])})"
        f", or pass `format` (--format): {', '.join(FORMATS)}."
    )


@contextmanager
def reading(shown: str, kind: str | None = None, address: str = "") -> Iterator[None]:
    """Put what pyarrow and the operating system say about a file into one sentence.

    Without a kind of file it is about the way there, and the address may hold passwords.
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
