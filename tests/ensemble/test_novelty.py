"""Novelty against its definition, and what a user gets of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import novelty as oracle
from sklearn.model_selection import train_test_split

from boreod import BORE, ColumnSelection, OutlierRepresentation, Reference, load, save
from boreod.ensemble.novelty import SeenRows
from boreod.predictor import assess, prepare

KNN = OutlierRepresentation(["knn"], [10])


@pytest.fixture(scope="module")
def labelled_rows():
    random = np.random.default_rng(5)
    X = np.vstack([random.normal(size=(190, 3)), random.normal(0, 3, size=(10, 3))])
    X[100:140] = np.round(X[100:140])  # copies and ties
    return X, np.repeat([0, 1], [190, 10])


def move(X, training, number, random, ranges=20.0):
    """Move one column of some rows far outside its range."""
    rows = X[random.integers(len(X), size=number)].copy()
    columns = random.integers(X.shape[1], size=number)
    steps = np.ptp(training, axis=0)[columns] * random.choice([-ranges, ranges], number)
    rows[np.arange(number), columns] += steps
    return rows


@pytest.mark.parametrize(
    "representation",
    [
        KNN,
        OutlierRepresentation(),
        OutlierRepresentation(["lof"], [3]),  # fewer neighbors than novelty needs
        OutlierRepresentation(["knn"], [10], views=["subspaces:3", "full", "cosine"]),
    ],
)
@pytest.mark.parametrize("neighbors", ["brute", "tree"])
def test_definition(representation, neighbors, labelled_rows):
    X, y = labelled_rows
    y = np.where(np.arange(len(y)) % 7 == 0, -1, y)
    model = BORE(representation, reference=Reference(neighbors=neighbors), random_state=0).fit(X, y)
    random = np.random.default_rng(0)
    new = np.vstack([random.normal(size=(20, 3)), X[:5], X[100:110], move(X, X, 8, random, 1.5)])
    low, extent = X.min(axis=0), np.ptp(X, axis=0)
    reference, rows = (X - low) / extent, (new - low) / extent
    of_training = [oracle.isolation(reference, row, own) for own, row in enumerate(reference)]
    expected = []
    for row, original in zip(rows, new, strict=True):
        known = np.flatnonzero((original == X).all(axis=1))
        expected.append(oracle.isolation(reference, row, known[0] if len(known) else None))
    found = model.novelty(new)
    assert_allclose(found.distances, expected, rtol=1e-9)
    assert_allclose(found.p_values, [oracle.p_value(d, of_training, y) for d in expected])
    assert_array_equal(found.novel, [oracle.is_novel(d, of_training, y) for d in expected])
    assert 0 < found.novel.sum() < len(new)
    assert_allclose(found.usual, np.quantile(np.array(of_training)[y != 1], 0.99))


def test_training_rows_are_compared_with_the_others():
    random = np.random.default_rng(0)
    for _ in range(200):
        n = random.integers(3, 60)
        codes = random.choice([-1, 0, 0, 0, 1], n)
        codes[:2] = 0
        isolation = np.round(random.lognormal(0, 1, n), random.integers(0, 3))
        seen = SeenRows([], np.empty(0), np.empty(0), isolation, codes)
        expected = []
        for place in range(n):
            others = np.delete(np.arange(n), place)
            inliers = isolation[others][codes[others] != 1]
            beyond = isolation[place] > max(4 * seen.usual, inliers.max())
            expected.append(beyond)
        assert_array_equal(seen.novel_training_rows(), expected)


def test_rows_moved_far_outside_are_novel(labelled_rows):
    X, y = labelled_rows
    model = BORE(random_state=0).fit(X, y)
    moved = move(X, X, 200, np.random.default_rng(1))
    found = model.novelty(moved)
    assert found.novel.all()
    assert all("ranges" in words for words in found.outside())
    assert all(words.startswith("novel: ") for words in found.words())
    both = assess(model, prepare(model, moved), explain=True)
    assert_array_equal(both.log_odds, model.decision_function(moved))
    assert_array_equal(both.novelty.distances, found.distances)
    assert_array_equal(both.explanation.contributions, model.explain(moved, True).contributions)
    assert assess(model, prepare(model, moved), novelty=False).novelty is None


def test_p_values_are_valid():
    random = np.random.default_rng(2)
    shares = []
    for _ in range(10):
        X = random.standard_t(3, size=(600, 4))
        train, test = train_test_split(X, test_size=0.5, random_state=0)
        y = (np.arange(300) % 30 == 0).astype(int)
        shares.append(
            np.mean(BORE(KNN, random_state=0).fit(train, y).novelty(test).p_values <= 0.1)
        )
    assert 0.08 < np.mean(shares) < 0.12


def test_ranges():
    X = np.array([[0.0, 5.0, -2.0], [10.0, 5.0, 2.0], [1.0, 5.0, 0.0]])
    X = np.vstack([X, X + np.array([0.5, 0.0, 0.0])])
    model = BORE(OutlierRepresentation([]), random_state=0, n_estimators=2)
    model.fit(X, [0, 1, 0, 0, 1, 0])
    found = model.novelty([[31.5, 5.0, 0.0], [0.0, 4.0, -3.0], [3.0, 5.0, 1.0], [3.0, 6.0, 1e150]])
    assert found.distances is None
    assert found.p_values is None
    assert not found.novel.any()
    inf = np.inf
    expected = [[2, 0, 0], [0, -inf, -0.25], [0, 0, 0], [0, inf, 2.5e149]]
    assert_allclose(found.ranges, expected)
    assert found.outside() == [
        "x0 2 ranges above",
        "x1 below its only value; x2 0.25 ranges below",
        None,
        "x1 above its only value; x2 2.5e+149 ranges above",
    ]


def test_many_columns_outside():
    random = np.random.default_rng(0)
    model = BORE(KNN, random_state=0).fit(random.uniform(size=(60, 6)), np.arange(60) % 20 == 0)
    words = model.novelty([[9.0, -1.0, 0.5, 3.0, 2.0, 5.0]]).outside()[0]
    assert words.split(";")[0].startswith("x0 8.")
    assert words.endswith("; 2 more")


def test_tables_of_copies():
    """Where nearly all rows are copies, a row unlike them is novel and a copy is not."""
    X = np.zeros((200, 2))
    X[:4] = [[1.0, 1.0], [0.0, 1.0], [1.0, 0.9], [1.0, 0.8]]
    model = BORE(KNN, random_state=0).fit(X, np.isin(np.arange(200), [0, 2, 3]))
    found = model.novelty([[0.0, 0.0], [0.5, 0.5], [50.0, 0.0]])
    assert found.novel.tolist() == [False, False, True]
    assert np.isfinite(found.times_usual).all()


@pytest.mark.parametrize("scaling", ["minmax", None])
def test_tables_of_nothing_but_copies(scaling):
    """Distances have no measure there but the range of the columns."""
    X = np.repeat([[1.0, 3.0], [2.0, 5.0]], 30, axis=0)
    y = np.isin(np.arange(60), [30, 31, 40])
    model = BORE(KNN, reference=Reference(input_scaling=scaling), random_state=0).fit(X, y)
    rows = [[1.0, 3.0], [1.000000001, 3.0], [1.5, 4.0], [100.0, 4.0]]
    assert model.novelty(rows).novel.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "views", [["full"], ["sample:64"], ["sample:64", "full"], ["manhattan"], ["cosine"]]
)
def test_model_files_and_budgets(views, labelled_rows, tmp_path):
    X, y = labelled_rows
    representation = OutlierRepresentation(["knn", "lof"], [2, 10], views=views)
    model = BORE(
        representation, random_state=0, selection=ColumnSelection(costs="complexity:shared")
    ).fit(X, y)
    new = move(X, X, 40, np.random.default_rng(3), 2.0)
    for number, fast in enumerate((model, model.within(1000), model.within(6))):
        save(fast, tmp_path / f"{number}.boreod")
        loaded = load(tmp_path / f"{number}.boreod")
        ours, theirs = fast.novelty(new), loaded.novelty(new)
        assert_array_equal(theirs.ranges, ours.ranges)
        assert_array_equal(theirs.novel, ours.novel)
        assert loaded.fitted_.searches == fast.fitted_.searches == (ours.distances is not None)
        if fast.fitted_.searches:
            assert_array_equal(theirs.distances, ours.distances)
            assert_array_equal(theirs.p_values, ours.p_values)
        for rule in ("alerts:20", "fpr:0.05"):
            expected = fast.choose_threshold(rule, novelty=True)
            assert loaded.choose_threshold(rule, novelty=True) == expected


def test_all_columns_are_seen_if_some_view_sees_them(labelled_rows):
    X, y = labelled_rows
    views = ["subspaces:2", "sample:64"]
    representation = OutlierRepresentation(["knn"], [10], views=views, random_state=0)
    model = BORE(representation, random_state=0).fit(X, y)
    assert model.novelty(move(X, X, 100, np.random.default_rng(4))).novel.all()


@pytest.mark.parametrize("alerts", [10, 30])
def test_thresholds_count_novel_rows(labelled_rows, alerts):
    X, y = labelled_rows
    X = X.copy()
    X[:4] = [[40, 0, 0], [0, 60, 0], [0, 0, 80], [90, 90, 0]]  # more isolated than all inliers
    y = y.copy()
    y[:4] = 1
    model = BORE(random_state=0).fit(X, y)
    novel = model.fitted_.seen.novel_training_rows()
    assert novel[:4].sum() == 4
    threshold = model.choose_threshold(f"alerts:{alerts}", novelty=True)
    assert np.sum((model.oob_proba_ > threshold) | novel) == alerts
    assert model.choose_threshold(0.3, novelty=True) == 0.3


def test_distances_beyond_all_measure():
    """Training rows that are nearly copies, and a row at the end of the world."""
    seen = SeenRows(["a"], np.zeros(1), np.ones(1), np.full(50, 1e-300), np.zeros(50, int))
    found = seen.compare(np.array([[1e150]]), np.array([1e150]))
    assert found.words() == ["novel: 1e+300 times the usual distance"]


@pytest.mark.other_parts
def test_dask_collections_are_refused(labelled_rows):
    dask = pytest.importorskip("dask.array")
    X, y = labelled_rows
    model = BORE(KNN, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"`novelty` takes rows of this process.*X\.compute\(\)"):
        model.novelty(dask.from_array(X))
