"""The look of a page: HTML that jinja2 fills, and the style of screens, phones and paper."""

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

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style|safe }}</style>
</head>
<body>
{% macro cell(tag, value, text, bold) %}
{% set kind = "text" if value is string else "text bars" %}
<{{ tag }}{% if tag == "th" %} scope="row"{% elif text %} class="{{ kind }}"{% endif %}>
{%- if value is string %}{% if bold %}<b>{{ value }}</b>{% else %}{{ value }}{% endif %}
{%- else %}{% for words, amount, length in value.items %}
<span class="bar {{ 'up' if length > 0 else 'down' }}" style="--size: {{ percent(length) }}%">
{{- words }} <b>{{ amount }}</b></span>{{ " " }}{% endfor %}{% endif %}</{{ tag }}>{% endmacro %}
{% macro table(value) %}
{% set label = value.caption or "Table" %}{% set stacked = has_bars(value) %}
<div class="table{% if stacked %} stacked{% endif %}">
{% if value.caption %}<p class="caption" aria-hidden="true">{{ value.caption }}</p>{% endif %}
<div class="scroll" tabindex="0" role="region" aria-label="{{ label }}">
<table aria-label="{{ label }}">
<thead><tr>{% for name in value.header %}
<th scope="col"{% if loop.index0 in value.texts %} class="text
{%- if stacked and loop.last %} bars{% endif %}"{% endif %}>{{ name }}</th>
{%- endfor %}</tr></thead>
<tbody>{% for row in value.rows %}{% set number = loop.index0 %}
<tr{% if is_marked(value, number) %} class="marked"{% endif %}>{% for item in row %}
{{ cell("td" if loop.index0 else "th", item, loop.index0 in value.texts,
        (number, loop.index0) in value.bold) }}
{%- endfor %}</tr>{% endfor %}
</tbody></table></div></div>
{% endmacro %}
{% macro figure(value) %}
<figure role="img" aria-label="{{ value.caption }}">{{ inline(value)|safe }}
<figcaption>{{ value.caption }}</figcaption></figure>
{% endmacro %}
{% macro facts(value) %}
<dl class="facts">{% for number, what, remark in value.items %}
<div><dt>{{ what }}</dt><dd class="number">{{ number }}</dd>
{%- if remark %}<dd class="remark">{{ remark }}</dd>{% endif %}</div>{% endfor %}</dl>
{% endmacro %}
{% macro show(block) %}{% set kind = kind_of(block) %}
{% if kind == "Table" %}{{ table(block) }}
{% elif kind == "Figure" %}{{ figure(block) }}
{% elif kind == "Row" %}<div class="row">{% for one in block.figures %}{{ figure(one) }}
{%- endfor %}</div>
{% elif kind == "Facts" %}{{ facts(block) }}
{% else %}<p>{{ block.text }}</p>
{% endif %}{% endmacro %}
{% macro part(section, level, name="") %}
<h{{ level }}{% if name %} id="{{ name }}-title"{% endif %}>{{ section.title }}</h{{ level }}>
{% for block in section.blocks %}{{ show(block) }}{% endfor %}
{% for inner in section.parts %}{{ part(inner, level + 1) }}{% endfor %}
{% endmacro %}
<header>
<h1>{{ title }}</h1>
{% if sections|length > 1 %}
<nav aria-label="Contents"><ol>{% for section in sections %}
<li><a href="#part{{ loop.index }}">{{ section.title }}</a></li>{% endfor %}
</ol></nav>
{% endif %}
</header>
<main>
{% for section in sections %}{% set name = "part%d"|format(loop.index) %}
<section id="{{ name }}" aria-labelledby="{{ name }}-title">{{ part(section, 2, name) }}</section>
{% endfor %}
</main>
</body>
</html>
"""
