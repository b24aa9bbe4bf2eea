"""What a report is made of: headings, paragraphs, tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    header
        Names of the columns; the first column is text, the others are numbers.
    rows
        Texts of the cells.
    bold
        Places (row, column) of cells that stand out.
    caption
        What the table shows.
    """

    header: list[str]
    rows: list[list[str]]
    bold: frozenset[tuple[int, int]] = frozenset()
    caption: str = ""


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


Block = Paragraph | Table | Figure


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading; parts may have parts."""

    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence["Section"] = ()
