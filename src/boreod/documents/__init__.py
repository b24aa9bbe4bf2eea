"""Reports: the same sections as Markdown and as one self-contained HTML page."""

from boreod.documents.blocks import Bars, Block, Facts, Figure, Paragraph, Row, Section, Table
from boreod.documents.files import write_text
from boreod.documents.markdown import to_markdown
from boreod.documents.page import to_page

__all__ = [
    "Bars",
    "Block",
    "Facts",
    "Figure",
    "Paragraph",
    "Row",
    "Section",
    "Table",
    "to_markdown",
    "to_page",
    "write_text",
]
