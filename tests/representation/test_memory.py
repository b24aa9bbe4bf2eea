"""The memory that a fit takes, and the memory that is left, also in made-up control groups."""

import re
import subprocess
import sys

import numpy as np
import psutil
import pytest

import boreod.representation.memory as module
from boreod import BORE, OutlierRepresentation
from boreod.representation.memory import (
    NotEnoughMemoryError,
    available_memory,
    check_fit,
    check_reading,
    count_fit_memory,
)
from boreod.representation.plan import make_plan, read_scores
from boreod.representation.views import resolve_views
from boreod.text import show_bytes

FEW = OutlierRepresentation(["knn", "lof"], [5, 10])
MEASURE = """
from pathlib import Path
import numpy as np, psutil
from boreod import OutlierRepresentation

def fit(n):
    rows = np.random.default_rng(0).normal(size=(n, 8))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compilers and parents
    before = psutil.Process().memory_info().rss
    OutlierRepresentation(["lof", "inflo"], [5, 40], n_jobs=1).fit_transform(rows)
    return before

fit(3000)  # loads the kernels
before = fit(20000)
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 - before)
"""


def plan_views(n_rows, n_columns, scores="all", ks=None, views="full"):
    """Return spaces with plans, as a representation makes them."""
    requests, _ = read_scores(scores)
    names = [f"x{column}" for column in range(n_columns)]
    spaces = resolve_views(views, n_rows, names, np.random.RandomState(0))
    sizes = [n_rows if space.rows is None else len(space.rows) for space in spaces]
    return [
        (space, make_plan(requests, ks, size, space.name)[0])
        for space, size in zip(spaces, sizes, strict=True)
    ]


def memory_of(n_rows=100_000, n_columns=10, n_bags=50, backend="auto", n_threads=2, **asked):
    views = plan_views(n_rows, n_columns, **asked)
    return count_fit_memory(n_rows, n_columns, views, backend, n_threads, n_bags)


@pytest.mark.other_parts
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are told by /proc")
def test_memory_is_what_a_fit_takes():
    command = [sys.executable, "-c", MEASURE]
    measured = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    counted = memory_of(20_000, 8, 0, n_threads=1, scores=["lof", "inflo"], ks=(5, 40))
    assert 0.7 < (counted + 20_000 * 8 * 8) / measured < 1.7  # a fit copies its input, too


@pytest.mark.parametrize(
    "more",
    [
        {"n_rows": 101_000},
        {"n_columns": 11},
        {"n_bags": 51},
        {"n_threads": 3},
        {"ks": (5, 10, 30)},
        {"scores": ["knn", "lof", "cof"]},
        {"views": ["full", "sample:1000"]},
        {"views": "subspaces:3"},
        {"backend": "tree"},
    ],
)
def test_more_of_anything_takes_more_memory(more):
    usual = {"scores": ["knn", "lof"], "ks": (5, 20)}
    assert memory_of(**usual | more) > memory_of(**usual)


def test_lists_are_as_long_as_the_largest_k_and_turned_around_if_need_be():
    plain, reverse = (memory_of(scores=s, ks=(10, 100), n_bags=0) for s in (["knn"], ["inflo"]))
    assert reverse - plain == 100_000 * 12 * 100


@pytest.mark.parametrize("share", [0.9, 0.4, 0.05])
def test_what_is_refused_comes_with_what_would_fit(share, monkeypatch):
    needed = memory_of(n_rows=1_000_000)
    available = int(share * needed)
    monkeypatch.setattr(module, "available_memory", lambda: available)
    with pytest.raises(NotEnoughMemoryError, match=r"with 139 columns.* a budget") as refusal:
        check_fit(needed, 1_000_000, 139)
    size = int(
        re.search(r"reference=Reference\(size=(\d+)\) \(--reference-size \1\)", str(refusal.value))[
            1
        ]
    )
    assert size > 0.35 * share * 1_000_000  # no smaller than it has to be
    assert memory_of(n_rows=size) <= available
    monkeypatch.setattr(module, "available_memory", lambda: needed)
    check_fit(needed, 1_000_000, 139)


def test_a_table_that_cannot_be_read():
    check_reading(1_000_000, 10**9, 3 * 10**9)
    with pytest.raises(NotEnoughMemoryError, match=r"3\.0 GB to be read.*size=100000"):
        check_reading(1_000_000, 10**9, 2 * 10**9)
    with pytest.raises(MemoryError, match="size=1000"):
        check_reading(1_000_000, 10**9, 1000)


def test_a_fit_is_checked_from_twenty_thousand_rows_on(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 1000)
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    FEW.fit(rows[:1000])
    with pytest.raises(NotEnoughMemoryError, match="A fit of 20000 rows with 7 columns"):
        FEW.fit(rows)
    with pytest.raises(NotEnoughMemoryError, match="A fit of 20000 rows with 7 columns"):
        BORE(FEW, random_state=0).fit(rows, np.arange(20_000) < 30)
    with pytest.raises(NotEnoughMemoryError, match="A fit of 100 rows with 50001 columns"):
        OutlierRepresentation(["knn"], [1]).fit(np.zeros((100, 50_000)))


def make_group(folder, limit, usage, version, reclaimable=0):
    """Write the files of one control group."""
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }[version]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {reclaimable}\n")


def left(tmp_path, own):
    (tmp_path / "own").write_text(own)
    return available_memory(tmp_path / "groups", tmp_path / "own")


@pytest.mark.parametrize(
    ("version", "own", "folder"),
    [
        (2, "0::/jobs/mine\n", "groups/jobs/mine"),
        (1, "9:pids:/\n4:cpu,memory:/jobs/mine\n0::/\n", "groups/memory/jobs/mine"),
    ],
)
def test_the_limit_of_the_own_group_counts(tmp_path, version, own, folder):
    make_group(tmp_path / folder, 50_000, 20_000, version)
    assert left(tmp_path, own) == 30_000


@pytest.mark.parametrize(("version", "root"), [(2, "groups"), (1, "groups/memory")])
def test_the_tightest_of_the_groups_above_counts(tmp_path, version, root):
    own = "0::/a/b\n" if version == 2 else "3:memory:/a/b\n"
    make_group(tmp_path / root, 90_000, 50_000, version)
    make_group(tmp_path / root / "a", 60_000, 40_000, version)
    make_group(tmp_path / root / "a" / "b", 55_000, 10_000, version)
    assert left(tmp_path, own) == 20_000


def test_a_container_may_see_its_group_as_the_root(tmp_path):
    make_group(tmp_path / "groups", 70_000, 10_000, 2)
    assert left(tmp_path, "0::/elsewhere/docker-1234\n") == 60_000


def test_copies_of_files_are_given_up(tmp_path):
    make_group(tmp_path / "groups", 70_000, 60_000, 2, reclaimable=25_000)
    assert left(tmp_path, "0::/\n") == 35_000


def test_an_exceeded_limit_leaves_nothing(tmp_path):
    make_group(tmp_path / "groups", 10_000, 10_500, 2)
    assert left(tmp_path, "0::/\n") == 0


@pytest.mark.parametrize("limit", ["max", 2**63 - 4096, ""])
def test_without_a_limit_the_system_decides(tmp_path, limit):
    make_group(tmp_path / "groups", limit, 10_000, 2)
    assert left(tmp_path, "0::/\n") == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_this_system_has_some_memory_left_and_not_more_than_all():
    assert 0 < available_memory() < psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (9_960_000, "10 MB"),
        (999_600_000, "1.0 GB"),
        (123_400_000_000, "123 GB"),
        (7.6e16, "76000 TB"),
    ],
)
def test_sizes_are_shown_as_a_person_says_them(number, shown):
    assert show_bytes(number) == shown
