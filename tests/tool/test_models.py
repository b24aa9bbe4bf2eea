"""What a fitted detector says about itself: method, heads, assumptions."""

import numpy as np
import pytest

from boreod import BORE, Detector, Heads
from boreod.tool import fit_table
from boreod.tool.models import list_assumptions, list_heads, name_method, ranks_only

SMALL = {"n_estimators": 20, "heads": Heads(n_trees=3), "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [12, 188])
    return random.normal(3.0 * y[:, None], 1.0, size=(200, 3)), y


@pytest.mark.parametrize(("name", "kind"), [("Detector", Detector), ("BORE", BORE)])
def test_methods_have_names(name, kind):
    assert name_method(kind()) == name
    with pytest.raises(ValueError, match="`method` must be one of"):
        fit_table("table.csv", method="lof")


def test_everything_is_labelled(table):
    model = Detector(**SMALL | {"n_estimators": 30}).fit(*table)
    heads = list_heads(model)
    weights = [head.weight for head in heads]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    trees = {head.kind: head.trees for head in heads}
    assert trees["logistic"] == 0
    assert trees["trees"] == trees["trees+scores"] == 90
    assert list_assumptions(model) == []
    assert not ranks_only(model.oob_)


def test_only_some_outliers_are_labelled(table):
    X, y = table
    few = np.where((y == 1) & (np.arange(200) < 6), 1, -1)
    model = Detector(**SMALL | {"heads": Heads(kinds="trees", n_trees=3)}, prior=0.05).fit(X, few)
    text = " ".join(list_assumptions(model))
    assert "(0), so 194 unlabelled rows count as inliers, too." in text
    assert "would be labelled an outlier" in text
    assert "lower bound" in text
    assert "tables with 5 % outliers" in text
    left_out = model.oob_.left_out
    assert ("left out of the bags" in text) == (left_out > 0)


def test_suspicious_rows_are_counted(table):
    random = np.random.default_rng(1)
    X = np.vstack([random.normal(size=(400, 2)), random.normal(8, 1, size=(40, 2))])
    y = np.where(np.arange(440) >= 437, 1, -1)
    model = Detector(**SMALL | {"heads": Heads(kinds="trees", n_trees=3)}).fit(X, y)
    assert model.oob_.left_out > 10
    assert f"{model.oob_.left_out} suspicious rows" in " ".join(list_assumptions(model))


def test_nothing_is_labelled(table):
    model = Detector(**SMALL).fit(table[0])
    assert ranks_only(model.oob_)
    sentences = list_assumptions(model)
    assert sentences[0] == "No row is labelled: rows are ranked by a consensus of scores."
    assert not any("count as inliers" in sentence for sentence in sentences)
    assert {head.kind for head in list_heads(model)} == {"consensus", "trees"}


def test_the_printed_method_assumes_nothing(table):
    X, y = table
    model = BORE(**SMALL).fit(X, np.where(np.arange(200) % 3 == 0, -1, y))
    assert list_assumptions(model) == []
    assert list_heads(model) == [("logistic", 1.0, 0)]
