"""Sections as Markdown and as a page."""

from html.parser import HTMLParser

import pytest

from boreod.tool.documents import (
    Bars,
    Bold,
    Facts,
    Figure,
    Paragraph,
    Row,
    Section,
    Table,
    to_markdown,
    to_page,
)

TABLE = Table(["set", "AUC"], [["a|b", "1.0"], ["<i>", Bold("2.0")]], "Areas")


@pytest.mark.parametrize(
    "text",
    ["| a\\|b | 1.0 |", "| <i> | **2.0** |", "| --- | --: |", "*Areas*", "## Results", "### Part"],
)
def test_markdown_keeps_tables_whole(text):
    section = Section("Results", [TABLE], [Section("Part", [Paragraph("More.")])])
    assert text in to_markdown(section)


def test_a_page_is_well_formed_and_escapes(tmp_path):
    path = tmp_path / "picture.svg"
    path.write_text("<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'></svg>\n")
    page = to_page("A & B", [Section("Results", [TABLE, Figure(path, 'with "quotes"')])])
    assert "A &amp; B" in page
    assert "&lt;i&gt;" in page
    assert "<b>2.0</b>" in page
    assert "<?xml" not in page
    assert page.count("<svg") == 1
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


@pytest.fixture
def rich(tmp_path):
    """A section with blocks of all kinds, its two figures the same file."""
    path = tmp_path / "picture.svg"
    path.write_text('<svg><metadata>old</metadata><g id="a"/><use href="#a"/></svg>')
    bars = Bars([("amount = 9", "+2.0", 1.0), ("lof", "-0.5", -0.25)])
    blocks = [
        Facts([("7", "rows", "few"), ("90 %", "caught", "")]),
        Row([Figure(path, "left"), Figure(path, "right")]),
        Table(["id", "reasons"], [["p1", bars], ["p2", "none"]], texts=frozenset({1})),
    ]
    return Section("All", blocks)


def test_figures_as_markdown(rich):
    figure = rich.blocks[1].figures[0]
    assert "![left](picture.svg)\n\n*left*" in to_markdown(Section("All", [figure]))


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ('<dd class="number">90\N{NO-BREAK SPACE}%</dd>', 1),
        ('style="--size: 25%">lof <b>-0.5</b>', 1),
        ("metadata", 0),
        # The same picture twice has other names inside.
        ('id="f1-a"', 1),
        ('href="#f1-a"', 1),
        ('id="f2-a"', 1),
        ('href="#f2-a"', 1),
    ],
)
def test_all_blocks_on_a_page(rich, text, times):
    page = to_page("All", [rich])
    _Balance().feed(page)
    assert page.count(text) == times


def test_rows_that_are_bold_are_marked():
    page = to_page("A", [Section("B", [Table(["a"], [["1"], [Bold("2")]])])])
    assert page.count('<tr class="marked">') == 1


class _Balance(HTMLParser):
    """Open tags that were not closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
