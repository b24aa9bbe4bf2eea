"""Before long work: memory, the search that is worth it, and what is said about both."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import boreod.representation.lookahead as room
from boreod import BORE, InvertedLists, OutlierRepresentation
from boreod.neighbors import RecallError
from boreod.representation.forecast import Forecast, MemoryForecastError
from boreod.representation.lookahead import SearchWarning

FEW = OutlierRepresentation(["knn", "lof"], [5, 10])


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(3000, 3))


@pytest.fixture
def large(monkeypatch):
    """Let a table of 3000 rows be large."""
    monkeypatch.setattr(room, "PILOT_FROM", 1000)
    monkeypatch.setattr("boreod.representation.forecast.PILOT_FROM", 1000)
    return monkeypatch


def search_of(representation):
    return representation.fitted_columns_.views[0].scored.graph.backend.name


def forecasts(monkeypatch, exact, lists):
    """Let a fit take so many seconds by exact search and by inverted lists."""

    def fixed(points, views, neighbors, **_):
        seconds = {"neighbor search": lists if neighbors == "faiss-ivf" else exact}
        return Forecast(len(points), 7, f"search, {neighbors}", {"rows": 10}, {}, seconds)

    monkeypatch.setattr(room, "forecast_fit", fixed)


def test_small_tables_are_not_looked_at(rows, monkeypatch):
    monkeypatch.setattr(room, "available_memory", lambda: pytest.fail("looked"))
    FEW.fit(rows)


def test_what_does_not_fit_is_refused_with_what_would(rows, large):
    large.setattr(room, "available_memory", lambda: 15_000_000)
    with pytest.raises(MemoryForecastError, match=r"reference_size=\d+ \(.*--reference-size \d+"):
        BORE(FEW, n_jobs=2, random_state=0).fit(rows, np.arange(3000) < 30)


def test_a_verbose_fit_says_how_long_it_takes(rows, large, capsys):
    OutlierRepresentation(["knn"], [5], verbose=True).fit(rows)
    said = capsys.readouterr().err
    assert "About 1 s and" in said
    assert "for 3000 rows and 4 columns (exact search, " in said
    OutlierRepresentation(["knn"], [5]).fit(rows)
    assert capsys.readouterr().err == ""


def test_lists_that_are_not_worth_it_are_not_used(rows, large):
    pytest.importorskip("faiss")
    forecasts(large, exact=100.0, lists=80.0)
    with pytest.warns(SearchWarning, match=r"1\.2 times as fast \(1 min in place of 2 min\)"):
        representation = OutlierRepresentation(["knn"], [5], neighbors="faiss-ivf").fit(rows)
    assert search_of(representation) in ("brute", "tree")
    exact = OutlierRepresentation(["knn"], [5]).fit(rows)
    assert_array_equal(representation.transform(rows), exact.transform(rows))


def test_lists_that_are_worth_it_are_used(rows, large):
    pytest.importorskip("faiss")
    forecasts(large, exact=100.0, lists=40.0)
    representation = OutlierRepresentation(["knn"], [5], neighbors="faiss-ivf").fit(rows)
    assert search_of(representation) == "faiss-ivf"


def test_lists_that_were_told_to_be_used_are_used(rows, large):
    pytest.importorskip("faiss")
    forecasts(large, exact=1.0, lists=4000.0)
    told = OutlierRepresentation(["knn"], [5], neighbors=InvertedLists())
    assert search_of(told.fit(rows)) == "faiss-ivf"


def test_exact_search_that_nobody_can_wait_for(rows, large):
    pytest.importorskip("faiss")
    large.setattr(room, "ALWAYS_FROM", 1000)
    forecasts(large, exact=20_000.0, lists=400.0)
    with pytest.warns(SearchWarning, match=r"approximately, in inverted lists: 7 min in place of"):
        representation = OutlierRepresentation(["knn"], [5]).fit(rows)
    assert search_of(representation) == "faiss-ivf"


def test_lists_that_nobody_asked_for_must_prove_themselves(rows, large):
    pytest.importorskip("faiss")
    large.setattr(room, "ALWAYS_FROM", 1000)
    forecasts(large, exact=20_000.0, lists=400.0)

    def refuse(recall, least, name):
        raise RecallError("too little")

    large.setattr("boreod.neighbors.graph.check_recall", refuse)
    with pytest.warns(SearchWarning) as said:
        representation = OutlierRepresentation(["knn"], [5]).fit(rows)
    assert any("It is searched exactly now" in str(warning.message) for warning in said)
    assert search_of(representation) == "brute"
    large.setattr(room, "ALWAYS_FROM", 10_000)
    with pytest.raises(RecallError):
        OutlierRepresentation(["knn"], [5], neighbors=InvertedLists()).fit(rows)


def test_small_tables_need_no_lists(rows):
    with pytest.warns(SearchWarning, match="in tables of fewer than 20000 rows"):
        representation = OutlierRepresentation(["knn"], [5], neighbors="faiss-ivf").fit(rows)
    assert search_of(representation) in ("brute", "tree")


def test_lists_cannot_do_manhattan(rows, large):
    large.setattr(room, "ALWAYS_FROM", 1000)
    forecasts(large, exact=20_000.0, lists=400.0)
    with pytest.warns(SearchWarning, match="will take about"):
        representation = OutlierRepresentation(["knn"], [5], views="manhattan").fit(rows)
    assert search_of(representation) in ("brute", "tree")


def test_recall_is_told_and_kept(rows, capsys):
    pytest.importorskip("faiss")
    representation = OutlierRepresentation(["knn"], [5], neighbors=InvertedLists()).fit(rows)
    assert representation.recall_[""].isolated >= 0.99
    assert "faiss-ivf: found" in capsys.readouterr().err
    assert OutlierRepresentation(["knn"], [5]).fit(rows).recall_ == {}


def test_a_minute_is_worth_a_sentence(rows, large, capsys):
    large.setattr(room, "ALWAYS_FROM", 1000)
    forecasts(large, exact=70.0, lists=70.0)
    FEW.fit(rows)
    assert "About 1 min" in capsys.readouterr().err


def test_long_work_comes_with_advice(rows, large):
    large.setattr(room, "ALWAYS_FROM", 1000)
    forecasts(large, exact=1800.0, lists=1800.0)
    with pytest.warns(SearchWarning, match=r"about 30 min; with reference_size=\d+"):
        FEW.fit(rows)


def test_samples_are_searched_exactly(rows):
    pytest.importorskip("faiss")
    views = ("full", "sample:300")
    representation = OutlierRepresentation(
        ["knn"], [5], views=views, neighbors=InvertedLists(), random_state=0
    ).fit(rows)
    names = [view.scored.graph.backend.name for view in representation.fitted_columns_.views]
    assert names == ["faiss-ivf", "brute"]
