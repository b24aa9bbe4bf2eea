"""The application, and what all commands share."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from boreod.files import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"boreod {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Outlier detection from a table and a few labelled outliers."""


def plain_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what goes wrong into one sentence on standard error and exit code 1."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            with warnings_as_notes(quiet=bool(options.get("quiet"))):
                command(*arguments, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(1) from None
        except BrokenPipeError:  # whoever reads the output has had enough
            _forget_output()
            raise typer.Exit(1) from None
        except Exception as error:
            typer.echo(f"Error: {_sentence(error)}", err=True)
            raise typer.Exit(1) from None

    return wrapped


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show each warning once, as a line for people; or not at all.

    Parameters
    ----------
    quiet
        Whether nothing is to be shown.
    """
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet and str(message) not in seen:
            seen.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def note(text: str) -> None:
    """Print a remark on standard error."""
    typer.echo(f"Note: {_one_line(text)}", err=True)


def stop_with_journal(path: Path) -> NoReturn:
    """End after Ctrl-C, and say where finished runs are, if there are any."""
    kept = f" Finished runs are kept in {path}; the same command goes on from there."
    typer.echo("Stopped." + (kept if path.exists() else " No run was finished yet."), err=True)
    raise typer.Exit(1) from None


def split_names(text: str | None) -> list[str] | None:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> split_names("cardio, letter,")
    ['cardio', 'letter']
    """
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def _sentence(error: Exception) -> str:
    """Return what an error says, for one who does not want to know its class."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Close other programs, or use fewer rows."
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {str(error.filename)!r}"
        return _one_line(f"{error.strerror}{place}.")
    known = (ValueError, TypeError, OSError, ImportError, RuntimeError)
    if isinstance(error, known) and str(error):
        return _one_line(str(error))
    return _one_line(
        f"Something unforeseen happened ({type(error).__name__}: {error}). Please report it with "
        "the command that you typed."
    )


def _one_line(text: str) -> str:
    """Return text without line breaks and without letters that steer a terminal."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())


def _forget_output() -> None:
    """Send what is still to be written nowhere, so that the end of the program is silent."""
    with suppress(OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
