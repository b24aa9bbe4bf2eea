"""Options that several commands have, and what they mean together."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    Table = str  # `plain_errors` makes one name of all
else:
    Table = Annotated[
        list[str],
        typer.Argument(
            help="CSV, JSON (also packed), Parquet, Arrow, Excel, SQLite or DuckDB; several files "
            "of the same columns, a folder of Parquet or CSV, or an address (s3://...) of Parquet; "
            "- for standard input.",
            metavar="TABLE...",
        ),
    ]
ModelFile = Annotated[Path, typer.Argument(help="What `boreod fit` wrote.", metavar="MODEL")]
Label = Annotated[
    str, typer.Option("--label", help="Column of labels; empty cells are unlabelled.")
]
MaybeLabel = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Column of labels; empty cells are unlabelled. If not given, rows are ranked by a "
        "consensus of scores.",
    ),
]
Method = Annotated[
    str, typer.Option("--method", help="detector, or bore for the method of the paper.")
]
OutlierLabel = Annotated[
    str | None,
    typer.Option("--outlier-label", help="The label of outliers, if not 1, true or yes."),
]
OtherOutlierLabel = Annotated[
    str | None,
    typer.Option("--outlier-label", help="The label of outliers, if not that of the fit."),
]
InlierLabel = Annotated[
    str | None,
    typer.Option("--inlier-label", help="The label of inliers, if other words are no labels."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="A second table of ids (--id) and labels (--label): its answers count, later ones "
        "more than earlier ones.",
    ),
]
Ids = Annotated[
    list[str] | None, typer.Option("--id", help="Columns that name rows, not learned from.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Columns to leave out.")]
Keep = Annotated[list[str] | None, typer.Option("--keep", help="The only columns to learn from.")]
Since = Annotated[
    list[str] | None,
    typer.Option(
        "--since",
        help="Learn from the time since the last row of the same id, such as card or card:time; "
        "the table must be sorted by time.",
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With budgets in time: rows that come at once, 1 if each comes alone; large batches "
        "if not given.",
    ),
]
Separator = Annotated[
    str | None, typer.Option(help="Between cells of text; found out if not given.")
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="Columns have no names: c0, c1, ...")]
HeaderLine = Annotated[
    int | None,
    typer.Option("--header-line", min=1, help="The line of the column names, if others are above."),
]
Encoding = Annotated[str | None, typer.Option(help="Of text, such as cp1252; UTF-8 if not given.")]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal point of text: . or , and found out if not given.")
]
BadCells = Annotated[
    str,
    typer.Option(
        "--bad-cells",
        help="Cells such as ERR in a column of numbers: missing, error (stop there), or drop "
        "(leave their rows out).",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", help="SQL, or the name of a table or sheet, for databases and workbooks."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, arrow, xlsx, sqlite or duckdb; by the name if not given.",
    ),
]
Text = Annotated[list[str] | None, typer.Option(help="Columns to read as text, not as numbers.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; -1 for all cores.")]
Processes = Annotated[int, typer.Option("--jobs", help="Number of processes; -1 for all cores.")]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of .npz files; else BOREOD_DATA, the cache, the network."),
]
NoNovelty = Annotated[
    bool,
    typer.Option("--no-novelty", help="Alerts by probability alone; no novelty, no ranges."),
]
Numbers = Annotated[
    bool,
    typer.Option("--numbers", help="Reasons as names and what they add to the log-odds."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but the results.")]


READING = {
    "separator": (Separator, None),
    "no_header": (NoHeader, False),
    "header_line": (HeaderLine, None),
    "encoding": (Encoding, None),
    "decimal": (Decimal, None),
    "format": (Format, None),
    "text": (Text, None),
    "bad_cells": (BadCells, "missing"),
    "query": (Query, None),
}  # kinds and defaults


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``READING``; it gets them as one parameter, ``reading``.

    That is what ``boreod.tables.open_table`` takes.
    """
    signature = inspect.signature(command)
    told = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in READING.items()
    ]
    asked: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        asked += told if name == "reading" else [parameter]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in READING}
        no_header, text = chosen.pop("no_header"), split_names(chosen.pop("text"))
        line = chosen.pop("header_line")
        if no_header and line is not None:
            raise typer.BadParameter("--no-header and --header-line exclude each other.")
        chosen |= {"header": False if no_header else line}
        from boreod.tables.arrow import leave_pandas_out

        leave_pandas_out()
        command(**given, reading={**chosen, "types": dict.fromkeys(text or (), "text")})

    wrapped.__signature__ = signature.replace(parameters=asked)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {of.name: of.annotation for of in asked}
    return wrapped


def labels_of_model(
    model: Any,
    label: str | None,
    labels: str | None,
    outlier_label: str | None,
    inlier_label: str | None,
) -> dict[str, Any]:
    """Return the option of ``boreod.tables.open_table`` for labels of a table to judge models by.

    What is not given is that of the fit.
    """
    from boreod.tables.preparing.labels import label_options

    name, outlier = label or model.preparation_.label_, outlier_label or model.outlier_label
    return label_options(name, model.ids_, labels, outlier, inlier_label)


def split_names(given: str | list[str] | None) -> list[str] | None:
    """Return the names of an option that may be repeated and may hold names with commas between.

    Examples
    --------
    >>> split_names("cardio, letter,"), split_names(["a,b", "c"]), split_names(None)
    (['cardio', 'letter'], ['a', 'b', 'c'], None)
    """
    if given is None:
        return None
    values = [given] if isinstance(given, str) else given
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def read_amount(text: str | None) -> Any:
    """Return a number as such; everything else stays text.

    Examples
    --------
    >>> read_amount("0.3"), read_amount("fpr:0.01"), read_amount("200us")
    (0.3, 'fpr:0.01', '200us')
    """
    try:
        return float(text or "")
    except ValueError:
        return text
