"""Reports: the same sections as Markdown and as one self-contained HTML page."""

from boreod.report.blocks import Bars, Block, Facts, Figure, Paragraph, Row, Section, Table
from boreod.report.files import write_text
from boreod.report.markdown import to_markdown
from boreod.report.page import to_page

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
