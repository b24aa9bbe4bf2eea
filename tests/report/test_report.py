"""Sections as Markdown and as a page."""

from html.parser import HTMLParser

import pytest

from boreod.report import Figure, Paragraph, Section, Table, to_markdown, to_page

TABLE = Table(["set", "AUC"], [["a|b", "1.0"], ["<i>", "2.0"]], frozenset({(1, 1)}), "Areas")


def test_markdown_keeps_tables_whole():
    text = to_markdown(Section("Results", [TABLE], [Section("Part", [Paragraph("More.")])]))
    assert "| a\\|b | 1.0 |" in text
    assert "| <i> | **2.0** |" in text
    assert "*Areas*" in text
    assert "## Results" in text
    assert "### Part" in text


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


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install boreod\[report\]"):
        to_page("A", [])


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
