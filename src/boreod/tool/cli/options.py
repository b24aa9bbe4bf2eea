"""Options that several commands share."""

import functools
import hashlib
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

if TYPE_CHECKING:
    # At run time the names come as a list, which `plain_errors` joins.
    Table = str
else:
    Table = Annotated[
        list[str],
        Argument(
            help="A file: CSV, JSON (also compressed), Parquet, Arrow, Excel, SQLite or DuckDB. Or "
            "several files with the same columns, a folder of Parquet or CSV files, an address "
            "(s3://...) of Parquet files, or - for standard input.",
            metavar="TABLE...",
        ),
    ]
ModelFile = Annotated[Path, Argument(help="Model file that `boreod fit` wrote.", metavar="MODEL")]
Label = Annotated[str, Option(help="Column of labels; empty cells are unlabelled.")]
OutlierLabel = Annotated[str | None, Option(help="Label of outliers; by default 1, true or yes.")]
OtherOutlierLabel = Annotated[
    str | None, Option(help="Label of outliers; by default the label in the fit.")
]
InlierLabel = Annotated[
    str | None, Option(help="Label of inliers; rows with neither label are then unlabelled.")
]
Labels = Annotated[
    str | None,
    Option(
        help="Second table with ids (--id) and labels (--label). Its labels replace the labels of "
        "the table; if an id has several labels, the last one counts."
    ),
]
Ids = Annotated[
    list[str] | None, Option("--id", help="Columns that name rows and are not learned from.")
]
Drop = Annotated[list[str] | None, Option(help="Columns to leave out.")]
Keep = Annotated[list[str] | None, Option(help="The only columns to learn from.")]
Since = Annotated[
    list[str] | None,
    Option(
        help="Column of ids, such as card or card:time. The model then also learns from the time "
        "since the last row of the same id. The table must be sorted by time."
    ),
]
Batch = Annotated[
    int | None,
    Option(
        min=1,
        help="Number of rows that are scored at once, for budgets in time: 1 if rows come one by "
        "one; by default large batches.",
    ),
]
Threshold = Annotated[
    str | None, Option(help="Threshold as in `boreod fit`; by default the model's threshold.")
]
Seed = Annotated[int, Option(min=0, help="Random seed.")]
Jobs = Annotated[int | None, Option(help="Number of threads; -1 for all cores.")]
Processes = Annotated[int, Option("--jobs", help="Number of processes; -1 for all cores.")]
DataFolder = Annotated[
    Path | None,
    Option(
        help="Folder of .npz files; by default the folder in BOREOD_DATA, or else the cache and "
        "the network."
    ),
]
NoNovelty = Annotated[
    bool,
    Option("--no-novelty", help="Decide by probability alone; ignore novelty and training ranges."),
]
Numbers = Annotated[
    bool, Option("--numbers", help="Show reasons as contributions to the log-odds, not in words.")
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", help="Print only results.")]


# Options by name: type, default, help text, and the least and largest value of a number.
OptionTable = dict[str, tuple[Any, ...]]
READING: OptionTable = {
    "separator": (str | None, None, "Separator of cells in text files; detected by default."),
    "no_header": (bool, False, "The table has no column names; use c0, c1, ..."),
    "header_line": (int | None, None, "Number of the line with the column names.", 1),
    "encoding": (str | None, None, "Encoding of text files, such as cp1252; UTF-8 by default."),
    "decimal": (str | None, None, "Decimal point in text files, . or , (detected by default)."),
    "format": (
        str | None,
        None,
        "Format: csv, tsv, jsonl, parquet, arrow, xlsx, sqlite or duckdb; by default the suffix "
        "decides.",
    ),
    "text": (list[str] | None, None, "Columns to read as text, not as numbers."),
    "bad_cells": (
        str,
        "missing",
        "What to do with cells such as ERR in a column of numbers: missing (treat as missing), "
        "error (stop) or drop (leave their rows out).",
    ),
    "query": (
        str | None,
        None,
        "SQL query, or name of a table or sheet, for databases and workbooks.",
    ),
}
# Options that repair a table in passing.
REPAIRS: OptionTable = {
    "rename": (
        list[str] | None,
        None,
        "A column of the table and its name in the training table, such as Amount=amount; may be "
        "repeated.",
    ),
    "scale": (
        list[str] | None,
        None,
        "A column of numbers and a factor to multiply it by, such as weight=0.001; may be "
        "repeated.",
    ),
}
# The exit code if a table is unlike the training table.
FOUND = 3
# A file of repairs has at most this many bytes.
MAX_REPAIRS = 1_000_000


@dataclass(frozen=True)
class Repairs:
    """The repairs of all later tables for one model, as they are kept in a file beside it.

    ``model`` is the SHA-256 of the model file.
    """

    model: str
    rename: dict[str, str]
    scale: dict[str, float]


def takes(name: str, table: OptionTable) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a table in place of its parameter ``name``.

    The command gets the values of these options as one dictionary.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            chosen = {option: given.pop(option) for option in table}
            command(**given, **{name: chosen})

        signature = inspect.signature(command)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            parameters += _parameters(table) if parameter.name == name else [parameter]
        wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {new.name: new.annotation for new in parameters}
        return wrapped

    return decorate


def _parameters(table: OptionTable) -> Iterator[inspect.Parameter]:
    for name, (kind, default, text, *ends) in table.items():
        limits = dict(zip(("min", "max"), ends, strict=False))
        about = Option(f"--{name.replace('_', '-')}", help=text, **limits)
        new = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        yield new.replace(annotation=Annotated[kind, about])


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``READING`` in place of its parameter ``reading``.

    The command gets the values as one dictionary of options of ``boreod.tables.open_table``.
    """

    @functools.wraps(command)
    def wrapped(*, reading: dict[str, Any], **given: Any) -> None:
        header = reading.pop("header_line")
        if reading.pop("no_header"):
            if header is not None:
                raise typer.BadParameter("--no-header and --header-line exclude each other.")
            header = False
        types = dict.fromkeys(split_names(reading.pop("text")) or (), "text")
        from boreod.tables.arrow import leave_pandas_out

        leave_pandas_out()
        command(**given, reading={**reading, "header": header, "types": types})

    return takes("reading", READING)(wrapped)


def read_repairs(model: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the repairs of a table as options of ``boreod.tables.open_table``.

    If the command has none, those that are kept beside the model are used, and a note says so.
    """
    repairs: dict[str, Any] = {
        "rename": _read_pairs(given, "rename"),
        "scale": {name: read_amount(text) for name, text in _read_pairs(given, "scale").items()},
    }
    path = repairs_path(model)
    if path.exists() and not any(repairs.values()):
        kept = _load_repairs(model, path)
        repairs = {"rename": kept.rename, "scale": kept.scale}
        shown = [f"--{what} {k}={v}" for what, pairs in repairs.items() for k, v in pairs.items()]
        warnings.warn(
            f"The repairs in {path} are used: {' '.join(shown)}. Options of the command replace "
            "them; to use none, remove the file.",
            stacklevel=2,
        )
    return repairs


def keep_repairs(model: Path, repairs: dict[str, Any]) -> Path:
    """Write repairs to a file beside the model, where later commands find them."""
    from boreod.files import write_text

    path = repairs_path(model)
    write_text(path, json.dumps({"model": _digest(model), **repairs}, indent=2) + "\n")
    return path


def repairs_path(model: Path) -> Path:
    """Return the file of kept repairs, such as ``fraud.boreod.repairs.json``, for links too."""
    return Path(f"{model.resolve()}.repairs.json")


def _read_pairs(given: dict[str, Any], option: str) -> dict[str, str]:
    """Return the two parts of texts such as ``weight=0.001``."""
    pairs = [text.rpartition("=")[::2] for text in given[option] or ()]
    found = {name.strip(): value.strip() for name, value in pairs}
    if len(found) < len(pairs) or "" in (*found, *found.values()):
        raise typer.BadParameter(
            "--rename takes two names of a column, such as Amount=amount, and --scale a column and "
            "a factor, such as weight=0.001; each column once. Got "
            f"{', '.join(f'--{option} {text}' for text in given[option])}."
        )
    return found


def _load_repairs(model: Path, path: Path) -> Repairs:
    """Return the kept repairs of a model; refuse a file that this model does not go with."""
    from boreod.files import parse_json, typed_json

    try:
        if path.stat().st_size > MAX_REPAIRS:
            raise ValueError(f"it has more than {MAX_REPAIRS:,} bytes")
        kept: Repairs = typed_json(Repairs, parse_json(path.read_bytes(), "it"), "it")
        if kept.model != _digest(model):
            raise ValueError("it was kept for another model file")
    except ValueError as error:
        raise ValueError(
            f"The kept repairs {str(path)!r} cannot be used: {error}. Keep them again (boreod "
            "check --rename ... --scale ... --keep-repairs), or remove this file."
        ) from None
    return kept


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def split_names(given: str | list[str] | None) -> list[str] | None:
    """Return the names given to an option, which may be repeated or take names with commas.

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
    """Return a number as a float, and everything else as it is.

    Examples
    --------
    >>> read_amount("0.3"), read_amount("fpr:0.01"), read_amount("200us")
    (0.3, 'fpr:0.01', '200us')
    """
    try:
        return float(text or "")
    except ValueError:
        return text
