"""What can be wrong with a table, in one sentence."""

import difflib
import errno
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from boreod.tables.arrow import pa

LONGEST_NAME = 10_000  # letters of the name of a column
LONGEST_SHOWN = 200  # letters of it in advice


class TableError(ValueError):
    """A table that cannot be read, written or prepared; the message says what to do."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the names that a wrong one may have meant.

    Examples
    --------
    >>> suggest("amonut", ["amount", "country"])
    "Did you mean 'amount'?"
    >>> suggest("x", ["amount", "country"])
    "The columns are 'amount', 'country'."
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    return f"The columns are {listed(known)}."


def listed(values: Iterable[object], most: int = 10) -> str:
    """Return values for a sentence, not too many of them."""
    values = list(values)
    shown = ", ".join(shortened(value) for value in values[:most])
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown


def shortened(value: object) -> str:
    """Return a representation that fits into a sentence."""
    try:
        shown = repr(value)
    except ValueError:  # whole numbers of thousands of digits have none
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 50 else shown[:46] + "..." + shown[-1]


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
                f"{LONGEST_NAME}: {shortened(name)}. Rename it."
            )
        if name in seen:
            raise TableError(
                f"Columns must have distinct names; {shown} has {shortened(name)} as column "
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
