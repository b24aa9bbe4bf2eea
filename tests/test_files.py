"""Files that are whole or not there, and JSON that may be anything."""

import os
import stat
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from boreod.files import (
    ACCESS_LIST,
    cache_folder,
    parse_json,
    typed_json,
    whole_file,
    write_text,
)


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


def mode_of(path):
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


@contextmanager
def umask(mode):
    before = os.umask(mode)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077, 0o027, 0o277])
@pytest.mark.parametrize("private", [False, True])
def test_new_files_follow_the_umask_and_are_private_until_they_are_whole(mask, private, tmp_path):
    path = tmp_path / "a.txt"
    with umask(mask), whole_file(path, private) as unfinished:
        unfinished.write_text("new")
        assert mode_of(unfinished) == "600"
    assert mode_of(path) == f"{(0o600 if private else 0o666) & ~mask:o}"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755, 0o200])
@pytest.mark.parametrize("private", [False, True])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, private, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with umask(0o022), whole_file(path, private) as unfinished:
        unfinished.write_text("new")
        assert mode_of(unfinished) == "600"
    assert mode_of(path) == f"{mode:o}"
    path.chmod(0o600)
    assert path.read_text() == "new"


def test_permissions_that_change_while_a_file_is_written_are_kept(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path) as unfinished:
        unfinished.write_text("new")
        path.chmod(0o600)
    assert mode_of(path) == "600"


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o466, 0o000])
def test_write_protected_files_are_not_replaced(mode, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with pytest.raises(PermissionError, match=r"write-protected.*chmod u\+w"), whole_file(path):
        pass
    assert mode_of(path) == f"{mode:o}"
    path.chmod(0o600)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)


@root_only
def test_root_keeps_owner_and_group(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, 65534, 12345)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (65534, 12345, "640")
    assert path.read_text() == "new"


@root_only
@pytest.mark.parametrize(
    ("mode", "expected"), [(0o660, "600"), (0o664, "644"), (0o606, "600"), (0o666, "666")]
)
def test_another_group_gets_no_new_permission(mode, expected):
    # Only root may enter pytest's own temporary folders.
    with TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        path = Path(folder, "a.txt")
        path.write_text("old")
        path.chmod(mode)
        os.chown(path, 65534, 12345)
        os.setegid(65534)
        os.seteuid(65534)
        try:
            write_text(path, "new")
        finally:
            os.seteuid(0)
            os.setegid(0)
        assert path.stat().st_gid == 65534
        assert mode_of(path) == expected


def access_list(group):
    """Return an access list in which user 12345 may read and write, and the group as given."""
    nobody = 2**32 - 1
    lines = [(1, 6, nobody), (2, 6, 12345), (4, group, nobody), (16, 6, nobody), (32, 0, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *line) for line in lines)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs access lists of Linux")
@pytest.mark.parametrize("has_list", [True, False])
def test_access_lists_are_kept_and_not_added(has_list, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", access_list(0))
        if has_list:
            os.setxattr(path, ACCESS_LIST, access_list(0))
    except OSError:
        pytest.skip("this disk has no access lists")
    before = (mode_of(path), os.listxattr(path))
    write_text(path, "new")
    assert (mode_of(path), os.listxattr(path)) == before
    assert [os.getxattr(path, name) for name in before[1]] == [access_list(0)] * has_list


def test_the_target_of_a_dangling_link_is_made(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "later.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "later.txt").read_text() == "new"


def test_a_link_that_leads_in_a_circle_is_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="no ordinary file"):
        write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_another_name_of_a_file_keeps_the_old_content(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.link(path, tmp_path / "other.txt")
    write_text(path, "new")
    assert path.read_text() == "new"
    assert (tmp_path / "other.txt").read_text() == "old"


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
