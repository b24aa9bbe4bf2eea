"""Folders that are whole or not there: built beside their place, and named in the end."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boreod.tables import TableError
from boreod.tables.locations import STANDARD, local_path
from boreod.tables.writer import writing


def is_folder_name(path: str) -> bool:
    """Tell whether an output is a folder: by a slash at its end, being there, or having no suffix.

    Examples
    --------
    >>> is_folder_name("scores/"), is_folder_name("scores"), is_folder_name("scores.parquet")
    (True, True, False)
    """
    if path == STANDARD:
        return False
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return True
    return not Path(path).suffix and not os.path.exists(path)


def check_new_folder(path: str, source: str) -> None:
    """Refuse a folder that cannot be new, or would be read with the table the next time.

    Parameters
    ----------
    path
        Name of the folder to be written.
    source
        What is being read.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise TableError(f"{path} is there and is no folder. Choose another name.")
    if target.is_dir() and any(target.iterdir()):
        raise TableError(
            f"The folder {path} is not empty, and nothing in it is overwritten. Name a new "
            "folder, or empty it first."
        )
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent} to write to. Make it first.")
    read = local_path(source)
    if read is not None and Path(os.path.realpath(read)) in target.parents:
        raise TableError(
            f"{path} is in the folder that is being read, and would be part of the table the next "
            "time. Choose another folder."
        )


@contextmanager
def unfinished_folder(path: str) -> Iterator[str]:
    """Give a hidden folder beside a place; in the end nothing is left of it, whatever happens.

    Parameters
    ----------
    path
        The file or folder that is being made.
    """
    parent, name = os.path.split(os.path.realpath(path))
    folder = os.path.join(parent, f".{name}.{secrets.token_hex(6)}.part")
    gone = f"{folder}.gone"
    try:
        with writing(path):
            os.mkdir(folder)
        yield folder
    finally:
        with suppress(OSError):  # under another name nobody who still works can add to it
            os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)
