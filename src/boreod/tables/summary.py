"""What was done to each input column, for people."""

from typing import NamedTuple


class ColumnSummary(NamedTuple):
    """A column, what it holds, what was done to it, and how many output columns it became."""

    column: str
    holds: str
    done: str
    outputs: int


def format_summary(rows: list[ColumnSummary]) -> str:
    """Return a summary as lines of aligned text.

    Examples
    --------
    >>> print(format_summary([ColumnSummary("amount", "number", "as it is", 1)]))
    column  holds   done      outputs
    amount  number  as it is        1
    """
    lines = [("column", "holds", "done", "outputs"), *((*row[:3], str(row[3])) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    return "\n".join(
        "  ".join([*(f"{line[i]:<{widths[i]}}" for i in range(3)), f"{line[3]:>{widths[3]}}"])
        for line in lines
    )
