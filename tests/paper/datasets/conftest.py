"""A tiny made-up data set on a local server, and the real files where BOREOD_DATA names them."""

import hashlib
import os
from pathlib import Path

import pytest

from boreod.paper.datasets import DatasetInfo, Original, entries
from paper.datasets.server import Server
from paper.datasets.tiny_set import TINY, TINY_X, TINY_Y


@pytest.fixture(scope="session")
def paper():
    """Return the folder of the paper's .npz files."""
    folder = os.environ.get("BOREOD_DATA")
    if not folder:
        pytest.skip("BOREOD_DATA is not set")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def raw(paper):
    """Return the folder of original files."""
    folder = paper.parent / "raw"
    if not folder.is_dir():
        pytest.skip("there are no original files beside BOREOD_DATA")
    return folder


@pytest.fixture
def original():
    """Return what a catalogue says about the tiny file."""
    rows = hashlib.sha256(TINY_X.tobytes() + TINY_Y.tobytes()).hexdigest()
    return Original(1, "a/b/tiny.arff", len(TINY), hashlib.sha256(TINY).hexdigest(), rows)


@pytest.fixture
def tiny(original, monkeypatch):
    """Put the tiny set into the catalogue."""
    info = DatasetInfo(
        name="tiny",
        group="paper",
        n=4001,
        d=2,
        outliers=1,
        license="none stated",
        source=original.source,
        checksum=original.sha256,
        versions=(1,),
        note="",
        feature_names=("first one", "second"),
        originals=(original,),
    )
    table = {**entries._entries(), "tiny": info}
    monkeypatch.setattr(entries, "_entries", lambda: table)
    return info


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty cache; no folder of data is set."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("BOREOD_CACHE", str(folder))
    monkeypatch.delenv("BOREOD_DATA", raising=False)
    return folder


@pytest.fixture
def server(monkeypatch):
    """Return a running mirror that has the tiny file."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server({"a/b/tiny.arff": TINY}) as site:
        monkeypatch.setenv("BOREOD_MIRROR", site.address)
        yield site
