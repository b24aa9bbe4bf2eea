"""What all scores have in common: invariances, directions, copies, extreme values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod import OutlierRepresentation
from boreod.scores import KDEOS, LDF, SCORES, LoOP

KS = [3, 10, 40]
SCALES_WITH = {"knn": 1, "knnw": 1}  # power of the scale that the score follows
MANY = pytest.mark.parametrize("name", SCORES)


def fit(points, name, **options):
    return OutlierRepresentation([name], KS, passthrough=False, **options).fit(points)


def scores(points, name, **options):
    return OutlierRepresentation([name], KS, passthrough=False, **options).fit_transform(points)


@MANY
def test_order_of_rows_does_not_matter(name, rows):
    order = np.random.default_rng(0).permutation(len(rows))
    assert_allclose(scores(rows[order], name), scores(rows, name)[order], rtol=1e-9)


@MANY
def test_translation_does_not_matter(name, rows):
    moved = np.round(rows, 6) + 16.0
    assert_allclose(scores(moved, name), scores(np.round(rows, 6), name), rtol=1e-6, atol=1e-9)


@MANY
@pytest.mark.parametrize("factor", [2.0**-40, 2.0**60])
def test_scaling(name, factor, rows):
    """A power of two changes no rounding, so only the documented power of it may appear."""
    before, after = scores(rows, name), scores(rows * factor, name)
    if name == "abod":  # a logarithm: the factor is added
        assert_allclose(after, before + 4 * np.log(factor), rtol=1e-9)
    else:
        assert_allclose(after, before * factor ** SCALES_WITH.get(name, 0), rtol=1e-9)


@MANY
def test_far_row_is_outlying(name, rows):
    """By rank only: bounded scores saturate."""
    new = fit(rows, name).transform([[1000.0] * 4])[0]
    inside = np.quantile(scores(rows, name), 0.5, axis=0)
    assert (new >= inside - 1e-12).all()


@MANY
@pytest.mark.parametrize("table", ["rows", "grid"])
@pytest.mark.parametrize("backend", ["brute", "tree"])
def test_training_rows_again(name, table, backend, request):
    """Also with copies: identical rows have identical neighborhoods."""
    points = request.getfixturevalue(table)
    model = OutlierRepresentation([name], KS, passthrough=False, neighbors=backend)
    before, again = model.fit_transform(points), model.transform(points)
    if name == "kdeos" and table == "grid":  # sums over copies, which may come in another order
        assert_allclose(again, before, rtol=1e-12)
    else:
        assert_array_equal(again, before)


@MANY
def test_copies_stay_finite(name):
    random = np.random.default_rng(1)
    points = np.vstack([np.ones((60, 3)), random.normal(size=(30, 3)), np.zeros((45, 3))])
    model = fit(points, name)
    assert np.isfinite(scores(points, name)).all()
    assert np.isfinite(model.transform(random.normal(size=(20, 3)))).all()
    assert np.isfinite(model.transform([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-12]])).all()


@MANY
@pytest.mark.parametrize(
    "points",
    [
        np.full((50, 3), 7.0),
        np.arange(50.0)[:, None],
        np.arange(50.0)[:, None] * np.ones(3) * 1e-130,
        np.vstack([np.zeros((49, 2)), [[1e149, -1e149]]]),
    ],
    ids=["all equal", "one column", "tiny", "huge"],
)
def test_odd_tables_stay_finite(name, points):
    model = fit(points, name)
    assert np.isfinite(scores(points, name)).all()
    assert np.isfinite(model.transform(points[:3] + 0.5)).all()


@MANY
@pytest.mark.parametrize("table", ["rows", "grid"])
def test_all_ks_at_once_equal_one_k_at_a_time(name, table, request):
    points = request.getfixturevalue(table)
    ks = [k for k in (1, 2, 3, 4, 7, 10, 11, 30, 60) if k >= SCORES[name].min_k]
    together = OutlierRepresentation([name], ks, passthrough=False).fit_transform(points)
    for place, k in enumerate(ks):
        alone = OutlierRepresentation([name], [k], passthrough=False).fit_transform(points)
        assert_allclose(together[:, place], alone[:, 0], rtol=1e-12, atol=1e-14)


@MANY
def test_block_of_one(name, rows):
    new = np.random.default_rng(2).normal(1, 3, (40, 4))
    model = fit(rows, name)
    one_by_one = np.vstack([model.transform(row[None]) for row in new])
    assert_array_equal(one_by_one, model.transform(new))


@MANY
def test_very_far_row_beside_a_very_small_table(name):
    points = np.random.default_rng(0).normal(size=(60, 4)) * 1e-10
    far = np.full((1, 4), 1e150)
    assert np.isfinite(fit(points, name).transform(far)).all()
    together = scores(np.vstack([points, far]), name)
    assert np.isfinite(together).all()
    if name not in ("kdeos", "abod", "odin"):  # saturated
        assert (together[-1] >= together.max(axis=0)).all()


@MANY
@pytest.mark.parametrize("tiny", [5e-324, 1e-300])
def test_rows_that_are_almost_copies(name, tiny):
    """Distances by manhattan may be so small that their inverse is not finite."""
    random = np.random.default_rng(4)
    points = np.vstack([random.normal(size=(4, 2)), random.integers(-2, 3, (90, 2)) * tiny])
    model = OutlierRepresentation([name], KS, ["manhattan"], passthrough=False).fit(points)
    assert np.isfinite(model.transform(points)).all()
    assert np.isfinite(model.transform([[tiny, 0.0], [0.5, tiny], [1e150, 1.0]])).all()


@MANY
def test_many_columns(name):
    points = np.random.default_rng(3).normal(size=(120, 300)) * 1e5
    assert np.isfinite(scores(points, name)).all()


@MANY
def test_metadata(name):
    score = SCORES[name]
    assert score.name == name
    assert score.reads in ("distances", "reverse", "geometry")
    for text in (score.title, score.citation, score.formula, score.__doc__):
        assert text
    assert score() == score()
    assert hash(score()) == hash(score())
    assert type(score()).__name__ in repr(score())


def test_in_degrees_add_up_to_the_entries_of_all_lists(rows):
    assert_allclose(scores(rows, "odin").mean(axis=0), -1.0)


@pytest.mark.parametrize(
    ("score", "parameters"),
    [
        (LoOP, {"extent": -1}),
        (LDF, {"bandwidth": 0}),
        (LDF, {"smoothing": None}),
        (KDEOS, {"dimension": float("nan")}),
        (KDEOS, {"scale": "1"}),
        (KDEOS, {"scale": 1e308}),
        (LoOP, {"extent": 5e-324}),
    ],
)
def test_wrong_parameters_of_scores(score, parameters):
    with pytest.raises(ValueError, match=r"must be a number from 1e-100 to 1e\+100; got"):
        score(**parameters)
