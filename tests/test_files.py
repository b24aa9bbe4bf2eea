"""Files that are whole or not there, and JSON that may be anything."""

import os
from dataclasses import dataclass
from typing import Any

import pytest

from boreod.files import cache_folder, parse_json, typed_json, whole_file, write_text


def test_an_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_and_stop():
        with whole_file(path) as unfinished:
            unfinished.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_stop()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"
    with whole_file(path) as unfinished:
        unfinished.write_text("new")
    assert path.read_text() == "new"


def test_links_are_followed(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    link.symlink_to(path)
    with whole_file(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkdir, "Is a folder"),
        pytest.param(
            getattr(os, "mkfifo", None),
            "no ordinary file",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names"),
        ),
    ],
)
def test_folders_and_devices_are_not_replaced(make, words, tmp_path):
    make(tmp_path / "there")
    before = (tmp_path / "there").stat().st_mode
    with pytest.raises(OSError, match=words), whole_file(tmp_path / "there"):
        pass
    with pytest.raises(OSError, match=words):
        write_text(tmp_path / "there", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").stat().st_mode == before


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"BOREOD_CACHE": "own", "XDG_CACHE_HOME": "shared"}, "own"),
        ({"XDG_CACHE_HOME": "shared"}, "shared/boreod"),
        ({"HOME": ""}, ".cache/boreod"),
    ],
)
def test_cache_folder(variables, expected, monkeypatch, tmp_path):
    for name in ("BOREOD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    assert cache_folder() == tmp_path / expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{'a': 5}", "Expecting property name"),
        (b'{"a": NaN}', "NaN is no number"),
        (b"[-Infinity]", "-Infinity is no number"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "occurs twice"),
        (b"[" * 100_000, "recursion"),
        (b'"\xc3\xa4"', "ascii"),
        (b"", "Expecting value"),
    ],
)
def test_json_that_is_refused(text, words):
    with pytest.raises(ValueError, match=words) as caught:
        parse_json(text, "the file")
    assert str(caught.value).startswith("the file is no JSON (")


@dataclass
class Part:
    name: str
    sizes: list[int]


@dataclass
class Whole:
    parts: dict[str, Part]
    share: float
    pair: tuple[str, bool]
    rest: Any
    last: Part | None


GOOD = {
    "parts": {"a": {"name": "x", "sizes": [1, 2]}},
    "share": 1,
    "pair": ["y", True],
    "rest": [{}],
    "last": None,
}


def test_json_becomes_dataclasses():
    found = typed_json(Whole, GOOD, "file")
    assert found == Whole({"a": Part("x", [1, 2])}, 1.0, ("y", True), [{}], None)
    assert type(found.share) is float


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"share": True}, "file.share must be a finite number, but is True"),
        ({"share": 1e308}, "file.share must be a finite number"),
        ({"share": 10**400}, "file.share must be a finite number"),
        ({"pair": ["y"]}, "file.pair must be 2 values"),
        ({"pair": ["y", 1]}, "file.pair must be true or false"),
        ({"parts": []}, "file.parts must be an object"),
        ({"parts": {"a": {"name": "x"}}}, "file.parts.a has no 'sizes'"),
        ({"parts": {"a": {"name": "x", "sizes": [1.0]}}}, "sizes.0 must be a whole number"),
        ({"last": {"name": "x", "sizes": {}}}, "file.last.sizes must be a list"),
        ({"last": {"name": 3, "sizes": []}}, "file.last.name must be a text"),
        ({"more": 1}, "file has an unknown 'more'"),
    ],
)
def test_json_of_another_type(change, words):
    with pytest.raises(ValueError, match=words):
        typed_json(Whole, {**GOOD, **change}, "file")
