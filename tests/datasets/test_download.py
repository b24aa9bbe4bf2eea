"""Downloads from a real server: complete, resumed, wrong, cut and refused."""

import re
import socket
from pathlib import Path

import pytest

from boreod.datasets import DownloadError
from boreod.datasets.download import BLOCK, fetch
from boreod.parallel import Progress
from datasets.tiny_set import TINY

HALF = len(TINY) // 2


@pytest.fixture
def part(cache, original):
    """Return the path of the file that waits for the rest."""
    cache.mkdir()
    return cache / f"{original.filename}.part"


def test_complete(server, cache, original):
    path = fetch(original, cache)
    assert path == cache / "tiny.arff"
    assert path.read_bytes() == TINY
    assert [file.name for file in cache.iterdir()] == ["tiny.arff"]
    assert fetch(original, cache) == path
    assert server.ranges == [None]


def test_resumes(server, cache, original, part):
    part.write_bytes(TINY[:HALF])
    assert fetch(original, cache).read_bytes() == TINY
    assert server.ranges == [f"bytes={HALF}-"]
    assert not part.exists()


def test_server_that_ignores_ranges(server, cache, original, part):
    server.knows_ranges = False
    part.write_bytes(TINY[:HALF])
    assert fetch(original, cache).read_bytes() == TINY
    assert server.ranges == [f"bytes={HALF}-"]


def test_cut_connection_is_resumed_on_the_next_calls(server, cache, original, part):
    server.cut_after = HALF - 100
    for came in (HALF - 100, 2 * (HALF - 100)):
        with pytest.raises(DownloadError, match=f"ended after {came}. They are kept: call again"):
            fetch(original, cache)
        assert part.read_bytes() == TINY[:came]
    server.cut_after = None
    assert fetch(original, cache).read_bytes() == TINY
    assert server.ranges == [None, f"bytes={HALF - 100}-", f"bytes={2 * (HALF - 100)}-"]


def test_part_that_was_complete_needs_no_server(cache, original, part, monkeypatch):
    monkeypatch.setenv("BOREOD_MIRROR", "http://127.0.0.1:9")
    part.write_bytes(TINY)
    assert fetch(original, cache).read_bytes() == TINY


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
    assert got <= min(len(content), len(TINY) + BLOCK)  # an endless file would be stopped
    assert list(cache.iterdir()) == []
    server.files["a/b/tiny.arff"] = TINY
    assert fetch(original, cache).read_bytes() == TINY


def test_wrong_part_is_discarded(server, cache, original, part):
    part.write_bytes(b"?" * HALF)
    with pytest.raises(DownloadError, match="must have the SHA-256"):
        fetch(original, cache)
    assert fetch(original, cache).read_bytes() == TINY
    assert server.ranges == [f"bytes={HALF}-", None]


def test_changed_file_in_the_cache_is_fetched_again(server, cache, original):
    fetch(original, cache).write_bytes(b"changed")
    assert fetch(original, cache).read_bytes() == TINY


def test_file_of_the_server_shrank(server, cache, original, part):
    server.files["a/b/tiny.arff"] = TINY[: HALF - 1]
    part.write_bytes(TINY[:HALF])
    with pytest.raises(DownloadError, match="got 416"):
        fetch(original, cache)
    assert not part.exists()


@pytest.mark.parametrize("status", [403, 404, 503])
def test_http_error(server, cache, original, part, status):
    server.status = status
    part.write_bytes(TINY[:HALF])
    with pytest.raises(DownloadError, match=f"must answer 200; got {status} .*Try again later"):
        fetch(original, cache)
    assert part.read_bytes() == TINY[:HALF]


def test_no_network(cache, original, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("BOREOD_MIRROR", f"http://127.0.0.1:{closed.getsockname()[1]}/")
        with pytest.raises(DownloadError, match=r"must be reachable; got .*Connect to a network"):
            fetch(original, cache)


def test_server_that_says_nothing(cache, original, monkeypatch):
    monkeypatch.setattr("boreod.datasets.download.TIMEOUT", 0.1)
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_disk_that_is_full(server, cache, original):
    cache.mkdir()
    (cache / "tiny.arff.part").symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=r"gave OSError: No space left"):
        fetch(original, cache)


@pytest.mark.parametrize("held", [0, HALF])
def test_progress_reaches_its_end(server, cache, original, part, monkeypatch, held):
    seen = []

    class Recorder(Progress):
        def __init__(self, label, total, wanted):
            super().__init__(label, total, wanted)
            seen.extend([label, total, wanted])

        def advance(self):
            seen.append("step")

    monkeypatch.setattr("boreod.parallel.Progress", Recorder)
    part.write_bytes(TINY[:held])
    fetch(original, cache, verbose=False)
    total = (len(TINY) - held) // BLOCK + 1
    assert seen == ["Downloading tiny.arff", total, False, *["step"] * total]
