"""Forecasts of time and memory against the work itself."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest

from boreod.neighbors.tree import KDTree
from boreod.representation.forecast import (
    PILOT_FROM,
    Forecast,
    MemoryForecastError,
    advise,
    check_memory,
    forecast_fit,
    forecast_memory,
)
from boreod.representation.plan import make_plan, read_scores
from boreod.representation.views import resolve_views
from boreod.text import show_seconds

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
    return forecast_memory(n_rows, n_columns, views, backend, n_threads, n_bags)


def make_long(seconds, growth=1.0):
    parts = {"neighbor search": 0.9 * seconds, "scores": 0.1 * seconds}
    return Forecast(1_000_000, 152, "exact search, brute", {"table": 10**9}, {}, parts, growth)


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are told by /proc")
def test_memory_is_what_a_fit_takes():
    command = [sys.executable, "-c", MEASURE]
    measured = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    views = plan_views(20_000, 8, ["lof", "inflo"], (5, 40))
    forecast = forecast_memory(20_000, 8, views, "auto", 1, 0)
    assert 0.7 < (forecast.bytes + 20_000 * 8 * 8) / measured < 1.7  # a fit copies its input, too


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
        {"backend": "faiss-flat"},
    ],
)
def test_more_of_anything_takes_more_memory(more):
    usual = {"scores": ["knn", "lof"], "ks": (5, 20)}
    assert memory_of(**usual | more).bytes > memory_of(**usual).bytes


def test_lists_are_as_long_as_the_largest_k_and_turned_around_if_need_be():
    plain, reverse = (memory_of(scores=s, ks=(10, 100), n_bags=0) for s in (["lof"], ["inflo"]))
    assert plain.memory["neighbor lists"] == 100_000 * (12 * 100 + 16)
    assert reverse.memory["neighbor lists"] == 100_000 * (12 * 200 + 16)


def test_small_tables_have_no_pilot():
    points = np.random.default_rng(0).normal(size=(PILOT_FROM - 1, 5))
    views = plan_views(len(points), 5)
    started = time.perf_counter()
    forecast = forecast_fit(points, views, "auto", n_threads=2, n_bags=50)
    assert time.perf_counter() - started < 0.05
    assert forecast.seconds is None
    assert advise(forecast) is None
    assert re.fullmatch(
        r"About \d+ MB for 19999 rows and 134 columns \(search: auto\)\.", str(forecast)
    )


@pytest.mark.parametrize("backend", ["brute", "tree"])
def test_search_and_scores_take_time(backend):
    """How much is told by benchmarks/bench_growth.py, beside what it took."""
    points = np.random.default_rng(0).normal(size=(PILOT_FROM, 3))
    views = plan_views(len(points), 3, ["knn", "ldof"], (10, 30))
    forecast = forecast_fit(points, views, backend, n_threads=1, n_bags=0)
    assert set(forecast.parts) == {"neighbor search", "scores"}
    assert forecast.parts["neighbor search"] > 0
    assert str(forecast).endswith(f"20000 rows and 7 columns (exact search, {backend}).")


def test_an_approximate_search_is_called_so():
    pytest.importorskip("faiss")
    from boreod.neighbors import InvertedLists

    points = np.random.default_rng(0).normal(size=(PILOT_FROM, 3))
    views = plan_views(len(points), 3, ["knn"], (5,))
    forecast = forecast_fit(points, views, InvertedLists(n_lists=50, n_probe=10), 1, 0)
    assert "(approximate search, faiss-ivf)" in str(forecast)


def test_bags_take_time_as_well():
    points = np.random.default_rng(0).normal(size=(PILOT_FROM, 3))
    views = plan_views(len(points), 3, ["knn"], (5,))
    small, large = (
        forecast_fit(points, views, "tree", 1, n_bags=50, bag_rows=rows).parts["bags"]
        for rows in (10, 5000)
    )
    assert 0 < small < large


def test_ties_make_reverse_neighbors_dear(monkeypatch):
    """Lists that end in ties cannot be turned around, so every score searches once more."""
    searched = []
    search = KDTree.nearest_and_reverse
    monkeypatch.setattr(
        KDTree, "nearest_and_reverse", lambda *args, **kw: searched.append(1) or search(*args, **kw)
    )
    random = np.random.default_rng(0)
    smooth = random.normal(size=(PILOT_FROM, 3))
    grid = random.permutation(np.argwhere(np.ones((28, 28, 28))))[:PILOT_FROM].astype(float)
    views = plan_views(PILOT_FROM, 3, ["inflo", "odin"], (10,))
    forecast_fit(smooth, views, "tree", 1, 0)
    assert not searched
    forecast_fit(grid, views, "tree", 1, 0)
    assert searched


def test_rows_that_are_no_reference_rows_are_searched_and_scored_as_well():
    points = np.random.default_rng(0).normal(size=(PILOT_FROM, 3))
    views = plan_views(PILOT_FROM, 3, ["inflo", "ldof"], (10,), views="sample:500")
    alone = forecast_fit(points[:500], views, "brute", 1, 0)
    assert alone.seconds is None
    forecast = forecast_fit(points, views, "brute", 1, 0)
    per_row = forecast.seconds / (PILOT_FROM + 500)
    assert 1e-6 < per_row < 1e-2
    assert forecast.memory["table"] >= PILOT_FROM * 5 * 8


@pytest.mark.parametrize("share", [0.9, 0.4, 0.05])
def test_what_is_refused_comes_with_what_would_fit(share):
    forecast = memory_of(n_rows=1_000_000)
    available = int(share * forecast.bytes)
    with pytest.raises(MemoryForecastError, match="a budget does not help") as refusal:
        check_memory(forecast, available)
    sentence = str(refusal.value)
    size = int(re.search(r"reference_size=(\d+)", sentence)[1])
    assert f"boreod fit --reference-size {size}" in sentence
    assert size > 0.35 * share * 1_000_000  # no smaller than it has to be
    assert memory_of(n_rows=size).bytes <= available
    for ks in re.findall(r"ks=\[(.*?)\]", sentence):
        few = memory_of(n_rows=1_000_000, ks=tuple(map(int, ks.split(", "))))
        assert few.bytes <= available
    for names in re.findall(r"scores=\[(.*?)\]", sentence):
        few = memory_of(n_rows=1_000_000, scores=names.replace("'", "").split(", "))
        assert few.bytes <= available
    assert ("ks=[" in sentence) == (share > 0.5)


def test_ks_that_are_proposed_are_allowed():
    forecast = memory_of(scores=["knn", "kdeos"], ks=(1, 2, 5, 50))
    assert next(iter(forecast.options)) == "ks=[1, 2, 5]"  # kdeos needs 3
    assert (
        memory_of(scores=["knn", "kdeos"], ks=(1, 2, 5)).bytes == forecast.options["ks=[1, 2, 5]"]
    )


def test_what_fits_is_not_refused():
    forecast = memory_of()
    check_memory(forecast, forecast.bytes)


def test_where_nothing_fits_nothing_is_proposed():
    with pytest.raises(MemoryError, match="Use a machine with more memory"):
        check_memory(memory_of(), 1000)


def test_short_work_needs_no_advice():
    assert advise(make_long(500.0)) is None


@pytest.mark.parametrize("growth", [0.0, 0.5, 1.0])
def test_long_work_comes_with_a_sample_that_takes_a_minute_or_two(growth):
    long = make_long(5 * 3600.0, growth)
    sentence = advise(long)
    assert sentence.startswith("This fit will take about 5.0 h; with reference_size=")
    size = int(re.search(r"reference_size=(\d+)", sentence)[1])
    assert 40 < long.with_reference(size).seconds <= 120


def test_bags_set_a_limit_to_what_a_sample_saves():
    parts = {"neighbor search": 600.0, "scores": 60.0, "bags": 300.0}
    slow = Forecast(100_000, 152, "exact search, tree", {}, {}, parts)
    size = int(re.search(r"reference_size=(\d+)", advise(slow))[1])
    assert 300 < slow.with_reference(size).seconds < 480


def test_a_forecast_is_one_sentence():
    parts = {"neighbor search": 150.0, "scores": 30.0}
    forecast = Forecast(200_000, 152, "exact search, tree", {"table": 2_100_000_000}, {}, parts)
    assert str(forecast) == (
        "About 3 min and 2.1 GB for 200000 rows and 152 columns (exact search, tree)."
    )


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.1, "1 s"), (59.4, "59 s"), (59.6, "1 min"), (3590.0, "1.0 h")]
)
def test_times_are_shown_as_a_person_says_them(seconds, shown):
    assert show_seconds(seconds) == shown
