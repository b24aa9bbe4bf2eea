"""Original files give exactly the rows of the paper's .npz files."""

import numpy as np
import pytest

from boreod.datasets import catalogue
from boreod.datasets.download import is_intact
from boreod.datasets.folders import npz_name
from boreod.datasets.loading import read_originals
from boreod.datasets.readers import (
    draw_events,
    labelled_rows,
    read_arff,
    read_csv,
    read_mat,
)
from datasets.tiny_set import TINY, TINY_X, TINY_Y

PUBLISHED = [info for info in catalogue() if info.originals]


@pytest.mark.parametrize("info", PUBLISHED, ids=lambda info: info.name)
def test_originals_equal_npz(info, paper, raw):
    compared = 0
    for version in info.versions:
        files = info.files(version)
        paths = [raw / file.filename for file in files]
        if not all(path.exists() for path in paths):
            continue
        assert all(map(is_intact, paths, files))
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
                assert read_arff(path).names == [*info.feature_names, "id", "outlier"]
            elif path.suffix == ".csv" and path.exists():
                assert set(info.feature_names) < set(read_csv(path).names)


def test_arff(tmp_path):
    path = tmp_path / "tiny.arff"
    path.write_bytes(TINY)
    table = read_arff(path)
    assert table.names == ["first one", "second", "id", "outlier"]
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>", "must begin with @relation.*got '<html>'. Replace it"),
        ("@attribute a real\n@data\n1\n1,2\n", "must have 1 values .* row 2 has 2"),
        ("@attribute a real\n@data\n", "must hold rows; it holds none"),
    ],
)
def test_broken_arff(tmp_path, content, message):
    path = tmp_path / "broken.arff"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_arff(path)


@pytest.mark.parametrize("content", ["", "a,b\n", "a,b\n1\n"])
def test_broken_csv(tmp_path, content):
    path = tmp_path / "broken.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"must (have|hold) .*Replace it by the original"):
        read_csv(path)


def test_mat_without_labels(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "half.mat", {"X": np.eye(3)})
    with pytest.raises(ValueError, match=r"must hold X and y; it holds only \['X'\]"):
        read_mat(tmp_path / "half.mat")


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
