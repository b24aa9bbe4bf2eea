"""As many threads work as were asked for: linear algebra does not bring its own."""

import threading

import pytest
from threadpoolctl import threadpool_info

import boreod.ensemble.heads
import boreod.neighbors.graph
from boreod import BORE, OutlierRepresentation

FEW = OutlierRepresentation(["knn", "lof"], [5, 10])


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def watched(monkeypatch):
    """Note the threads of linear algebra in every bag, and ours in every search and bag."""
    seen = {"blas": set(), "ours": set()}
    solve, search = boreod.ensemble.heads.fit_standardized, boreod.neighbors.graph._search

    def watch_bag(*args):
        seen["blas"] |= blas_threads()
        seen["ours"].add(threading.active_count())
        return solve(*args)

    def watch_search(*args, **options):
        seen["ours"].add(threading.active_count())
        return search(*args, **options)

    monkeypatch.setattr(boreod.ensemble.heads, "fit_standardized", watch_bag)
    monkeypatch.setattr(boreod.neighbors.graph, "_search", watch_search)
    return seen


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_fit_keeps_to_its_threads(jobs, watched, labelled):
    before, own = blas_threads(), threading.active_count()
    BORE(FEW, n_jobs=jobs, random_state=0).fit(*labelled)
    assert watched["blas"] == {1}
    assert max(watched["ours"]) - own <= jobs - 1  # the calling thread works too
    assert blas_threads() == before
    assert threading.active_count() == own
