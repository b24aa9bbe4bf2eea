"""Every method gets the same rows and no more labels than it says."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from boreod.metrics import auc
from boreod.paper.datasets import load
from boreod.paper.evaluation import Plan, compare_methods
from boreod.paper.evaluation.methods import METHODS, PAPER, PEERS, _peer
from boreod.paper.evaluation.splits import MEASURES, RATES, run_method, split_rows

WINE = load("wine")
# kNN takes columns as they are, so that it needs the scaled ones of the protocol with few labels.
LABELLED = [name for name, method in METHODS.items() if method.group != "unlabelled"]
pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries, and of k beyond few rows


@pytest.mark.parametrize("protocol", ["transductive", "unseen"])
@pytest.mark.parametrize("name", LABELLED)
def test_every_method_runs_and_repeats(name, protocol):
    if not METHODS[name].is_installed:
        pytest.skip(f"{' and '.join(METHODS[name].needs)} is not installed")
    found = run_method(WINE.X, WINE.y, name, 0, protocol)
    assert all(0.0 <= found[measure] <= 1.0 for measure in MEASURES)
    assert found["auc"] > 0.5
    curve = np.array(found["roc"])
    assert len(curve) == len(RATES)
    assert (np.diff(curve) >= 0).all()
    again = run_method(WINE.X, WINE.y, name, 0, protocol)
    assert {key: found[key] for key in MEASURES} == {key: again[key] for key in MEASURES}


@pytest.mark.parametrize("name", [name for name in LABELLED if name != "best"])
def test_labels_of_judged_rows_do_not_matter(name, monkeypatch):
    """Swapped labels in the test part change the verdict, not the scores."""
    if not METHODS[name].is_installed:
        pytest.skip(f"{' and '.join(METHODS[name].needs)} is not installed")
    seen = []
    monkeypatch.setattr(
        "boreod.paper.evaluation.splits.judge", lambda y_true, y_score: seen.append(y_score) or {}
    )
    test = split_rows(WINE.y, 0, "transductive").test
    monkeypatch.setattr(
        "boreod.paper.evaluation.splits.split_rows",
        lambda codes, *rest, original=split_rows: original(WINE.y, *rest),
    )
    swapped = WINE.y.copy()
    swapped[test] = 1 - swapped[test]
    for codes in (WINE.y, swapped):
        run_method(WINE.X, codes, name, 0, "transductive")
    np.testing.assert_array_equal(seen[0], seen[1])


def test_the_oracle_is_the_best_single_score():
    from boreod import OutlierRepresentation

    columns = OutlierRepresentation(["knn", "lof"], ks=[5, 10])
    found = run_method(WINE.X, WINE.y, "best", 0, "transductive", representation=columns)
    test = split_rows(WINE.y, 0, "transductive").test
    points = (WINE.X - WINE.X.min(axis=0)) / np.ptp(WINE.X, axis=0)
    scores = columns.set_params(passthrough=False).fit_transform(points)[test]
    assert found["auc"] == pytest.approx(auc(WINE.y[test] == 1, scores).max(), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("svm", ValueError, r"Methods are detector, best, mean, .*; got 'svm'"),
        ("xgboost", ImportError, r"pip install boreod\[peers\]"),
    ],
)
def test_unknown_and_missing_methods(monkeypatch, name, error, message):
    monkeypatch.setattr("boreod.paper.evaluation.methods.find_spec", lambda name: None)
    with pytest.raises(error, match=message):
        compare_methods(WINE.X, WINE.y, Plan([name]))


def test_classifiers_of_other_libraries_learn_from_labelled_rows():
    from sklearn.ensemble import RandomForestClassifier

    make = _peer("sklearn.ensemble", "RandomForestClassifier", n_jobs=1)
    partly = np.where(np.arange(len(WINE.y)) % 3, WINE.y, -1)
    labelled = partly >= 0
    expected = RandomForestClassifier(random_state=3).fit(WINE.X[labelled], partly[labelled])
    ours = make(None, 3).fit(WINE.X, partly).decision_function(WINE.X)
    np.testing.assert_array_equal(ours, expected.predict_proba(WINE.X)[:, 1])


def test_one_registry_serves_all_comparisons():
    assert set(PEERS) | set(PAPER) == set(METHODS)
    assert set(PEERS) & set(PAPER) == {"bore"}


def test_catboost_has_its_own_defaults(monkeypatch):
    """No number of iterations is passed, so that CatBoost takes 1000."""
    seen = {}
    module = SimpleNamespace(CatBoostClassifier=lambda **options: seen.update(options))
    monkeypatch.setitem(sys.modules, "catboost", module)
    METHODS["catboost"].make(None, 7)
    assert seen == {
        "random_seed": 7,
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
    }
