"""Documents: the same sections as Markdown, and as one HTML page that needs no other file.

Blocks come first, then both writers, and the style of pages on screens, phones and paper.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path

REFERENCES = re.compile(r'(\bid="|href="#|url\(#)')
UNITS = re.compile(r"(?<=\d) (?=%|[nµm]?s\b)")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Facts:
    """A few numbers that a reader should see first."""

    items: Sequence[tuple[str, str, str]]  # number, what it is, and a remark that may be empty


@dataclass(frozen=True)
class Bars:
    """Several amounts in one cell of a table, the last of its row, each with a bar."""

    # text, amount as text, and length of the bar from -1 to 1, whose sign tells the color
    items: Sequence[tuple[str, str, float]]


@dataclass(frozen=True)
class Table:
    """A table, whose first column is text, and the others are numbers."""

    header: list[str]
    rows: Sequence[Sequence[str | Bars]]
    bold: frozenset[tuple[int, int]] = frozenset()  # (row, column) of cells that stand out
    caption: str = ""
    texts: frozenset[int] = frozenset()  # columns that are text too, and may be wrapped


@dataclass(frozen=True)
class Figure:
    """A picture, an SVG file in the folder of the document."""

    path: Path
    caption: str  # for readers, and for those who cannot see it


@dataclass(frozen=True)
class Row:
    """Figures side by side where there is space, else below each other."""

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
    """Return a page with all sections, their pictures inside.

    Parameters
    ----------
    title
        Of the page.
    sections
        In order.
    """
    links, body, writer = "", "", _Writer()
    for number, section in enumerate(sections, 1):
        name = f"part{number}"
        links += f'<li><a href="#{name}">{_text(section.title)}</a></li>\n'
        written = writer.section(section, 2, f"{name}-title")
        body += f'<section id="{name}" aria-labelledby="{name}-title">\n{written}</section>\n'
    contents = f'<nav aria-label="Contents"><ol>\n{links}</ol></nav>\n'
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title>
<style>{STYLE}</style>
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


class _Writer:
    """Writes sections, and gives every part of every picture on a page a name of its own."""

    def __init__(self) -> None:
        self._figures = count(1)

    def section(self, section: Section, level: int, name: str = "") -> str:
        mark = f' id="{name}"' if name else ""
        heading = f"<h{level}{mark}>{_text(section.title)}</h{level}>"
        parts = [self.section(part, level + 1) for part in section.parts]
        return "\n".join([heading, *map(self._block, section.blocks), *parts])

    def _block(self, block: Block) -> str:
        if isinstance(block, Table):
            return _table(block)
        if isinstance(block, Facts):
            return _facts(block)
        if isinstance(block, Figure):
            return self._figure(block)
        if isinstance(block, Row):
            return '<div class="row">' + "".join(map(self._figure, block.figures)) + "</div>"
        return f"<p>{_text(block.text)}</p>"

    def _figure(self, figure: Figure) -> str:
        svg, caption = figure.path.read_text(encoding="utf-8"), _text(figure.caption)
        svg = METADATA.sub("", svg[svg.index("<svg") :])
        svg = REFERENCES.sub(rf"\g<1>f{next(self._figures)}-", svg)
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


STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --soft: #444; --line: #ccc; --tint: #f4f6f8;
        --blue: #0072b2; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
       color: var(--ink); background: #fff; max-width: 54rem; margin: 0 auto;
       padding: 1rem 1.25rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 1rem 0 .75rem; }
h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .5rem; }
h2 { font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem;
     margin-top: 2.75rem; }
p { max-width: 46rem; margin: .75rem 0; }
a { color: #005a8c; }
nav { background: var(--tint); border-radius: .4rem; padding: .6rem 1rem; font-size: .9rem; }
nav ol { margin: 0; padding-left: 1.6rem; columns: 17rem; column-gap: 2.5rem; }
nav li { padding: .1rem 0; break-inside: avoid; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr));
         gap: .6rem; margin: 1rem 0; padding: 0; }
.facts div { background: var(--tint); border-radius: .4rem; padding: .6rem .8rem;
             display: flex; flex-direction: column; }
.facts dt { order: 2; font-size: .85rem; line-height: 1.3; }
.facts dd { margin: 0; }
.facts .number { font-size: 1.45rem; font-weight: 600; line-height: 1.25; }
.facts .remark { order: 3; font-size: .8rem; line-height: 1.3; color: var(--soft); }
.table { margin: 1.25rem 0; }
.table .caption { margin: 0 0 .35rem; color: var(--soft); font-size: .875rem; line-height: 1.4; }
.scroll { overflow-x: auto; max-width: 100%;  /* shadows where a table goes on */
          background: linear-gradient(to right, #fff 40%, #fff0) 0 0 / 2rem 100% local,
                      linear-gradient(to left, #fff 40%, #fff0) 100% 0 / 2rem 100% local,
                      linear-gradient(to right, #0003, #0000) 0 0 / .6rem 100% scroll,
                      linear-gradient(to left, #0003, #0000) 100% 0 / .6rem 100% scroll;
          background-repeat: no-repeat; }
.scroll:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.4;
        font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .65rem; text-align: right; white-space: nowrap; vertical-align: top;
         border-bottom: 1px solid #e6e6e6; }
thead th { border-bottom: 1px solid #777; font-weight: 600; vertical-align: bottom;
           white-space: normal; min-width: 4.5rem; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
tbody th { font-weight: 400; }
td.text { white-space: normal; min-width: 6rem; }
td.bars { min-width: 18rem; }
tr.marked > * { background: #e3f0f8; }
.bar { display: inline-block; margin: 0 .35rem .2rem 0; padding: 0 .4rem; border-radius: .2rem;
       white-space: nowrap; border: 1px solid #e3e3e3; print-color-adjust: exact;
       -webkit-print-color-adjust: exact;
       background: linear-gradient(to right, var(--bar) var(--size), #fff var(--size)); }
.bar b { font-weight: 600; }
.up { --bar: #fbd9c0; } .down { --bar: #cfe4f3; }
figure { margin: 1rem 0; min-width: 0; }
figure svg { display: block; max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .875rem; line-height: 1.4; max-width: 38rem;
             margin-top: .35rem; }
.row { display: grid; gap: 0 2rem; align-items: start;
       grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
@media (max-width: 40rem) {
  body { padding: .5rem 1rem 3rem; }
  h1 { font-size: 1.45rem; } h2 { font-size: 1.2rem; margin-top: 2.25rem; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .facts div:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .stacked tr { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr));
                border-bottom: 1px solid #e6e6e6; }
  .stacked th, .stacked td { border: 0; min-width: 0; overflow-wrap: anywhere; }
  .stacked .bars { grid-column: 1 / -1; padding-bottom: .5rem; text-align: left; }
  .stacked table { width: 100%; }
  th, td { padding: .3rem .5rem; }
}
@page { margin: 16mm 14mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  h2, h3, h4, .caption { break-after: avoid; }
  p { orphans: 3; widows: 3; max-width: none; }
  figure, tr, .facts, .facts div { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; background: none; }
  table { font-size: 8.5pt; } th, td { padding: .15rem .4rem; }
  td.text, td.bars { min-width: 0; } .bar { margin-bottom: .1rem; }
  .facts { grid-template-columns: repeat(5, 1fr); } .facts .number { font-size: 13pt; }
  figure svg { max-height: 82mm; width: auto; }
  section > p { break-after: avoid; } section > p + p { break-after: auto; }
  .facts div, nav { border: 1px solid var(--line); background: none; }
  .row { grid-template-columns: 1fr 1fr; }
  a { color: inherit; text-decoration: none; }
}
"""
