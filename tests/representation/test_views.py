"""Views: subspaces, reference samples, metrics, and what is wrong with some of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod import OutlierRepresentation, View


def fit(rows, views, **options):
    options = {"scores": ["knn", "lof"], "ks": [5], "passthrough": False, **options}
    return OutlierRepresentation(views=views, **options).fit(rows)


def spaces(model):
    return [view.space for view in model.fitted_columns_.views]


def test_names(rows):
    model = fit(rows, ["full", "subspaces:2", "sample:50", "manhattan"])
    assert model.columns_ == [
        *("knn_5", "lof_5", "knn_5@s00", "lof_5@s00", "knn_5@s01", "lof_5@s01"),
        *("knn_5@r50", "lof_5@r50", "knn_5@manhattan", "lof_5@manhattan"),
    ]
    assert fit(rows, ["subspaces:101"]).columns_[0] == "knn_5@s000"


def test_sizes_of_subspaces():
    rows = np.random.default_rng(0).normal(size=(30, 7))
    sizes = [len(space.columns) for space in spaces(fit(rows, ["subspaces:200"], random_state=0))]
    assert set(sizes) == {3, 4, 5, 6}
    for space in spaces(fit(rows, ["subspaces:20"])):
        assert len(set(space.columns.tolist())) == len(space.columns)
    assert {len(s.columns) for s in spaces(fit(rows[:, :2], ["subspaces:9"]))} == {1}


def test_subspace_equals_a_table_of_its_columns(rows):
    model = fit(rows, [View("some", columns=(3, 0))])
    alone = fit(rows[:, [3, 0]], ["full"])
    assert_array_equal(model.transform(rows), alone.transform(rows[:, [3, 0]]))
    assert_array_equal(model.transform(rows + 0.1), alone.transform(rows[:, [3, 0]] + 0.1))


def test_sample_equals_a_table_of_its_rows(rows):
    model = fit(rows, ["sample:60"], random_state=1)
    (space,) = spaces(model)
    assert len(space.rows) == 60
    alone = fit(rows[space.rows], ["full"])
    assert_array_equal(model.transform(rows), alone.transform(rows))
    table = OutlierRepresentation(
        ["knn", "lof"], [5], ["sample:60"], passthrough=False, random_state=1
    ).fit_transform(rows)
    assert_array_equal(table, alone.transform(rows))


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_metrics(metric, rows):
    from scipy.spatial.distance import cdist

    distances = cdist(rows, rows, {"manhattan": "cityblock"}.get(metric, metric))
    expected = np.sort(distances, axis=1)[:, 5]
    model = fit(rows, [metric], scores=["knn"])
    np.testing.assert_allclose(model.transform(rows)[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_all_scores_in_other_metrics(metric, rows):
    model = OutlierRepresentation(views=[metric])
    table = model.fit_transform(rows)
    assert table.shape[1] == 4 + 129
    assert np.isfinite(table).all()
    assert_array_equal(model.transform(rows), table)
    assert np.isfinite(model.transform(rows * 0)).all()


def test_column_names_in_views(rows):
    import pandas as pd

    table = pd.DataFrame(rows, columns=list("abcd"))
    model = fit(table, [View("ends", columns=("a", "d"))])
    assert spaces(model)[0].columns.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (["subspace:3"], "got 'subspace:3'"),
        (["subspaces:0"], "got 'subspaces:0'"),
        (["sample:x"], "got 'sample:x'"),
        (["sample:500"], "2 to 150 rows"),
        (["full", "full"], "twice"),
        ([3], "got 3 in it"),
        (7, "must be a list"),
        ([View("a", columns=(9,))], "does not have: 9"),
        ([View("a", columns=("z",))], "does not have: 'z'"),
        ([View("a", columns=())], "at least one column"),
        ([View("a", columns=(1, 1))], "each once"),
        ([View("a", metric="hamming")], "hamming"),
        ([View("a@b")], "must not contain '@'"),
        ([View(5)], "must be a text; got 5"),
        ([View(columns=(0, 1))], "needs a name"),
        ([View("a", columns=1)], "must be a list of names or positions; got 1"),
        ([View("a", columns=(1.5,))], "does not have: 1.5"),
        ([View("a", columns=(True,))], "does not have: True"),
        ([View("a", sample=20.5)], "got 20.5"),
        ([View("a", metric=["x"])], "must be one of"),
    ],
)
def test_wrong_views(views, message, rows):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(rows, views)


def test_subspaces_of_one_column():
    with pytest.raises(ValueError, match="at least 2 columns"):
        fit(np.arange(20.0)[:, None], ["subspaces:3"])
