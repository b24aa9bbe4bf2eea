"""Options that several commands have, and what they mean together."""

from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.cli.app import split_names

Table = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Arrow or JSON lines, a folder of Parquet files, or an address "
        "(s3://...) of Parquet; - for standard input."
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="What `boreod fit` wrote.", metavar="MODEL")]
Separator = Annotated[
    str | None, typer.Option(help="Between cells of text; found out if not given.")
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="Columns have no names: c0, c1, ...")]
Encoding = Annotated[str | None, typer.Option(help="Of text, such as cp1252; UTF-8 if not given.")]
Decimal = Annotated[str, typer.Option(help="Decimal point of text: . or ,")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, tsv, jsonl, parquet or arrow; by the name if not given."),
]
Text = Annotated[list[str] | None, typer.Option(help="Columns to read as text, not as numbers.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; -1 for all cores.")]
EngineName = Annotated[
    str, typer.Option("--engine", help="threads, or dask: Parquet in pieces, on a cluster.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Of dask, one core each; all cores if not given.")
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask cluster that is running, such as tcp://...")
]
NoNovelty = Annotated[
    bool,
    typer.Option("--no-novelty", help="Alerts by probability alone; no novelty, no ranges."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but the results.")]


def reading_options(
    separator: str | None,
    no_header: bool,
    encoding: str | None,
    decimal: str,
    format: str | None,  # noqa: A002
    text: list[str] | None,
) -> dict[str, Any]:
    """Return the options of ``boreod.tables.open_table``.

    Parameters
    ----------
    separator, no_header, encoding, decimal, format, text
        As on the command line.
    """
    return {
        "separator": separator,
        "header": False if no_header else None,
        "encoding": encoding,
        "decimal": decimal,
        "format": format,
        "types": dict.fromkeys(all_names(text) or (), "text"),
    }


def all_names(values: list[str] | None, known: list[str] | None = None) -> list[str] | None:
    """Return the names of an option that may be repeated and may hold names with commas between.

    Parameters
    ----------
    values
        As on the command line.
    known
        Columns of the table: a name that is one of them may have a comma in it.

    Examples
    --------
    >>> all_names(["a,b", "c"]), all_names(["a,b"], ["a,b", "c"])
    (['a', 'b', 'c'], ['a,b'])
    """
    if not values:
        return None
    names: list[str] = []
    for value in values:
        names += [value] if known and value in known else split_names(value) or []
    return names


def check_dataset(name: str) -> None:
    """Refuse a name that is in no catalogue, as a mistake in the command."""
    from boreod.datasets.entries import find

    try:
        find(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def read_amount(text: str | None) -> float | str | None:
    """Return a number as such; everything else stays text.

    Examples
    --------
    >>> read_amount("0.3"), read_amount("fpr:0.01"), read_amount("200us")
    (0.3, 'fpr:0.01', '200us')
    """
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
