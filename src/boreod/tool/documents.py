"""Convert the sections of a document to Markdown, or to one HTML page that needs no other file.

Facts, bars and rows of figures are for HTML pages only. Their style is in ``page.css``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path

REFERENCES = re.compile(r'(\bid="|href="#|url\(#)')
UNITS = re.compile(r"(?<=\d) (?=%|[nµm]?s\b)")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
STYLE = Path(__file__).with_name("page.css")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Paragraph:
    """Plain text. If ``leads`` is True, letters are larger, for readers who read nothing else."""

    text: str
    leads: bool = False

    def to_markdown(self) -> str:
        """Return the text."""
        return self.text

    def to_html(self, _: Iterator[int]) -> str:
        """Return a paragraph."""
        mark = ' class="lead"' if self.leads else ""
        return f"<p{mark}>{_text(self.text)}</p>"


@dataclass(frozen=True)
class Facts:
    """A few numbers that a reader should see first.

    Each item is a number, its meaning, and a remark, which may be empty.
    """

    items: Sequence[tuple[str, str, str]]

    def to_html(self, _: Iterator[int]) -> str:
        """Return a list of meanings and numbers."""
        items = [
            f'<div><dt>{_text(what)}</dt><dd class="number">{_text(number)}</dd>'
            + (f'<dd class="remark">{_text(remark)}</dd></div>' if remark else "</div>")
            for number, what, remark in self.items
        ]
        return '<dl class="facts">\n' + "\n".join(items) + "</dl>"


@dataclass(frozen=True)
class Bars:
    """Several amounts with bars, in the last cell of a row of a table.

    Each item is a text, an amount as text, and the length of its bar from -1 to 1. The sign of the
    length decides the color of the bar.
    """

    items: Sequence[tuple[str, str, float]]

    def to_html(self) -> str:
        """Return texts and amounts, each with its bar."""
        return "".join(
            f'\n<span class="bar {"up" if length > 0 else "down"}" '
            f'style="--size: {round(100 * min(abs(length), 1.0))}%">'
            f"{_text(what)} <b>{_text(amount)}</b></span> "
            for what, amount, length in self.items
        )


class Bold(str):
    """A cell of a table that stands out."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A table. Its first column is text, and the other columns are numbers.

    ``texts`` holds the indices of further columns of text, whose lines may be wrapped. A row of
    bold cells is marked.
    """

    header: list[str]
    rows: Sequence[Sequence[str | Bars]]
    caption: str = ""
    texts: frozenset[int] = frozenset()

    def to_markdown(self) -> str:
        """Return a table below its caption."""
        rule = ["--:" if n and n not in self.texts else "---" for n in range(len(self.header))]
        lines = [[_markdown_cell(name) for name in self.header], rule]
        for cells in self.rows:
            marks = ["**" if isinstance(cell, Bold) else "" for cell in cells]
            pairs = zip(marks, cells, strict=True)
            lines.append([f"{mark}{_markdown_cell(cell)}{mark}" for mark, cell in pairs])
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"*{self.caption}*\n\n{body}" if self.caption else body

    def to_html(self, _: Iterator[int]) -> str:
        """Return a table; a phone shows bars below the other cells of their row."""
        label = _text(self.caption or "Table")
        last = len(self.header) - 1
        stacked = any(isinstance(cell, Bars) for row in self.rows for cell in row)
        header = [
            f'<th scope="col"{self._class(column, stacked and column == last)}>{_text(name)}</th>'
            for column, name in enumerate(self.header)
        ]
        rows = []
        for cells in self.rows:
            marked = all(isinstance(cell, Bold) for cell in cells)
            shown = "".join(self._cell(*cell) for cell in enumerate(cells))
            rows.append(('<tr class="marked">' if marked else "<tr>") + shown + "</tr>")
        caption = f'<p class="caption" aria-hidden="true">{label}</p>\n' if self.caption else ""
        return (
            f'<div class="table{" stacked" if stacked else ""}">\n{caption}'
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">\n'
            f'<table aria-label="{label}">\n<thead><tr>{"".join(header)}</tr></thead>\n'
            "<tbody>" + "\n".join(rows) + "\n</tbody></table></div></div>"
        )

    def _class(self, column: int, bars: bool) -> str:
        if column not in self.texts:
            return ""
        return ' class="text bars"' if bars else ' class="text"'

    def _cell(self, column: int, cell: str | Bars) -> str:
        if isinstance(cell, Bars):
            return f"<td{self._class(column, True)}>{cell.to_html()}</td>"
        shown = f"<b>{_text(cell)}</b>" if isinstance(cell, Bold) else _text(cell)
        if column == 0:
            return f'<th scope="row">{shown}</th>'
        return f"<td{self._class(column, False)}>{shown}</td>"


@dataclass(frozen=True)
class Figure:
    """An SVG file in the folder of the document.

    The caption also tells readers who cannot see the picture what it shows.
    """

    path: Path
    caption: str

    def to_markdown(self) -> str:
        """Return a link to the picture above its caption."""
        return f"![{self.caption}]({self.path.name})\n\n*{self.caption}*"

    def to_html(self, numbers: Iterator[int]) -> str:
        """Return the picture; a number makes the ids of its parts unique on the page."""
        caption = _text(self.caption)
        svg = self.path.read_text(encoding="utf-8")
        svg = METADATA.sub("", svg[svg.index("<svg") :])
        svg = REFERENCES.sub(rf"\g<1>f{next(numbers)}-", svg)
        return (
            f'<figure role="img" aria-label="{caption}">{svg}\n'
            f"<figcaption>{caption}</figcaption></figure>"
        )


@dataclass(frozen=True)
class Row:
    """Figures that stand side by side if there is space, and otherwise below each other."""

    figures: Sequence[Figure]

    def to_html(self, numbers: Iterator[int]) -> str:
        """Return the figures side by side."""
        return f'<div class="row">{"".join(f.to_html(numbers) for f in self.figures)}</div>'


Block = Paragraph | Facts | Table | Figure | Row


@dataclass(frozen=True)
class Section:
    """A part of a document under a heading; parts may have parts."""

    title: str
    blocks: Sequence[Block] = ()
    parts: Sequence["Section"] = ()


def to_markdown(section: Section, level: int = 2) -> str:
    """Return a section and its parts as Markdown.

    Examples
    --------
    >>> print(to_markdown(Section("Data", [Paragraph("Twelve sets.")])))
    ## Data
    <BLANKLINE>
    Twelve sets.
    <BLANKLINE>
    """
    texts = [f"{'#' * level} {section.title}"]
    for block in section.blocks:
        assert isinstance(block, Paragraph | Table | Figure), "this block is for pages only"
        texts.append(block.to_markdown())
    parts = [to_markdown(part, level + 1) for part in section.parts]
    return "\n\n".join(texts) + "\n" + "".join("\n" + part for part in parts)


def _markdown_cell(cell: str | Bars) -> str:
    return str(cell).replace("|", "\\|").replace("\n", " ")


def to_page(title: str, sections: list[Section]) -> str:
    """Return a page with all sections and their pictures."""
    links = ""
    body = ""
    figures = count(1)
    for number, section in enumerate(sections, 1):
        name = f"part{number}"
        links += f'<li><a href="#{name}">{_text(section.title)}</a></li>\n'
        written = _section(section, figures, 2, f' id="{name}-title"')
        body += f'<section id="{name}" aria-labelledby="{name}-title">\n{written}</section>\n'
    contents = f'<nav aria-label="Contents"><ol>\n{links}</ol></nav>\n'
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{_text(title)}</h1>
{contents if len(sections) > 1 else ""}</header>
<main>
{body}</main>
</body>
</html>
"""


def _text(value: str) -> str:
    """Escape a text without control characters, and keep a number and its unit on one line."""
    return escape(UNITS.sub("\N{NO-BREAK SPACE}", CONTROLS.sub(" ", value)))


def _section(section: Section, figures: Iterator[int], level: int, mark: str = "") -> str:
    """Return a section and its parts; ``figures`` numbers the figures of the page."""
    texts = [f"<h{level}{mark}>{_text(section.title)}</h{level}>"]
    texts += [block.to_html(figures) for block in section.blocks]
    texts += [_section(part, figures, level + 1) for part in section.parts]
    return "\n".join(texts)
