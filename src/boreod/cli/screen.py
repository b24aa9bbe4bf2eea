"""Tables on the screen, whatever is in their cells."""

import sys
from typing import Any

WIDTH = 160  # where nobody knows how wide the screen is


def cell(value: Any) -> str:
    r"""Return a value as text that cannot steer a terminal.

    Examples
    --------
    >>> cell("a\x1b[31m"), cell(None), cell(3)
    ('a?[31m', '', '3')
    """
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_table(header: list[str], lines: list[list[str]]) -> None:
    """Print aligned columns, folded where the screen ends.

    Parameters
    ----------
    header
        Names of the columns.
    lines
        Their cells, which are printed as they are.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for line in lines:
        table.add_row(*(Text(text) for text in line))
    Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False).print(table)
