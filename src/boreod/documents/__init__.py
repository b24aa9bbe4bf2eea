"""Documents as Markdown and as pages of HTML."""

from boreod.documents.writers import (
    Bars,
    Block,
    Facts,
    Figure,
    Lead,
    Paragraph,
    Row,
    Section,
    Table,
    to_markdown,
    to_page,
)

__all__ = [
    "Bars",
    "Block",
    "Facts",
    "Figure",
    "Lead",
    "Paragraph",
    "Row",
    "Section",
    "Table",
    "to_markdown",
    "to_page",
]
