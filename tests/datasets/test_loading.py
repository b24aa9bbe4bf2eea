"""`load` and `available`: where rows come from, and what is said when they do not."""

import shutil

import numpy as np
import pytest

from boreod.datasets import DownloadError, available, catalogue, load
from datasets.range_server import RangeServer
from datasets.tiny_set import TINY, TINY_X, TINY_Y


def assert_is_tiny(data):
    assert data.X.tobytes() == TINY_X.tobytes()
    assert data.y.tobytes() == TINY_Y.tobytes()
    assert data.feature_names == ["first one", "second"]


@pytest.fixture
def folder(tmp_path):
    """Return a folder of data that holds the tiny set."""
    path = tmp_path / "data"
    path.mkdir()
    np.savez_compressed(path / "tiny.npz", X=TINY_X, y=TINY_Y)
    return path


def test_downloads_once_then_uses_the_cache(tiny, cache, server):
    assert "tiny" not in available()
    assert_is_tiny(load("tiny"))
    assert available()["tiny"] == [1]
    assert_is_tiny(load("tiny"))
    assert len(server.ranges) == 1


def test_folder_comes_first(tiny, cache, folder, monkeypatch):
    assert_is_tiny(load("tiny", data=folder))
    assert_is_tiny(load("tiny", data=str(folder)))
    monkeypatch.setenv("BOREOD_DATA", str(folder))
    assert_is_tiny(load("tiny"))
    assert available()["tiny"] == [1]
    assert not cache.exists()


def test_other_number_types_in_the_folder(tiny, cache, folder):
    np.savez(folder / "tiny.npz", X=np.asfortranarray(TINY_X), y=TINY_Y.astype(bool))
    data = load("tiny", data=folder)
    assert_is_tiny(data)
    assert data.y.dtype == np.int8


def test_sets_that_the_folder_lacks_are_downloaded(tiny, cache, folder, server):
    (folder / "tiny.npz").unlink()
    assert_is_tiny(load("tiny", data=folder))


def test_real_files_over_http(cache, raw, paper, monkeypatch):
    """One set of each format, from the paths of the catalogue to the rows."""
    infos = [info for info in catalogue() if info.name in ("pima", "letter", "higgs")]
    files = {file.path: raw / file.filename for info in infos for file in info.files(1)}
    if not all(path.exists() for path in files.values()):
        pytest.skip("not all original files are beside BOREOD_DATA")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with RangeServer({name: path.read_bytes() for name, path in files.items()}) as site:
        monkeypatch.setenv("BOREOD_MIRROR", f"{site.address}/")
        for info in infos:
            held = np.load(paper / f"{info.name}.npz")
            data = load(info.name)
            assert data.X.tobytes() == held["X"].tobytes()
            assert data.y.tobytes() == held["y"].tobytes()
    assert len(available()["higgs"]) == 10


def test_reader_that_gives_other_rows_is_found_out(tiny, cache, server, monkeypatch):
    def careless(table):
        return TINY_X + 1e-12, TINY_Y

    monkeypatch.setattr("boreod.datasets.loading.labelled_rows", careless)
    with pytest.raises(ValueError, match=r"must give rows with the SHA-256 .*Please report this"):
        load("tiny")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ionosfere", r"Did you mean 'ionosphere'\?"),
        ("Pima", r"Did you mean 'pima'\?"),
        ("cardio_v02", r"load\('cardio', version=2\)"),
        ("zzz", r"See catalogue\(\)"),
    ],
)
def test_unknown_name(name, hint):
    with pytest.raises(ValueError, match=f"must be one of cardio, .*; got '{name}'. .*{hint}"):
        load(name)


def test_name_that_is_no_text():
    with pytest.raises(TypeError, match=r"`name` must be a text, one of cardio, .*; got 3"):
        load(3)


@pytest.mark.parametrize("version", [0, 11, "1", True, None, 1.5])
def test_unknown_version(version):
    with pytest.raises(ValueError, match=f"'pima' must be one of 1, .*, 10; got {version!r}"):
        load("pima", version)


def test_set_with_one_version():
    with pytest.raises(ValueError, match=r"'letter' must be 1; got 2\. Leave it out"):
        load("letter", 2)


def test_versions_may_be_numpy_integers():
    assert load("wine", np.int64(1)).info.name == "wine"


@pytest.mark.parametrize("data", ["no/such/folder", 5])
def test_folder_that_does_not_exist(data):
    with pytest.raises(ValueError, match=r"`data` must name an existing folder .*Correct it"):
        load("pima", data=data)


def test_variable_that_names_no_folder(monkeypatch):
    monkeypatch.setenv("BOREOD_DATA", "no/such/folder")
    with pytest.raises(ValueError, match="BOREOD_DATA must name an existing folder"):
        available()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_broken_npz(tiny, folder, content):
    (folder / "tiny.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"tiny.npz must be an .npz file .*Replace the file"):
        load("tiny", data=folder)


def test_damaged_npz(tiny, folder):
    path = folder / "tiny.npz"
    content = bytearray(path.read_bytes())
    content[200:300] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"tiny.npz must be an .npz file .*Replace the file"):
        load("tiny", data=folder)


@pytest.mark.parametrize(
    "held", [{"X": TINY_X}, {"X": TINY_X, "y": TINY_Y.astype(str).astype(object)}]
)
def test_npz_without_numbers(tiny, folder, held):
    np.savez(folder / "tiny.npz", **held)
    with pytest.raises(ValueError, match=r"must be an \.npz file with numbers X and y; reading"):
        load("tiny", data=folder)


@pytest.mark.parametrize(
    ("X", "y", "got"),
    [
        (TINY_X[:9], TINY_Y[:9], r"X \(9, 2\) and y \(9,\) with 0 outliers"),
        (TINY_X.T, TINY_Y, r"X \(2, 4001\) and y \(4001,\) with 1 outliers"),
        (TINY_X, TINY_Y[:, np.newaxis], r"y \(4001, 1\)"),
        (TINY_X, 1 - TINY_Y, "with 4000 outliers"),
    ],
)
def test_npz_that_disagrees_with_the_catalogue(tiny, folder, X, y, got):
    np.savez(folder / "tiny.npz", X=X, y=y)
    with pytest.raises(ValueError, match=f"as the catalogue says of 'tiny'; got .*{got}"):
        load("tiny", data=folder)


def test_npz_with_other_labels(tiny, folder):
    np.savez(folder / "tiny.npz", X=TINY_X, y=np.where(TINY_Y == 1, 1, -1))
    with pytest.raises(ValueError, match="must be 1 for outliers and 0 for inliers; got -1, too"):
        load("tiny", data=folder)


def test_file_of_the_wrong_size_is_not_available(tiny, cache):
    cache.mkdir()
    (cache / "tiny.arff").write_bytes(TINY[:-1])
    assert "tiny" not in available()
    (cache / "tiny.arff").write_bytes(TINY)
    assert available()["tiny"] == [1]
    assert_is_tiny(load("tiny"))


def test_cache_that_may_only_be_read(tiny, cache, monkeypatch):
    """Files that were put there by hand need neither network nor permission."""
    monkeypatch.setenv("BOREOD_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    cache.mkdir()
    (cache / "tiny.arff").write_bytes(TINY)
    cache.chmod(0o500)
    assert_is_tiny(load("tiny"))
    cache.chmod(0o700)
    shutil.rmtree(cache)
    with pytest.raises(DownloadError, match="must be reachable"):
        load("tiny")
