"""The application, and what all commands share: errors, exit codes, printing.

Exit code 0 means success, 1 a failure, 2 a wrong command, and 3 a table unlike the training table
(`boreod check`, `boreod score --strict`). One sentence on standard error explains a failure. A
stopped command exits with the usual codes: 130 after Ctrl-C, 143 after SIGTERM, and 141 if the
program that reads the output has ended.
"""

import errno
import functools
import io
import json
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Option

from boreod.files import __version__
from boreod.text import count_of

# The largest number of notes that are printed.
MAX_NOTES = 20
# At least this many adjacent lines are printed as one line if only their names differ.
MIN_FOLDED = 4
# SIGPIPE has the number 13. It is not taken from `signal`, because not all systems have it.
BROKEN_PIPE = 128 + 13
WRITING = ("fit", "report", "score")
# A signal ends the process at once if it comes this many seconds after the first.
GRACE = 0.5

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command line. Characters that the terminal cannot show are replaced."""
    _Stop.watch()
    # SIGTERM, which stops a service, is handled like Ctrl-C, so that temporary files are removed.
    signal.signal(signal.SIGTERM, _Stop.interrupt)
    # If a process in the background ignores Ctrl-C, it must go on doing so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Stop.interrupt)
    # Writing to a closed standard output must fail, like writing to a full disk.
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    code: Any = 130
    try:
        app()
    except SystemExit as end:
        code = BROKEN_PIPE if isinstance(end.__context__, BrokenPipeError) else end.code
        if _Stop.number is None and code in (None, 0, 2, 3):
            raise
    except KeyboardInterrupt:
        # Ctrl-C came before a command began.
        pass
    except OSError as error:
        # A help text could not be written.
        code = _print_error(error)
    # The code may be 0, because some imports swallow an interrupt.
    if _Stop.number is not None and code in (None, 0, 1, 130):
        _Stop.announce()
        code = 128 + _Stop.number
    for stream in (sys.stdout, sys.stderr):
        # A program without a terminal may have no streams.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    # A thread of pyarrow may still be reading ahead from a pipe, and nothing can stop it. If it
    # returns while the interpreter ends, Python aborts. This happened in 10 % of runs after Ctrl-C.
    # So the process ends without the usual cleanup.
    os._exit(code if isinstance(code, int) else 1)


class _Stop:
    """The signal that asked a command to stop."""

    number: int | None = None
    announced = False

    @classmethod
    def interrupt(cls, number: int, _: Any) -> None:
        """Stop as Ctrl-C does, and remember the signal; a second one must not stop the cleanup."""
        # Windows has no thread that waits for it.
        if cls.number is None or os.name != "posix":
            cls.number = number
            raise KeyboardInterrupt

    @classmethod
    def watch(cls) -> None:
        """Let a thread wait for signals: the main thread may be in code that takes long."""
        if os.name != "posix":
            return
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # Signals to a forked process are not signals to this one.
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
        threading.Thread(target=cls._end_at_once, args=[reader], daemon=True).start()

    @staticmethod
    def _end_at_once(reader: int) -> None:
        """End the process at a second signal, whatever the main thread does.

        A terminal and a program such as timeout may both pass on one signal, so a second one
        counts only some time after the first.
        """
        os.read(reader, 1)
        first = time.monotonic()
        while time.monotonic() - first < GRACE:
            number = os.read(reader, 1)[0]
        os._exit(128 + number)

    @classmethod
    def announce(cls, more: str = "") -> None:
        """Say once that the command was stopped."""
        if not cls.announced:
            typer.echo(f"Stopped.{more}", err=True)
        cls.announced = cls.number is not None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"boreod {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Outlier detection from a table and a few labelled outliers."""


def plain_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an error into one sentence on standard error and exit code 1."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            with _warnings_as_notes(quiet=bool(options.get("quiet"))):
                if isinstance(options.get("table"), list):
                    # Several file names become one text, as in `locations.several`.
                    options["table"] = "\0".join(options["table"])
                command(*arguments, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            _Stop.announce()
            raise typer.Exit(130) from None
        except (BrokenPipeError, SystemExit):
            # The program that reads the output has ended; in this case, rich raises SystemExit.
            _discard_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except Exception as error:
            is_closed = isinstance(error, OSError) and error.errno == errno.EBADF
            # These commands print what they have done after they have written their file.
            if is_closed and command.__name__ in WRITING and options["output"] != "-":
                note("Standard output is closed, so no summary was printed; the file is written.")
                _discard_output()
                raise typer.Exit from None
            # After a signal, an import that was interrupted may raise any error.
            if _Stop.number is None:
                _print_error(error)
            raise typer.Exit(1) from None

    return wrapped


def _discard_output() -> None:
    """Redirect standard output, because Python writes to it when it ends."""
    # Standard output may have no file descriptor.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each warning once as a note, or no warning if ``quiet``."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet and str(message) not in seen:
            seen.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _print_error(error: Exception) -> int:
    """Print an error, and return the exit code of failures."""
    typer.echo(f"Error: {_one_line(_sentence(error))}", err=True)
    return 1


def _sentence(error: Exception) -> str:
    """Return the message of an error, without its class."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Close other programs, or use fewer rows."
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return "Standard output is closed. Send it to a file, or to /dev/null if nobody reads it."
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {str(error.filename)!r}"
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = " Free some space, or write to another disk." if full else ""
        return f"{error.strerror}{place}.{remedy}"
    known = (ValueError, TypeError, OSError, ImportError, RuntimeError)
    if isinstance(error, known) and str(error):
        return str(error)
    return (
        f"Something unforeseen happened ({type(error).__name__}: {error}). Please report it with "
        "the command that you typed."
    )


def _one_line(text: str) -> str:
    """Return text without line breaks and without characters that control a terminal."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())


def stop_with_journal(path: Path) -> NoReturn:
    """End after Ctrl-C, and say where finished runs are, if there are any."""
    kept = f" Finished runs are kept in {path}; the same command goes on from there."
    _Stop.announce(kept if path.exists() else " No run was finished yet.")
    raise typer.Exit(130) from None


def note(text: str) -> None:
    """Print a remark on standard error."""
    typer.echo(f"Note: {_one_line(text)}", err=True)


def print_json(facts: Any, *, err: bool = False) -> None:
    """Print facts as JSON."""
    typer.echo(json.dumps(facts, default=str), err=err)


def cell(value: Any) -> str:
    r"""Return a value as text without characters that control a terminal.

    Examples
    --------
    >>> cell("a\x1b[31m"), cell(None), cell(3)
    ('a?[31m', '', '3')
    """
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_notes(remarks: Iterable[str]) -> None:
    """Print remarks on standard error; a remark on many columns is printed once."""
    seen: dict[str, list[str]] = {}
    for remark in map(cell, remarks):
        named = re.fullmatch(r"(Column '[^']*') (.*)", remark)
        name, rest = named.groups() if named else ("", remark)
        seen.setdefault(rest, []).append(name)
    for rest, names in list(seen.items())[:MAX_NOTES]:
        text = f"{names[0]} {rest}".strip()
        if len(names) > 1:
            others = count_of(len(names) - 1, "more column")
            text += f" The same holds for {others}, up to {names[-1][7:]}."
        note(text)
    if len(seen) > MAX_NOTES:
        note(f"There are {len(seen) - MAX_NOTES} more such remarks (--json lists all).")


def fold_lines(lines: list[list[str]]) -> list[list[str]]:
    """Return lines of a table; many adjacent lines that differ only in their names become one.

    Examples
    --------
    >>> fold_lines([["x1", "3ns"], ["x2", "3ns"], ["x3", "3ns"], ["x4", "3ns"], ["lof", "9us"]])
    [['x1, x2 ... x4 (4 columns, each)', '3ns'], ['lof', '9us']]
    """
    folded: list[list[str]] = []
    for rest, group in groupby(lines, key=lambda line: line[1:]):
        names = [line[0] for line in group]
        if len(names) < MIN_FOLDED:
            folded += [[name, *rest] for name in names]
        else:
            shown = f"{names[0]}, {names[1]} ... {names[-1]}"
            folded.append([f"{shown} ({len(names):,} columns, each)", *rest])
    return folded


def print_table(header: list[str], lines: list[list[str]], *, err: bool = False) -> None:
    """Print aligned columns; cells wrap at the width of the screen."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for line in lines:
        table.add_row(*(Text(text) for text in line))
    stream = sys.stderr if err else sys.stdout
    # A closed stream is None.
    if stream is not None:
        width = None if stream.isatty() else 160
        Console(width=width, highlight=False, stderr=err).print(table)
