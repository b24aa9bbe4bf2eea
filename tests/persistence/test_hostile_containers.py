"""Lists of arrays that lie: overlaps, gaps, twins, other containers."""

import json
import re
import tracemalloc
import zipfile

import pytest
from fuzz.model_cases import (
    join_header,
    split_header,
)

from boreod import BORE
from boreod.persistence import ModelFileError, load_predictor
from persistence.refusals import assert_refused

ALLOWANCE = 100_000_000


def overlapping(entries):
    first, second, *_ = entries.values()
    second["data_offsets"] = first["data_offsets"]


def shifted(entries):
    """Leave a gap before one array."""
    entry = entries["base"]
    entry["data_offsets"] = [8 + offset for offset in entry["data_offsets"]]


WRONG_ENTRIES = {
    "overlap": (overlapping, "cannot be read"),
    "gap": (shifted, "cannot be read"),
    "no manifest": (lambda entries: entries.pop("manifest"), "no manifest"),
    "no hash": (lambda entries: entries.pop("sha256"), "no manifest"),
    "metadata": (lambda entries: entries.update(__metadata__={"a": "b"}), "__metadata__"),
    "other type": (lambda entries: entries["base"].update(dtype="pickle"), "cannot be read"),
    "other bytes": (lambda entries: entries["sha256"].update(dtype="I8"), "manifest asks for"),
    "negative": (lambda e: e["manifest"].update(data_offsets=[-8, 8]), "manifest claims"),
    "backwards": (lambda e: e["manifest"].update(data_offsets=[8, 0]), "manifest claims"),
    "code": (lambda entries: entries["base"].update(code="print()"), "unknown 'code'"),
}


@pytest.mark.parametrize("name", WRONG_ENTRIES)
def test_wrong_lists_of_arrays(name, original, tmp_path):
    change, words = WRONG_ENTRIES[name]
    header, rest = split_header(original)
    entries = json.loads(header)
    change(entries)
    changed = join_header(json.dumps(entries).encode(), rest)
    assert re.search(words, assert_refused(tmp_path / "a", changed))


@pytest.mark.parametrize("twin", ["manifest", "sha256", "base"])
def test_arrays_that_are_listed_twice(twin, original, tmp_path):
    header, rest = split_header(original)
    entry = json.dumps({twin: json.loads(header)[twin]}).encode()
    doubled = join_header(header.rstrip()[:-1] + b"," + entry[1:], rest)
    assert "occurs twice" in assert_refused(tmp_path / "a", doubled)


@pytest.mark.parametrize(
    "header",
    [b"", b"{}", b"[]", b"[" * 100_000, b'{"a":' * 100_000, b"{" + b'"a":[],' * 430_000, b"\xff"],
)
def test_lists_of_arrays_that_are_none(header, original, tmp_path):
    assert_refused(tmp_path / "a", join_header(header, split_header(original)[1]))


def test_sparse_files_are_not_read(original, tmp_path):
    """A file of a terabyte on paper: what its manifest does not ask for is left there."""
    path = tmp_path / "a"
    path.write_bytes(original)
    with path.open("r+b") as file:
        file.truncate(2**40)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="asks for"):
            load_predictor(path, kind=BORE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * len(original) + ALLOWANCE


@pytest.mark.parametrize(
    "names",
    [
        ("/etc/passwd", "arrays.safetensors"),
        ("manifest.json", "/tmp/arrays.safetensors"),
        ("../manifest.json", "../arrays.safetensors"),
        ("manifest.json", "arrays.pkl"),
        ("manifest.json",),
        ("arrays.safetensors", "manifest.json"),
        ("manifest.json", "arrays.safetensors"),
        ("manifest.json", "arrays.safetensors", "more.py"),
        (),
    ],
)
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives(names, compression, original, parts, tmp_path):
    """Model files before format 8 were zip archives."""
    path = tmp_path / "a"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name in names:
            archive.writestr(name, original if "arrays" in name else json.dumps(parts[0]))
    assert "before format 8, so fit again" in assert_refused(path)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a"]
