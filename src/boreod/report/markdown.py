"""Sections as Markdown."""

from boreod.report.blocks import Block, Figure, Section, Table


def to_markdown(section: Section, level: int = 2) -> str:
    """Return a section and its parts as Markdown.

    Examples
    --------
    >>> from boreod.report.blocks import Paragraph
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
    if isinstance(block, Figure):
        return f"![{block.caption}]({block.path.name})\n\n*{block.caption}*"
    return block.text


def _table(table: Table) -> str:
    cells = [
        [f"**{_cell(text)}**" if (row, column) in table.bold else _cell(text)
         for column, text in enumerate(texts)]
        for row, texts in enumerate(table.rows)
    ]  # fmt: skip
    rule = ["---"] + ["--:"] * (len(table.header) - 1)
    lines = [" | ".join(row) for row in ([_cell(name) for name in table.header], rule, *cells)]
    body = "\n".join(f"| {line} |" for line in lines)
    return f"*{table.caption}*\n\n{body}" if table.caption else body


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
