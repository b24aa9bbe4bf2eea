"""Sections as one HTML page that needs no other file and no network."""

import re
from typing import Any

from boreod.documents.blocks import Bars, Figure, Section, Table
from boreod.documents.template import PAGE, STYLE

REFERENCES = re.compile(r'(\bid="|href="#|url\(#)')
UNITS = re.compile(r"(?<=\d) (?=%|[nµm]?s\b)")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


def to_page(title: str, sections: list[Section]) -> str:
    """Return a page with all sections, their pictures inside.

    Parameters
    ----------
    title
        Of the page.
    sections
        In order.
    """
    try:
        from jinja2 import Environment
    except ImportError:
        raise ImportError(
            "Pages need jinja2, which is not installed: pip install boreod[report]"
        ) from None
    environment = Environment(autoescape=True, trim_blocks=True, finalize=_keep_units)
    return environment.from_string(PAGE).render(
        title=title,
        style=STYLE,
        sections=sections,
        kind_of=lambda block: type(block).__name__,
        inline=_Inline(),
        is_marked=_is_marked,
        has_bars=_has_bars,
        percent=lambda length: round(100 * min(abs(length), 1.0)),
    )


def _keep_units(value: Any) -> Any:
    """Keep a number and its unit on one line."""
    return UNITS.sub("\N{NO-BREAK SPACE}", value) if type(value) is str else value


def _is_marked(table: Table, row: int) -> bool:
    """Whether all cells of a row are bold, so that the row as a whole stands out."""
    return all((row, column) in table.bold for column in range(len(table.header)))


def _has_bars(table: Table) -> bool:
    """Whether some cell has bars, which a phone shows below the others of its row."""
    return any(isinstance(cell, Bars) for row in table.rows for cell in row)


class _Inline:
    """Gives the SVG of figures, and every part of a page a name of its own."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, figure: Figure) -> Any:
        self._count += 1
        text = figure.path.read_text(encoding="utf-8")
        text = METADATA.sub("", text[text.index("<svg") :])
        return REFERENCES.sub(rf"\g<1>f{self._count}-", text)
