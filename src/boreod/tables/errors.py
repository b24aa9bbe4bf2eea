"""What can be wrong with a table, in one sentence."""

import errno
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from boreod.tables.arrow import pa
from boreod.text import shorten

LONGEST_NAME = 10_000  # letters of the name of a column
LONGEST_SHOWN = 200  # letters of it in advice


class TableError(ValueError):
    """A table that cannot be read, written or prepared; the message says what to do."""


def option(name: str, *columns: str) -> str:
    """Return what to type on the command line to name columns.

    Examples
    --------
    >>> option("drop", "day", "name of payee")
    "--drop day --drop 'name of payee'"
    """
    shown = (c if len(c) <= LONGEST_SHOWN else c[: LONGEST_SHOWN - 3] + "..." for c in columns)
    return " ".join(f"--{name} {shlex.quote(column)}" for column in shown)


def check_names(names: list[str], shown: str) -> None:
    """Refuse tables in which a column name is there twice, or longer than any name is."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if len(name) > LONGEST_NAME:
            raise TableError(
                f"Column {position} of {shown} has a name of {len(name)} letters, of at most "
                f"{LONGEST_NAME}: {shorten(name)}. Rename it."
            )
        if name in seen:
            raise TableError(
                f"Columns must have distinct names; {shown} has {shorten(name)} as column "
                f"{seen[name]} and as column {position}. Rename one of them."
            )
        seen[name] = position


@contextmanager
def reading(shown: str, kind: str) -> Iterator[None]:
    """Put what pyarrow and the operating system say about a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"There is no file {shown}. Check the name and the folder.") from None
    except PermissionError:
        raise TableError(f"{shown} may not be read. Change its permissions or copy it.") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no data"
        raise TableError(
            f"{shown} is not {kind}, or it is damaged ({reason[:150]}). Write it again, or say "
            "with `format` (--format) what it is."
        ) from None


@contextmanager
def writing(shown: str) -> Iterator[None]:
    """Put what goes wrong with the disk into one sentence."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads has had enough, which is no fault of the table
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
