"""Formats of tables, and how a file name tells its format."""

from pathlib import Path

from boreod.tables.errors import TableError
from boreod.text import suggest

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
TEXT_FORMATS = ("csv", "tsv", "jsonl")
STANDARD = "-"


def find_format(path: str, format: str | None) -> str | None:  # noqa: A002
    """Return the format that is asked for, or else the one that the name tells; None if neither.

    Parameters
    ----------
    path
        A file name, or ``-``.
    format
        One of the formats, or None.

    Examples
    --------
    >>> find_format("payments.csv.gz", None), find_format("payments.pq", None)
    ('csv', 'parquet')
    """
    if format is not None:
        if format not in FORMATS:
            raise TableError(
                f"`format` (--format) must be one of {', '.join(FORMATS)}; got {format!r}."
            )
        return format
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    gzipped = bool(suffixes) and suffixes[-1] == ".gz"
    if gzipped:
        suffixes.pop()
    found = SUFFIXES.get(suffixes[-1]) if suffixes else None
    return None if gzipped and found not in TEXT_FORMATS else found


def is_gzipped(path: str) -> bool:
    """Tell whether a name asks for gzip."""
    return path.lower().endswith(".gz")


def refuse_name(path: str) -> TableError:
    """Return the error for a name that does not tell its format."""
    suffix = Path(path).suffix
    close = suggest(suffix, SUFFIXES) if suffix else ""
    hint = f" {close}" if close.startswith("Did") else ""
    return TableError(
        f"The name {path} does not tell its format.{hint} Use {', '.join(SUFFIXES)} (text also "
        f"with .gz), or pass `format` (--format): {', '.join(FORMATS)}."
    )
