"""Files that are whole or not there: they get their name when they are complete.

And the folder for files that can be made again.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__version__ = "0.1.0"  # is written into files


def cache_folder() -> Path:
    """Return the folder of downloads and measured prices, whether it exists or not.

    BOREOD_CACHE names it, otherwise it is ``boreod`` in XDG_CACHE_HOME or in ``~/.cache``.
    """
    chosen = os.environ.get("BOREOD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return shared / "boreod"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give another name in the same folder, and rename what was written there in the end.

    After an error or Ctrl-C nothing is left, and an older file stays as it was. A link keeps
    leading to its file, whose content is new.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder", str(path))
    if target.exists() and not target.is_file():  # a device would be gone after the renaming
        raise OSError(errno.EEXIST, "Is there and is no ordinary file", str(path))
    unfinished = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        yield unfinished
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a file that takes the place of an old one at once; its folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
