"""Few labels: the rows, splits and labels of the protocol, and methods that follow it."""

import numpy as np
import pytest
from few_labels import draw_few_labels, run_with_few_labels, takes_part
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from boreod import BORE, Detector
from boreod.paper.datasets import load
from boreod.paper.evaluation.methods import METHODS, PEERS, TreeBags

SHARES = (0.0, 0.05, 0.25, 1.0)
WINE = load("wine")
pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries, and of k beyond few rows


def make_set(n_rows, n_outliers=60):
    """Return rows whose first column is their number, the second constant."""
    points = np.column_stack([np.arange(n_rows, dtype=float), np.full(n_rows, 7.0)])
    codes = np.zeros(n_rows, dtype=np.int8)
    codes[:: n_rows // n_outliers][:n_outliers] = 1
    return points, codes


@pytest.mark.parametrize("n_rows", [300, 6000])
@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("share", SHARES)
def test_rows_and_labels_are_those_of_the_protocol(share, seed, n_rows):
    """Derived here step by step, with the splitter that draws without shuffling twice."""
    points, codes = make_set(n_rows)
    kept = np.arange(n_rows)
    if n_rows > 5000:
        sampler = StratifiedShuffleSplit(1, train_size=5000, random_state=seed)
        kept = next(sampler.split(points, codes))[0]
    splitter = StratifiedShuffleSplit(1, test_size=0.4, random_state=seed)
    train, test = next(splitter.split(kept, codes[kept]))
    places = [place for place in range(len(train)) if codes[kept[train[place]]] == 1]
    number = {0.0: 0, 0.05: 2, 0.25: round(len(places) / 4), 1.0: len(places)}[share]
    order = np.random.default_rng(1000 * seed + round(1000 * share)).permutation(places)
    expected = np.zeros(len(train), dtype=int)
    expected[order[:number]] = 1

    task = draw_few_labels(points, codes, share, seed)
    np.testing.assert_array_equal(task.labels, expected)
    first, last = kept.min(), kept.max()
    np.testing.assert_array_equal(task.rows[:, 0], (kept[train] - first) / (last - first))
    np.testing.assert_array_equal(task.new_rows[:, 0], (kept[test] - first) / (last - first))
    assert not task.rows[:, 1].any()  # constant columns are 0
    np.testing.assert_array_equal(task.outliers, codes[kept[test]] == 1)
    assert len(task.rows) + len(task.new_rows) == min(n_rows, 5000)


def test_at_least_two_outliers_are_labelled():
    points, codes = make_set(100, n_outliers=5)
    found = [int(draw_few_labels(points, codes, share, 0).labels.sum()) for share in SHARES]
    assert found == [0, 2, 2, 3]


@pytest.mark.parametrize("name", PEERS)
def test_every_method_is_judged_on_new_rows(name):
    if not METHODS[name].is_installed:
        pytest.skip(f"{' and '.join(METHODS[name].needs)} is not installed")
    found = run_with_few_labels(WINE.X, WINE.y, name, 1.0, 0)
    assert found["auc"] > 0.8
    assert found["took"] > 0.0
    assert ("brier" in found) == (name in ("detector", "bore", "catboost", "xgboost"))


def test_measures_are_those_of_the_probabilities():
    task = draw_few_labels(WINE.X, WINE.y, 0.25, seed=1)
    model = BORE(random_state=1).fit(task.rows, task.labels)
    scores = model.predict_proba(task.new_rows)[:, 1]
    found = run_with_few_labels(WINE.X, WINE.y, "bore", 0.25, 1)
    assert found["average_precision"] == pytest.approx(
        average_precision_score(task.outliers, scores)
    )
    assert found["auc"] == pytest.approx(roc_auc_score(task.outliers, scores))
    assert found["brier"] == pytest.approx(np.mean((scores - task.outliers) ** 2))


@pytest.mark.parametrize("name", ["iforest", "knn"])
def test_methods_without_labels_look_at_none(name):
    found = [run_with_few_labels(WINE.X, WINE.y, name, share, 0) for share in (0.0, 1.0)]
    assert found[0]["average_precision"] == found[1]["average_precision"]


@pytest.mark.parametrize(("n_outliers", "rows"), [(2, 1 + 50), (10, 7 + 70), (40, 28 + 200)])
def test_bags_have_ten_inliers_an_outlier(n_outliers, rows):
    labels = np.repeat([0, 1], [200, n_outliers])
    points = np.random.default_rng(0).normal(size=(len(labels), 3))
    model = TreeBags(0, n_bags=3, n_trees=2).fit(points, labels)
    again = TreeBags(0, n_bags=3, n_trees=2).fit(points, labels)
    np.testing.assert_array_equal(model.decision_function(points), again.decision_function(points))
    forests = model._forests
    assert len(forests) == 3
    for forest in forests:
        assert [tree.tree_.n_node_samples[0] for tree in forest.estimators_] == [rows] * 2
        # balanced weights: both classes weigh the same at the root
        np.testing.assert_allclose(forest.estimators_[0].tree_.value[0], [[0.5, 0.5]])


def test_without_labels_only_those_that_need_none_take_part():
    assert isinstance(METHODS["detector"].make(None, 0), Detector)
    assert [name for name in PEERS if not takes_part(name, 0.05)] == ["knn"]
    assert [name for name in PEERS if takes_part(name, 0.0)] == ["detector", "iforest", "knn"]
