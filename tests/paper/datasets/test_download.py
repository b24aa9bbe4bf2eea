"""Downloads from a real server: complete, wrong, cut and refused."""

import errno
import re
import socket
from pathlib import Path

import pytest

from boreod.paper.datasets import DownloadError
from boreod.paper.datasets.loading import fetch
from paper.datasets.tiny_set import TINY


def test_complete(server, cache, original):
    path = fetch(original, cache)
    assert path == cache / "tiny.arff"
    assert path.read_bytes() == TINY
    assert [file.name for file in cache.iterdir()] == ["tiny.arff"]
    assert fetch(original, cache) == path
    assert server.requests == 1


@pytest.mark.parametrize(
    "content",
    [TINY[:-3] + b"???", b"<html>Log in first</html>", TINY + b"more", TINY * 3],
    ids=["changed", "short", "long", "very long"],
)
def test_wrong_file_is_discarded(server, cache, original, content):
    server.files["a/b/tiny.arff"] = content
    with pytest.raises(DownloadError, match="which was discarded") as error:
        fetch(original, cache)
    assert f"{original.sha256} ({len(TINY)} bytes)" in str(error.value)
    got = int(re.search(r"got [0-9a-f]{64} \((\d+) bytes\)", str(error.value))[1])
    assert got <= min(len(content), len(TINY) + 1)  # an endless file would be stopped
    assert not cache.exists()
    server.files["a/b/tiny.arff"] = TINY
    assert fetch(original, cache).read_bytes() == TINY


def test_cut_connection_leaves_nothing(server, cache, original):
    server.cut_after = len(TINY) // 2
    with pytest.raises(DownloadError, match="must have the SHA-256"):
        fetch(original, cache)
    assert not cache.exists()
    server.cut_after = None
    assert fetch(original, cache).read_bytes() == TINY


def test_changed_file_in_the_cache_is_fetched_again(server, cache, original):
    fetch(original, cache).write_bytes(b"changed")
    assert fetch(original, cache).read_bytes() == TINY


@pytest.mark.parametrize("status", [403, 404, 503])
def test_http_error(server, cache, original, status):
    server.status = status
    with pytest.raises(DownloadError, match=f"must answer 200; got {status} .*Try again later"):
        fetch(original, cache)
    assert not cache.exists()


def test_no_network(cache, original, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("BOREOD_MIRROR", f"http://127.0.0.1:{closed.getsockname()[1]}/")
        with pytest.raises(DownloadError, match=r"must be reachable; got .*Connect to a network"):
            fetch(original, cache)


def test_server_that_says_nothing(cache, original, monkeypatch):
    monkeypatch.setattr("boreod.paper.datasets.loading.TIMEOUT", 0.1)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("BOREOD_MIRROR", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(DownloadError, match="must be reachable; got timed out"):
            fetch(original, cache)


@pytest.mark.parametrize("mirror", ["ftp://x", "somewhere", "file:///somewhere"])
def test_mirror_without_http(cache, original, monkeypatch, mirror):
    monkeypatch.setenv("BOREOD_MIRROR", mirror)
    with pytest.raises(ValueError, match=f"BOREOD_MIRROR must be .*; got '{mirror}'. Correct it"):
        fetch(original, cache)


def test_cache_that_cannot_be_written(server, cache, original):
    cache.write_text("a file, not a folder")
    with pytest.raises(DownloadError, match=r"gave FileExistsError: .*set BOREOD_CACHE"):
        fetch(original, cache)


def test_disk_that_is_full(server, cache, original, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DownloadError, match=r"gave OSError: No space left"):
        fetch(original, cache)
    assert list(cache.iterdir()) == []
