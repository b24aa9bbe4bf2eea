"""Neighbors in a large table are searched among a sample of its rows, and nothing else changes."""

import numpy as np
import pytest

from boreod import BORE, Detector, Heads, OutlierRepresentation, Reference
from boreod.representation import transformer
from boreod.tool.models import list_assumptions

MANY = 900
SEARCHED = 300
QUICK = {"n_estimators": 16, "heads": Heads(["logistic", "trees"], n_trees=2), "random_state": 0}


# With few bags, some rows are in all of them.
pytestmark = pytest.mark.filterwarnings("ignore:.* in every bag")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(transformer, "SEARCHED_ROWS", SEARCHED)


@pytest.fixture(scope="module")
def table():
    """Rows in a plane, some of them far away and labelled."""
    random = np.random.default_rng(0)
    y = np.where(np.arange(MANY) % 45 == 0, 1, -1)
    X = random.normal(size=(MANY, 2)) + 6 * (y == 1)[:, np.newaxis]
    return X, y


def sizes(model):
    return {view.space.name: len(view.known.rows) for view in model.fitted_.columns.views}


def test_a_large_table_is_searched_in_part(table):
    X, y = table
    model = Detector(**QUICK).fit(X, y)
    assert list(sizes(model)) == [f"r{SEARCHED}"]
    assert max(sizes(model).values()) <= SEARCHED
    assert model.oob_.shares.n_rows == len(model.oob_proba_) == MANY
    assert f"among {max(sizes(model).values())} of the {MANY} training rows" in " ".join(
        list_assumptions(model)
    )


def test_all_rows_are_in_bags_and_out_of_bag(table):
    model = Detector(**QUICK).fit(*table)
    in_bags = np.unique(model.training_.bags.rows)
    assert set(np.flatnonzero(table[1] == 1)) <= set(in_bags.tolist())
    reference = model.fitted_.columns.views[0].space.rows
    assert not set(in_bags.tolist()) <= set(reference.tolist())
    assert np.isfinite(model.oob_proba_[table[1] == -1]).all()


def test_known_rows_keep_their_columns(table):
    X, y = table
    model = Detector(**QUICK).fit(X, y)
    novelty = model.novelty(X)
    assert not novelty.novel[y == -1].any()
    assert model.novelty([[40.0, -40.0]]).novel.all()


@pytest.mark.parametrize(
    ("model", "n_rows"),
    [
        (Detector(reference=Reference(size=None), **QUICK), MANY),
        (Detector(OutlierRepresentation(["knn_5"]), **QUICK), MANY),
        (Detector(reference=Reference(size=500), **QUICK), 500),
        (BORE(OutlierRepresentation(["knn_5"]), n_estimators=30, random_state=0), MANY),
    ],
    ids=["all rows", "own representation", "a sample to learn from", "BORE"],
)
def test_who_asks_otherwise_gets_it(model, n_rows, table):
    X, y = table
    model.fit(X, np.where((np.arange(MANY) % 7 == 1) & (y < 0), 0, y))
    outliers = 0 if model._preset.reference.outliers else int((y == 1).sum())
    assert list(sizes(model).values()) == [n_rows - outliers]
    assert not any("are searched among" in text for text in list_assumptions(model))


def test_a_table_of_twice_the_sample_is_searched_whole(table):
    X, y = table
    model = Detector(**QUICK).fit(X[: 2 * SEARCHED], y[: 2 * SEARCHED])
    assert list(sizes(model)) == [""]


def test_without_labels(table):
    model = Detector(**QUICK).fit(table[0])
    assert sizes(model) == {"standardized": SEARCHED, "ranked": SEARCHED}
    assert len(model.oob_proba_) == MANY


def test_a_budget_adds_cheap_views(table, monkeypatch):
    monkeypatch.setattr(transformer, "LARGE_TABLE", 500)
    monkeypatch.setattr(transformer, "CHEAP_VIEWS", ("sample:64",))
    model = Detector(budget="1ms", **QUICK).fit(*table)
    names = {name.partition("@")[2] for name in model.training_.columns.names}
    assert {f"r{SEARCHED}", "r64"} <= names


@pytest.mark.parametrize("size", ["all", 1, 2.5, True])
def test_other_sizes_are_refused(size, table):
    with pytest.raises(ValueError, match="'auto', None or a number of rows from 2 on"):
        Detector(reference=Reference(size=size), **QUICK).fit(*table)
