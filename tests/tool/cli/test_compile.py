"""What `boreod compile` has made is not compiled again by other processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boreod import BORE, OutlierRepresentation, save
from boreod.tool.cli.score import remove_code

AFTERWARDS = """
import json, sys, warnings
import numpy as np
from boreod.tool.cli import app
from boreod.compiled import KERNELS, count_kernels
app(sys.argv[1:], standalone_mode=False)
if sys.argv[1] == "compile":
    from boreod import BORE
    warnings.simplefilter("ignore")
    random = np.random.default_rng(1)
    rows, labels = random.normal(size=(90, 4)), np.arange(90) % 9 == 0
    model = BORE(n_estimators=2, random_state=0).fit(rows, labels)
    model.within(30, costs="complexity:additive").predict_proba(rows[:1] + 0.1)
    for kernel in KERNELS:
        signatures = kernel.dispatcher.signatures
        assert len(signatures) == 1, (kernel.__name__, signatures)
print(json.dumps(count_kernels()))
"""


def run(arguments, cache=None):
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", AFTERWARDS, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compile")
    random = np.random.default_rng(0)
    rows = random.normal(size=(40, 2))
    columns = OutlierRepresentation(["knn"], [3])
    model = BORE(columns, n_estimators=2, random_state=0).fit(rows, np.arange(40) % 5 == 0)
    save(model.within(3, costs="complexity:additive"), path / "small.boreod")
    np.savetxt(path / "new.csv", rows, delimiter=",", header="x0,x1", comments="")
    return path


@pytest.mark.filterwarnings("ignore")
def test_scoring_compiles_nothing_afterwards(folder):
    cache = str(folder / "cache")
    score = ["score", folder / "small.boreod", folder / "new.csv", "-o", folder / "out.csv"]
    program = [sys.executable, "-c", "from boreod.tool.cli import main; main()"]
    result = subprocess.run(
        [*program, "compile", str(folder / "small.boreod"), "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
    )
    facts = json.loads(result.stdout)
    assert facts["compiled"] > 0
    assert all(place.startswith(cache) for place in facts["folders"])
    made, read, _ = run(score, cache)
    assert (made, read > 0) == (0, True)
    if os.name == "posix" and os.geteuid() != 0:  # nothing stops an administrator
        os.chmod(cache, 0o500)
        assert run(score, cache)[0] == 0
        os.chmod(cache, 0o700)


def test_every_kernel_is_reached_with_one_signature():
    """Fitting, choosing columns and scoring another table add none."""
    made, read, _ = run(["compile"])
    page = Path(__file__).parents[3] / "docs" / "images.md"
    assert f'{{"compiled": {made + read}, "read": 0, ...}}' in page.read_text()


def test_nothing_is_compiled_where_numba_is_switched_off(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    code = "from boreod.compiled import count_kernels; print(count_kernels())"
    first = "from boreod.neighbors.known_rows import hash_rows; hash_rows([[1.0]]); "
    command = [sys.executable, "-W", "ignore", "-c", first + code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["(0,", "0,", "[])"]


@pytest.mark.filterwarnings("ignore")
def test_clean_removes_all_code_and_nothing_else(folder):
    """Broken files and files of other versions go as well."""
    cache = folder / "cleaned"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "boreod", "compile", str(folder / "small.boreod"), "--json"]

    def run_compile(*more):
        done = subprocess.run(
            [*command, *more], capture_output=True, text=True, env=environment, check=True
        )
        return json.loads(done.stdout)

    before = run_compile()
    assert before["removed"] == {}
    place = Path(before["folders"][0])
    for name in ("old.kernel-1.py39.nbi", "old.kernel-1.py39.1.nbc", "mine.txt"):
        (place / name).write_bytes(b"")
    found = {str(path): len(list(path.glob("*.nb*"))) for path in cache.iterdir()}
    after = run_compile("--clean")
    assert after["removed"] == {path: number for path, number in found.items() if number}
    assert (after["compiled"], after["read"]) == (before["compiled"], 0)
    assert [path.name for path in cache.rglob("*") if path.name[:4] in ("old.", "mine")] == [
        "mine.txt"
    ]


def test_clean_removes_folders_in_place_of_files(tmp_path, monkeypatch):
    (tmp_path / "a-1.py311.nbi" / "inside").mkdir(parents=True)
    (tmp_path / "a-1.py311.1.nbc").write_bytes(b"code")
    (tmp_path / "other.txt").touch()
    monkeypatch.setattr("boreod.compiled.KERNELS", [])
    monkeypatch.setattr("boreod.compiled.count_kernels", lambda: (0, 0, [str(tmp_path)]))
    assert remove_code() == {str(tmp_path): 2}
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]
