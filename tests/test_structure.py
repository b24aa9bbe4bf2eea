"""The package stays within its bars; ``python docs/structure.py`` prints the figures."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "docs" / "structure.py"

spec = importlib.util.spec_from_file_location("structure", PATH)
structure = importlib.util.module_from_spec(spec)
spec.loader.exec_module(structure)


@pytest.mark.parametrize("name", structure.FIGURES)
def test_figure_is_within_its_bar(name):
    measure, bar = structure.FIGURES[name]
    found = measure()
    number = found if isinstance(found, int) else len(found)
    assert number <= bar, found


def test_the_chain_begins_and_ends_where_it_should():
    """A trace that sees nothing would be short, too."""
    chain = structure.search_chain()
    assert chain[0] == "predictor.py"
    assert chain[-1].startswith("neighbors/")
    assert set(chain) <= set(structure.entered_files())


def test_private_reads_are_seen(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one/a.py").write_text("class A:\n    def f(self):\n        self._x = self._y()\n")
    (tmp_path / "one/b.py").write_text("def g(a):\n    return a._x\n")
    (tmp_path / "two/c.py").write_text("def h(a):\n    return a._x, a._asdict(), a.__dict__\n")
    monkeypatch.setattr(structure, "PACKAGE", tmp_path)
    monkeypatch.setattr(structure, "FILES", sorted(tmp_path.rglob("*.py")))
    assert structure.private_reads() == ["two/c.py:2: _x of one"]
    assert structure.untyped_returns() == ["one/a.py: f", "one/b.py: g", "two/c.py: h"]
    assert structure.small_files() == ["one/a.py", "one/b.py", "two/c.py"]


def test_bodies_are_measured_without_signature_and_docstring(tmp_path, monkeypatch):
    head = 'def f(\n    a,\n):\n    """Do\n\n    this."""\n'
    (tmp_path / "fits.py").write_text(head + "    a = 1\n" * 60)
    (tmp_path / "long.py").write_text(head + "    a = 1\n" * 61)
    monkeypatch.setattr(structure, "PACKAGE", tmp_path)
    monkeypatch.setattr(structure, "FILES", sorted(tmp_path.rglob("*.py")))
    assert structure.long_bodies() == ["long.py: f"]


def test_files_stay_small():
    for path in [*structure.FILES, *(PATH.parent.parent / "tests").rglob("*.py")]:
        assert structure.lines(path) <= 450, path
