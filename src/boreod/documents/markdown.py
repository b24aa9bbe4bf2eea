"""Sections as Markdown."""

from boreod.documents.blocks import Bars, Block, Facts, Figure, Row, Section, Table


def to_markdown(section: Section, level: int = 2) -> str:
    """Return a section and its parts as Markdown.

    Examples
    --------
    >>> from boreod.documents.blocks import Paragraph
    >>> print(to_markdown(Section("Data", [Paragraph("Twelve sets.")])))
    ## Data
    <BLANKLINE>
    Twelve sets.
    <BLANKLINE>
    """
    texts = [f"{'#' * level} {section.title}", *(_block(block) for block in section.blocks)]
    parts = [to_markdown(part, level + 1) for part in section.parts]
    return "\n\n".join(texts) + "\n" + "".join("\n" + part for part in parts)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Facts):
        return "\n".join(_fact(*item) for item in block.items)
    if isinstance(block, Row):
        return "\n\n".join(_block(figure) for figure in block.figures)
    if isinstance(block, Figure):
        return f"![{block.caption}]({block.path.name})\n\n*{block.caption}*"
    return block.text


def _fact(number: str, what: str, remark: str) -> str:
    return f"- {what}: **{number}**" + (f" ({remark})" if remark else "")


def _table(table: Table) -> str:
    cells = [
        [f"**{_cell(text)}**" if (row, column) in table.bold else _cell(text)
         for column, text in enumerate(texts)]
        for row, texts in enumerate(table.rows)
    ]  # fmt: skip
    last = range(1, len(table.header))
    rule = ["---", *("---" if column in table.texts else "--:" for column in last)]
    lines = [" | ".join(row) for row in ([_cell(name) for name in table.header], rule, *cells)]
    body = "\n".join(f"| {line} |" for line in lines)
    return f"*{table.caption}*\n\n{body}" if table.caption else body


def _cell(cell: str | Bars) -> str:
    text = (
        cell
        if isinstance(cell, str)
        else ", ".join(f"{what} {amount}" for what, amount, _ in cell.items)
    )
    return text.replace("|", "\\|").replace("\n", " ")
