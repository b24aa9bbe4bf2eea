"""The fast solver that SSAD is tuned with, held against the exact one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod.baselines import ssad_rough, ssad_tuning
from boreod.baselines.kernels import Dense, Landmarks, gaussian, squared_distances
from boreod.baselines.pairwise import KINDS, MIXED
from boreod.baselines.ssad import SSAD
from boreod.baselines.ssad_dual import solve_ssad
from boreod.baselines.ssad_problem import Problem, most_labelled
from boreod.baselines.ssad_rough import solve_roughly, sort_by_kind
from boreod.baselines.ssad_sample import sample_rows
from boreod.metrics import auc

NEW = np.random.default_rng(9).normal(size=(400, 2)) + 1.5 * (np.arange(400) % 4 == 0)[:, None]


def cloud(counts, seed):
    """Inliers and unlabelled rows in one cloud, outliers in another that overlaps."""
    codes = np.repeat([-1, 0, 1], counts)
    points = np.random.default_rng(seed).normal(size=(len(codes), 2))
    return points + 1.5 * (codes == 1)[:, np.newaxis], codes


def problem(points, codes, caps, share, sigma):
    """Ask for a share of the largest kappa."""
    gram = Dense(gaussian(squared_distances(points, points), sigma))
    most = most_labelled(*(caps[codes == code].sum() for code in (-1, 0, 1)))
    return Problem(gram, codes, caps, share * most)


def assert_feasible(task, weights):
    assert_allclose(task.signs @ weights, 1.0, atol=1e-9)
    assert weights[task.codes != -1].sum() >= task.kappa - 1e-9
    assert (weights >= 0).all()
    assert (weights <= task.caps).all()


def value(task, weights):
    signed = task.signs * weights
    return 0.5 * signed @ task.gram.times(signed)


def test_mixed_directions_keep_both_sums():
    effects = np.array([[1, 0], [1, 1], [-1, 1], [0, -1]])  # of each kind, and of the surplus
    assert_array_equal(MIXED @ effects, 0.0)
    assert len({tuple(np.flatnonzero(direction)) for direction in MIXED}) == len(MIXED) / 2
    assert len(ssad_rough.KINDS) == KINDS


COUNTS = {
    "all kinds": (90, 50, 20),
    "all labelled": (0, 90, 20),
    "no inliers": (90, 0, 20),
    "no outliers": (90, 30, 0),
    "only inliers": (0, 60, 0),
    "few labelled": (200, 3, 2),
    "mostly outliers": (5, 6, 60),
}


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("kinds", COUNTS)
def test_equals_the_exact_solver(kinds, share, sigma):
    points, codes = cloud(COUNTS[kinds], seed=1)
    caps = np.random.default_rng(2).uniform(0.2, 1.5, size=len(codes))
    task = problem(points, codes, caps, share, sigma)
    weights, exact = solve_roughly(task), solve_ssad(task, 1e-8)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -exact.dual, rtol=1e-3)
    if sigma >= 0.4:  # below, most of NEW is so far from all rows that only dust ranks it
        similar = gaussian(squared_distances(NEW, points), sigma)
        both = similar @ (task.signs * np.array([weights, exact.weights])).T
        ranked = auc(np.arange(400) % 4 == 0, -both)
        assert_allclose(ranked[0], ranked[1], atol=0.01)


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    random = np.random.default_rng(seed)
    points, codes = cloud(random.integers([0, 8, 3], [150, 80, 40]), seed)
    caps = random.choice([0.25, 0.6, 1.0, 10.0], size=3)[codes + 1]
    caps = caps * random.uniform(0.5, 1.5, size=len(codes))
    share = random.choice([0.0, 0.05, 0.3, 0.8, 0.99, 1.0])
    task = problem(points, codes, caps, share, sigma=10 ** random.uniform(-2, 0.7))
    weights = solve_roughly(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -solve_ssad(task, 1e-8).dual, rtol=1e-3)


@pytest.mark.parametrize("shares", [(0.02, 0.1, 0.4, 1.0), (1.0, 0.4, 0.1, 0.02)])
@pytest.mark.parametrize("kinds", COUNTS)
def test_a_start_does_not_change_the_optimum(kinds, shares):
    points, codes = cloud(COUNTS[kinds], seed=4)
    weights = None
    for share in shares:
        task = problem(points, codes, np.ones(len(codes)), share, sigma=1.0)
        weights = solve_roughly(task, weights)
        assert_feasible(task, weights)
        assert_allclose(value(task, weights), value(task, solve_roughly(task)), rtol=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_rows_without_cap_take_no_part(share):
    points, codes = cloud((60, 40, 20), seed=5)
    inside = np.arange(len(codes)) % 5 > 0
    part = problem(points[inside], codes[inside], np.full(inside.sum(), 0.7), share, 0.8)
    gram = Dense(gaussian(squared_distances(points, points), 0.8))
    weights = solve_roughly(Problem(gram, codes, np.where(inside, 0.7, 0.0), part.kappa))
    assert_array_equal(weights[~inside], 0.0)
    assert_feasible(part, weights[inside])
    assert_allclose(value(part, weights[inside]), -solve_ssad(part).dual, rtol=1e-3)


def test_same_result_twice():
    points, codes = cloud((300, 100, 40), seed=6)
    task = problem(points, codes, np.ones(len(codes)), 0.1, sigma=2.0)
    assert_array_equal(solve_roughly(task), solve_roughly(task))


@pytest.mark.parametrize("matrix", [np.ones((6, 6)), np.eye(6)], ids=["copies", "far apart"])
def test_extreme_kernels(matrix):
    task = Problem(Dense(matrix), np.array([-1, -1, 0, 0, 1, 1]), np.ones(6), 1.5)
    weights = solve_roughly(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -solve_ssad(task).dual, rtol=1e-3)


def test_few_rounds_hand_over_to_the_exact_solver(monkeypatch):
    monkeypatch.setattr(ssad_rough, "ROUNDS", 0)
    points, codes = cloud((60, 40, 20), seed=7)
    caps = np.where(np.arange(120) % 7 == 0, 0.0, 1.0)
    task = problem(points, codes, caps, 0.3, sigma=1.0)
    weights = solve_roughly(task)
    assert_array_equal(weights[caps == 0.0], 0.0)
    assert_allclose(task.signs @ weights, 1.0, atol=1e-3)


def test_steps_on_few_rows_lead_to_the_same_optimum(monkeypatch):
    monkeypatch.setattr(ssad_rough, "MORE_ROWS", 3)
    monkeypatch.setattr(ssad_rough, "STEPS_ON_ALL", 1)
    monkeypatch.setattr(ssad_rough, "ROUNDS", 100)
    points, codes = cloud((300, 100, 40), seed=8)
    task = problem(points, codes, np.ones(len(codes)), 0.02, sigma=1.5)
    weights = solve_roughly(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -solve_ssad(task).dual, rtol=1e-3)


def test_needs_a_dense_matrix_and_a_feasible_kappa():
    points, codes = cloud((6, 5, 4), seed=0)
    squared = squared_distances(points, points)
    narrow = Landmarks(squared, 1.0).gram(squared)
    with pytest.raises(TypeError, match="dense Gram matrix; got Narrow"):
        solve_roughly(Problem(narrow, codes, np.ones(15), 1.0))
    with pytest.raises(ValueError, match="reach at most"):
        solve_roughly(Problem(Dense(gaussian(squared, 1.0)), codes, np.ones(15), 99.0))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((400, 500, 60), (400, 500, 60)),  # all
        ((2000, 3000, 50), (380, 570, 50)),  # in proportion
        ((0, 3000, 2000), (0, 500, 500)),  # outliers are at most half
        ((30000, 400, 50), (650, 300, 50)),  # inliers to judge by
        ((30000, 40, 50), (910, 40, 50)),
        ((0, 200, 3000), (0, 200, 500)),
    ],
)
def test_sample(counts, expected):
    codes = np.random.default_rng(0).permutation(np.repeat([-1, 0, 1], counts))
    caps = np.where(codes == -1, 0.1, 2.0)
    rows, grown = sample_rows(codes, caps, 1000, seed=3)
    assert (np.diff(rows) > 0).all()
    for code, count in zip((-1, 0, 1), expected, strict=True):
        assert (codes[rows] == code).sum() == count
        assert_allclose(grown[codes[rows] == code].sum(), caps[codes == code].sum())
    assert_array_equal(sample_rows(codes, caps, 1000, seed=3)[0], rows)


def test_kinds_are_sorted_and_keep_their_order():
    codes = np.array([1, -1, 0, 0, -1, 1])
    assert sort_by_kind(codes).tolist() == [1, 4, 2, 3, 0, 5]


@pytest.mark.parametrize("landmarks", [None, 50])
@pytest.mark.parametrize("unlabelled", [0, 300])
def test_tuning_above_the_limit_of_rows(monkeypatch, landmarks, unlabelled):
    points, codes = cloud((unlabelled, 200, 40), seed=2)
    model = SSAD("cv", sigma="cv", landmarks=landmarks, random_state=0)
    every = model.fit(points, codes).cv_results_
    seen = []
    monkeypatch.setattr(ssad_tuning, "TUNING_ROWS", 150)
    monkeypatch.setattr(
        ssad_tuning, "gaussian", lambda *given: seen.append(given[0].shape) or gaussian(*given)
    )
    some = model.fit(points, codes).cv_results_
    assert seen == [(150, 150)] * 7
    assert set(some["kappa"]) == set(every["kappa"])
    assert some["auc"][0] > every["auc"][0] - 0.1
    assert auc(np.arange(400) % 4 == 0, model.decision_function(NEW)) > 0.8
    again = SSAD("cv", sigma="cv", landmarks=landmarks, random_state=0, n_jobs=1)
    assert_array_equal(again.fit(points, codes).cv_results_["auc"], some["auc"])


def test_a_small_price_of_many_rows_stays_feasible_in_a_sample(monkeypatch):
    monkeypatch.setattr(ssad_tuning, "TUNING_ROWS", 100)
    points, codes = cloud((900, 30, 10), seed=2)
    model = SSAD(0.0, weight_unlabelled=1 / 450, sigma="cv", weight_labelled=1e-3, random_state=0)
    assert len(model.fit(points, codes).cv_results_["auc"]) == 7
