"""The application, and what all commands share."""

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

import boreod

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"boreod {boreod.__version__}")
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
            command(*arguments, **options)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(1) from None
        except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
            typer.echo(f"Error: {error or type(error).__name__}", err=True)
            raise typer.Exit(1) from None

    return wrapped


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
