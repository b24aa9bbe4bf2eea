"""Files that are whole or not there."""

import pytest

from boreod.files import cache_folder, whole_file, write_text


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


def test_links_are_followed_and_folders_refused(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    link.symlink_to(path)
    with whole_file(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    with pytest.raises(IsADirectoryError, match="Is a folder"), whole_file(tmp_path):
        pass


def test_a_device_is_not_replaced(tmp_path):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with names")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no ordinary file"), whole_file(pipe):
        pass
    assert pipe.is_fifo()


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("BOREOD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_folder() == tmp_path / "shared" / "boreod"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "boreod"


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OSError, match="page"):
        write_text(tmp_path / "page.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
