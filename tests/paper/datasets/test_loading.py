"""Where rows come from, that they are the right ones, and what is said when they do not come."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from boreod.paper.datasets import DownloadError, catalogue, load
from boreod.paper.datasets.loading import (
    draw_events,
    labelled_rows,
    npz_name,
    read_arff,
    read_csv,
    read_npz,
    read_originals,
)
from paper.datasets.server import Server
from paper.datasets.tiny_set import TINY, TINY_X, TINY_Y

SOURCES = {"digits": load_digits, "wdbc": load_breast_cancer, "wine": load_wine}
RARE = {"digits": 4, "wdbc": 0, "wine": 2}  # class of which some rows stay, as outliers
KEPT = {"digits": 30, "wdbc": 30, "wine": 10}
PUBLISHED = [info for info in catalogue() if info.originals]


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
    assert_is_tiny(load("tiny"))
    assert_is_tiny(load("tiny"))
    assert server.requests == 1


@pytest.mark.parametrize("kind", [str, Path])
def test_folder_comes_first(tiny, cache, folder, kind):
    assert_is_tiny(load("tiny", data=kind(folder)))
    assert not cache.exists()


def test_variable_names_the_folder(tiny, cache, folder, monkeypatch):
    monkeypatch.setenv("BOREOD_DATA", str(folder))
    assert_is_tiny(load("tiny"))
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
    with Server({name: path.read_bytes() for name, path in files.items()}) as site:
        monkeypatch.setenv("BOREOD_MIRROR", f"{site.address}/")
        for info in infos:
            held = np.load(paper / f"{info.name}.npz")
            data = load(info.name)
            assert data.X.tobytes() == held["X"].tobytes()
            assert data.y.tobytes() == held["y"].tobytes()


def test_reader_that_gives_other_rows_is_found_out(tiny, cache, server, monkeypatch):
    def careless(table):
        return TINY_X + 1e-12, TINY_Y

    monkeypatch.setattr("boreod.paper.datasets.loading.labelled_rows", careless)
    with pytest.raises(ValueError, match=r"must give rows with the SHA-256 .*Please report this"):
        load("tiny")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ionosfere", r"Did you mean 'ionosphere'\?"),
        ("Pima", r"Did you mean 'pima'\?"),
        ("cardio_v02", r"Did you mean 'cardio'\?"),
        ("zzz", "The data sets are 'cardio', .* more"),
        (3, "The data sets are 'cardio', .* more"),
    ],
)
def test_unknown_name(name, hint):
    with pytest.raises(ValueError, match=f"data set of the catalogue; got {name!r}. {hint}"):
        load(name)


@pytest.mark.parametrize(
    ("name", "most", "version"),
    [("pima", 10, version) for version in (0, 11, "1", True, None, 1.5)] + [("letter", 1, 2)],
)
def test_unknown_version(name, most, version):
    allowed = f"'{name}' must be an integer from 1 to {most}"
    with pytest.raises(ValueError, match=rf"{allowed}; got {version!r}\. Leave it out"):
        load(name, version)


def test_versions_may_be_numpy_integers():
    assert load("wine", np.int64(1)).info.name == "wine"


@pytest.mark.parametrize("data", ["no/such/folder", 5])
def test_folder_that_does_not_exist(data):
    with pytest.raises(ValueError, match=r"`data` must name an existing folder .*Correct it"):
        load("pima", data=data)


def test_variable_that_names_no_folder(monkeypatch):
    monkeypatch.setenv("BOREOD_DATA", "no/such/folder")
    with pytest.raises(ValueError, match="BOREOD_DATA must name an existing folder"):
        load("pima")


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
    with pytest.raises(ValueError, match=r"4000 inliers \(0\), .*; got .* 0 inliers \(0\)"):
        load("tiny", data=folder)


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


@pytest.fixture
def no_network(cache, monkeypatch):
    """No folder, no cache, no network."""
    monkeypatch.setenv("BOREOD_MIRROR", "http://127.0.0.1:9")


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.usefixtures("no_network")
def test_builtin_sets_load_anywhere(name, cache):
    data = load(name)
    assert data.info.group == "builtin"
    assert data.X.shape == (data.info.n, data.info.d)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int8)
    assert np.isfinite(data.X).all()
    assert np.bincount(data.y).tolist() == [data.info.n - data.info.outliers, data.info.outliers]
    assert not cache.exists()


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_those_of_scikit_learn(name):
    data, source = load(name), SOURCES[name]()
    rare = source.target == RARE[name]
    assert data.feature_names == list(source.feature_names)
    assert data.info.source == f"sklearn.datasets.{SOURCES[name].__name__}"
    np.testing.assert_array_equal(data.X[data.y == 0], source.data[~rare])
    np.testing.assert_array_equal(data.X[data.y == 1], source.data[rare][: KEPT[name]])


@pytest.mark.usefixtures("no_network")
def test_the_catalogue_lists_all_builtin_sets():
    assert [info.name for info in catalogue() if info.group == "builtin"] == list(SOURCES)


def test_callers_own_their_rows():
    load("wine").X[:] = np.nan
    assert np.isfinite(load("wine").X).all()


@pytest.mark.parametrize("info", PUBLISHED, ids=lambda info: info.name)
def test_originals_equal_npz(info, paper, raw):
    compared = 0
    for version in info.versions:
        files = info.files(version)
        paths = [raw / file.filename for file in files]
        if not all(path.exists() for path in paths):
            continue
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        assert digests == [file.sha256 for file in files]
        X, y = read_originals(info, version, paths)
        expected = np.load(paper / npz_name(info.name, version))
        assert (X.dtype, y.dtype, X.shape) == (np.float64, np.int8, expected["X"].shape)
        assert X.flags.c_contiguous
        assert X.tobytes() == expected["X"].tobytes()
        assert y.tobytes() == expected["y"].tobytes()
        compared += 1
    if not compared:
        pytest.skip(f"no original of {info.name} is beside BOREOD_DATA")


def test_names_in_originals_are_those_of_the_catalogue(raw):
    for info in catalogue():
        for file in info.files(1):
            path = raw / file.filename
            if path.suffix == ".arff" and path.exists():
                assert list(read_arff(path).dtype.names) == [*info.feature_names, "id", "outlier"]
            elif path.suffix == ".csv" and path.exists():
                assert set(info.feature_names) < set(read_csv(path).dtype.names)


def test_arff(tmp_path):
    path = tmp_path / "tiny.arff"
    path.write_bytes(TINY)
    table = read_arff(path)
    assert list(table.dtype.names) == ["first one", "second", "id", "outlier"]
    X, y = labelled_rows(table)
    assert X.tobytes() == TINY_X.tobytes()
    assert y.tobytes() == TINY_Y.tobytes()


def test_arff_in_other_spellings(tmp_path):
    path = tmp_path / "other.arff"
    path.write_bytes(
        b'@relation other\r\n@attribute outlier {yes, no}\r\n@attribute "b, c" REAL\r\n'
        b"@Attribute id integer\r\n@data\r\n% a comment\r\nyes, -1.5e3, 1\r\n\r\n'no',2,2\r\n"
    )
    X, y = labelled_rows(read_arff(path))
    assert (X.tolist(), y.tolist()) == ([[-1500.0], [2.0]], [1, 0])


def test_events_are_drawn_without_replacement_and_ordered(tmp_path):
    for name, first in (("b.csv", 1), ("s.csv", 2)):
        lines = [f"{event},{event}.5,x" for event in range(first, 41, 2)]
        (tmp_path / name).write_text("\n".join(["EventId,DER_a,Label", *lines]) + "\n")
    pools = [read_csv(tmp_path / name) for name in ("b.csv", "s.csv")]
    X, y = draw_events(*pools, n=15, outliers=5, seed=3)
    events = X[:, 0] - 0.5
    assert X.shape == (15, 1)
    assert (np.diff(events) > 0).all()
    assert ((events % 2 == 0) == (y == 1)).all()
    assert y.sum() == 5


def test_an_own_npz_is_read_as_it_is(tmp_path):
    labels = np.repeat([False, True], [6, 4])
    np.savez(tmp_path / "own.npz", X=np.arange(20, dtype=np.float32).reshape(10, 2), y=labels)
    points, codes = read_npz(tmp_path / "own.npz")
    assert points.dtype == np.float64
    assert points[3].tolist() == [6.0, 7.0]
    assert codes.tolist() == [0] * 6 + [1] * 4


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros(10), np.repeat([0, 1], 5), r"table X and y .*; got X \(10,\) and y \(10,\)"),
        (np.zeros((9, 2)), np.repeat([0, 1], 5), r"one label a row, .*; got X \(9, 2\)"),
        (np.zeros((10, 2)), np.repeat([0, 2], 5), r"1 for outliers and 0 for inliers"),
        (np.zeros((10, 2)), np.repeat([0, 1], [7, 3]), r"at least 4 .*; got 7 inliers, 3 outliers"),
        (np.full((10, 2), np.nan), np.repeat([0, 1], 5), r"and 20 cells that are not finite"),
    ],
)
def test_an_own_npz_that_cannot_be_used(tmp_path, X, y, message):
    np.savez(tmp_path / "own.npz", X=X, y=y)
    with pytest.raises(ValueError, match=rf"own.npz must hold .*{message}.*leave it out"):
        read_npz(tmp_path / "own.npz")
