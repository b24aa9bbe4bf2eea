"""Documents: sections that become Markdown, or one HTML page that needs no other file.

The classes of blocks come first, then both writers. The style of pages is in ``page.css``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path

REFERENCES = re.compile(r'(\bid="|href="#|url\(#)')
UNITS = re.compile(r"(?<=\d) (?=%|[nµm]?s\b)")
STYLE = Path(__file__).with_name("page.css")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Paragraph:
    """Plain text. If it leads, its letters are larger, because a hurried reader reads no more."""

    text: str
    leads: bool = False


@dataclass(frozen=True)
class Facts:
    """A few numbers that a reader should see first.

    Each item is a number, its meaning, and a remark, which may be empty.
    """

    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Bars:
    """Several amounts with bars, in the last cell of a row of a table.

    Each item is a text, its amount as text, and the length of its bar from -1 to 1. The sign of the
    length chooses the color.
    """

    items: Sequence[tuple[str, str, float]]


@dataclass(frozen=True)
class Table:
    """A table. Its first column is text, and the others are numbers.

    ``bold`` holds row and column of every cell that stands out. ``texts`` are further columns of
    text, which may be wrapped.
    """

    header: list[str]
    rows: Sequence[Sequence[str | Bars]]
    bold: frozenset[tuple[int, int]] = frozenset()
    caption: str = ""
    texts: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A picture, an SVG file in the folder of the document.

    The caption is also for readers who cannot see the picture.
    """

    path: Path
    caption: str


@dataclass(frozen=True)
class Row:
    """Figures that stand side by side where there is space, and else below each other."""

    figures: Sequence[Figure]


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
    texts = [
        f"{'#' * level} {section.title}",
        *(_markdown_block(block) for block in section.blocks),
    ]
    parts = [to_markdown(part, level + 1) for part in section.parts]
    return "\n\n".join(texts) + "\n" + "".join("\n" + part for part in parts)


def _markdown_block(block: Block) -> str:
    if isinstance(block, Table):
        return _markdown_table(block)
    if isinstance(block, Facts):
        return "\n".join(
            f"- {what}: **{number}**" + (f" ({remark})" if remark else "")
            for number, what, remark in block.items
        )
    if isinstance(block, Row):
        return "\n\n".join(_markdown_block(figure) for figure in block.figures)
    if isinstance(block, Figure):
        return f"![{block.caption}]({block.path.name})\n\n*{block.caption}*"
    return block.text


def _markdown_table(table: Table) -> str:
    rule = ["--:" if n and n not in table.texts else "---" for n in range(len(table.header))]
    rows = [
        [f"**{_markdown_cell(cell)}**" if (number, column) in table.bold else _markdown_cell(cell)
         for column, cell in enumerate(cells)]
        for number, cells in enumerate(table.rows)
    ]  # fmt: skip
    lines = [[_markdown_cell(name) for name in table.header], rule, *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"*{table.caption}*\n\n{body}" if table.caption else body


def _markdown_cell(cell: str | Bars) -> str:
    if isinstance(cell, Bars):
        cell = ", ".join(f"{what} {amount}" for what, amount, _ in cell.items)
    return cell.replace("|", "\\|").replace("\n", " ")


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
    """Escape a text, and keep a number and its unit on one line."""
    return escape(UNITS.sub("\N{NO-BREAK SPACE}", value))


def _section(section: Section, figures: Iterator[int], level: int, mark: str = "") -> str:
    """Return a section and its parts; ``figures`` numbers the figures of the page."""
    texts = [f"<h{level}{mark}>{_text(section.title)}</h{level}>"]
    texts += [_block(block, figures) for block in section.blocks]
    texts += [_section(part, figures, level + 1) for part in section.parts]
    return "\n".join(texts)


def _block(block: Block, figures: Iterator[int]) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Facts):
        return _facts(block)
    if isinstance(block, Figure):
        return _figure(block, next(figures))
    if isinstance(block, Row):
        shown = [_figure(figure, next(figures)) for figure in block.figures]
        return f'<div class="row">{"".join(shown)}</div>'
    start = '<p class="lead">' if block.leads else "<p>"
    return f"{start}{_text(block.text)}</p>"


def _figure(figure: Figure, number: int) -> str:
    """Return a picture. Its number makes the names of its parts unique on a page."""
    caption = _text(figure.caption)
    svg = figure.path.read_text(encoding="utf-8")
    svg = METADATA.sub("", svg[svg.index("<svg") :])
    svg = REFERENCES.sub(rf"\g<1>f{number}-", svg)
    return (
        f'<figure role="img" aria-label="{caption}">{svg}\n'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _facts(facts: Facts) -> str:
    items = [
        f'<div><dt>{_text(what)}</dt><dd class="number">{_text(number)}</dd>'
        + (f'<dd class="remark">{_text(remark)}</dd></div>' if remark else "</div>")
        for number, what, remark in facts.items
    ]
    return '<dl class="facts">\n' + "\n".join(items) + "</dl>"


def _table(table: Table) -> str:
    """Return a table; a phone shows bars below the other cells of their row."""
    label = _text(table.caption or "Table")
    last = len(table.header) - 1
    stacked = any(isinstance(cell, Bars) for row in table.rows for cell in row)
    header = [
        f'<th scope="col"{_class(table, column, stacked and column == last)}>{_text(name)}</th>'
        for column, name in enumerate(table.header)
    ]
    rows = []
    for number, cells in enumerate(table.rows):
        bold = [(number, column) in table.bold for column in range(last + 1)]
        shown = [_cell(table, *cell) for cell in zip(range(last + 1), cells, bold, strict=True)]
        rows.append(('<tr class="marked">' if all(bold) else "<tr>") + "".join(shown) + "</tr>")
    caption = f'<p class="caption" aria-hidden="true">{label}</p>\n' if table.caption else ""
    return (
        f'<div class="table{" stacked" if stacked else ""}">\n{caption}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">\n'
        f'<table aria-label="{label}">\n<thead><tr>{"".join(header)}</tr></thead>\n'
        "<tbody>" + "\n".join(rows) + "\n</tbody></table></div></div>"
    )


def _class(table: Table, column: int, bars: bool) -> str:
    if column not in table.texts:
        return ""
    return ' class="text bars"' if bars else ' class="text"'


def _cell(table: Table, column: int, cell: str | Bars, bold: bool) -> str:
    if isinstance(cell, Bars):
        shown = "".join(
            f'\n<span class="bar {"up" if length > 0 else "down"}" '
            f'style="--size: {round(100 * min(abs(length), 1.0))}%">'
            f"{_text(what)} <b>{_text(amount)}</b></span> "
            for what, amount, length in cell.items
        )
    else:
        shown = f"<b>{_text(cell)}</b>" if bold else _text(cell)
    if column == 0:
        return f'<th scope="row">{shown}</th>'
    return f"<td{_class(table, column, isinstance(cell, Bars))}>{shown}</td>"
