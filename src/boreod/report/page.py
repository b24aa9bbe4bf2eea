"""Sections as one HTML page that needs no other file and no network."""

from pathlib import Path

from boreod.report.blocks import Block, Figure, Section, Table

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .5rem; }
h2 { border-bottom: 1px solid #ccc; padding-bottom: .25rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .25rem; color: #444; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #888; font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: #f6f6f6; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: #444; font-size: .875rem; }
nav a { margin-right: 1rem; }
@media print { body { max-width: none; } section, figure, table { break-inside: avoid; }
               nav { display: none; } }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<nav>{% for section in sections %}<a href="#part{{ loop.index }}">{{ section.title }}</a>
{% endfor %}</nav>
{% macro cell(tag, text, bold) %}<{{ tag }}>{% if bold %}<b>{{ text }}</b>{% else %}{{ text }}
{%- endif %}</{{ tag }}>{% endmacro %}
{% macro show(block) %}
{% if block.kind == "table" %}
<div class="scroll"><table>{% if block.value.caption %}<caption>{{ block.value.caption }}</caption>
{% endif %}<thead><tr>{% for name in block.value.header %}<th>{{ name }}</th>{% endfor %}</tr>
</thead><tbody>{% for row in block.value.rows %}{% set number = loop.index0 %}
<tr>{% for text in row %}{{ cell("td", text, (number, loop.index0) in block.value.bold) }}
{%- endfor %}</tr>{% endfor %}
</tbody></table></div>
{% elif block.kind == "figure" %}
<figure role="img" aria-label="{{ block.value.caption }}">{{ block.svg|safe }}
<figcaption>{{ block.value.caption }}</figcaption></figure>
{% else %}<p>{{ block.value.text }}</p>{% endif %}
{% endmacro %}
{% macro part(section, level) %}
<h{{ level }}>{{ section.title }}</h{{ level }}>
{% for block in section.blocks %}{{ show(describe(block)) }}{% endfor %}
{% for inner in section.parts %}{{ part(inner, level + 1) }}{% endfor %}
{% endmacro %}
{% for section in sections %}
<section id="part{{ loop.index }}">{{ part(section, 2) }}</section>
{% endfor %}
</body>
</html>
"""


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
    environment = Environment(autoescape=True, trim_blocks=True)
    template = environment.from_string(TEMPLATE)
    return template.render(title=title, sections=sections, describe=_describe)


def _describe(block: Block) -> dict[str, object]:
    """Return a block with its kind and, for a figure, its picture."""
    if isinstance(block, Table):
        return {"kind": "table", "value": block}
    if isinstance(block, Figure):
        return {"kind": "figure", "value": block, "svg": _inline(block.path)}
    return {"kind": "paragraph", "value": block}


def _inline(path: Path) -> str:
    """Return an SVG file from its first element on, names of its parts made its own."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]
