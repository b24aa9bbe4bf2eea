"""A page as a program reads it."""

from html.parser import HTMLParser

EMPTY = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Texts, tables, ids and references of a page; complains about tags that do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.references, self.tables = [], [], [], []
        self.headings, self.figures, self.words = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        names = ("href", "src", "xlink:href", "srcset", "data", "action")
        self.references += [given[name] for name in names if name in given]
        if tag == "figure":
            self.figures.append(given)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"style", "svg", "title"} & set(self.open):
            return
        self.words.append(data)
        if "table" in self.open and {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.replace("\N{NO-BREAK SPACE}", " ")
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)

    def table(self, start):
        """Return the rows below the header of the table whose header starts so."""
        found = [table for table in self.tables if table[0][: len(start)] == start]
        assert len(found) == 1
        return [[" ".join(cell.split()) for cell in row] for row in found[0][1:]]
