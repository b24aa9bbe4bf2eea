"""The catalogue agrees with itself, with the paper and with the files."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from boreod.paper.datasets import catalogue, entries, load
from boreod.paper.datasets.loading import npz_name, rows_digest

TABLE_1 = {  # rows and columns in Table 1 of the paper
    "cardio": (1734, 21),
    "heartdisease": (166, 13),
    "hepatitis": (74, 19),
    "higgs": (5000, 30),
    "ionosphere": (351, 32),
    "letter": (1600, 32),
    "pageblocks": (5139, 10),
    "parkinson": (60, 22),
    "pima": (526, 8),
    "spambase": (2579, 57),
    "waveform": (3443, 21),
    "wilt": (4839, 5),
}
PUBLISHED = [info for info in catalogue() if info.group != "builtin"]


def test_the_twelve_sets_of_the_paper():
    found = {info.name: (info.n, info.d) for info in catalogue() if info.group == "paper"}
    assert found == TABLE_1


@pytest.mark.parametrize("info", catalogue(), ids=lambda info: info.name)
def test_entries_are_complete(info):
    assert 0 < info.outliers < info.n / 2
    assert info.license
    assert info.source
    assert len(info.feature_names) == len(set(info.feature_names)) == info.d
    assert info.versions == tuple(range(1, len(info.versions) + 1))
    assert len(info.versions) in (1, 10)


@pytest.mark.parametrize("info", PUBLISHED, ids=lambda info: info.name)
def test_sources_name_a_commit_and_a_checksum(info):
    for url, checksum in zip(info.source.split(), info.checksum.split(), strict=True):
        assert re.fullmatch(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/\S+", url)
        assert re.fullmatch(r"[0-9a-f]{64}", checksum)
    for file in info.originals:
        assert file.size > 0
        assert re.fullmatch(r"[0-9a-f]{64}", file.rows_sha256)


def test_files_do_not_overwrite_each_other_in_the_cache():
    paths = {file.path for info in catalogue() for file in info.originals}
    assert len({path.rpartition("/")[2] for path in paths}) == len(paths) == 86


def test_no_rows_are_stored_in_the_package():
    kinds = {
        path.name.rpartition(".")[2] for path in entries.files("boreod.paper.datasets").iterdir()
    }
    assert kinds - {"py", "csv", "__pycache__"} == set()


@pytest.mark.parametrize("info", PUBLISHED, ids=lambda info: info.name)
def test_numbers_agree_with_the_files(info, paper):
    for version in info.versions:
        path = paper / npz_name(info.name, version)
        if not path.exists():
            continue
        data = load(info.name, version)  # refuses other shapes and labels
        assert np.isfinite(data.X).all()
        assert rows_digest(data.X, data.y) == info.files(version)[0].rows_sha256
        held = np.load(path)
        assert data.X.tobytes() == held["X"].tobytes()
        assert data.y.tobytes() == held["y"].tobytes()


def test_feature_names_agree_with_the_files(paper):
    path = paper / "feature_names.json"
    if not path.exists():
        pytest.skip("feature_names.json is not in BOREOD_DATA")
    for name, expected in json.loads(path.read_text()).items():
        assert list(entries.find(name).feature_names) == expected


def test_import_is_cheap():
    code = (
        "import sys, boreod.paper.datasets as d; d.catalogue(); "
        "print(sorted({'sklearn', 'scipy', 'numba', 'rich', 'pandas'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
