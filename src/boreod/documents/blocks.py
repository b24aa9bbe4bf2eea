"""What a report is made of: headings, paragraphs, facts, tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Facts:
    """A few numbers that a reader should see first.

    Attributes
    ----------
    items
        Number, what it is, and a remark that may be empty.
    """

    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Bars:
    """Several amounts in one cell of a table, the last of its row, each with a bar.

    Attributes
    ----------
    items
        Text, amount as text, and length of the bar from -1 to 1, whose sign tells the color.
    """

    items: Sequence[tuple[str, str, float]]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    header
        Names of the columns; the first column is text, the others are numbers.
    rows
        Texts of the cells, or bars.
    bold
        Places (row, column) of cells that stand out.
    caption
        What the table shows.
    texts
        Columns after the first that are text too, and may be wrapped.
    """

    header: list[str]
    rows: Sequence[Sequence[str | Bars]]
    bold: frozenset[tuple[int, int]] = frozenset()
    caption: str = ""
    texts: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A picture in the folder of the report.

    Attributes
    ----------
    path
        Of the SVG file.
    caption
        What it shows, for readers and for those who cannot see it.
    """

    path: Path
    caption: str


@dataclass(frozen=True)
class Row:
    """Figures side by side where there is room, else below each other."""

    figures: Sequence[Figure]


Block = Paragraph | Facts | Table | Figure | Row


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading; parts may have parts."""

    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence["Section"] = ()
