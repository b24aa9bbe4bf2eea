"""SSAD's dual problem: optimality, feasibility, a slow oracle, other machines, few digits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.svm import OneClassSVM

from boreod.metrics import auc
from boreod.paper.baselines.ssad import gaussian
from boreod.paper.baselines.ssad_solver import DIRECTIONS, Problem, most_labelled, solve
from boreod.paper.baselines.ssad_solver import minimize as descend

NEW = np.random.default_rng(9).normal(size=(400, 2)) + 1.5 * (np.arange(400) % 4 == 0)[:, None]


def problem(n_unlabelled, n_inliers, n_outliers, kappa, prices=(1.0, 1.0), sigma=1.0, seed=0):
    """Inliers and unlabelled rows in one cloud, outliers in another that overlaps."""
    random = np.random.default_rng(seed)
    codes = np.repeat([-1, 0, 1], [n_unlabelled, n_inliers, n_outliers])
    points = random.normal(size=(len(codes), 2)) + 1.5 * (codes == 1)[:, np.newaxis]
    gram = gaussian(cdist(points, points, "sqeuclidean"), sigma)
    return Problem(gram, codes, np.where(codes == -1, *prices).astype(float), kappa)


def linear_problem():
    """The setting of the check value: a linear kernel, so f = <w, x>."""
    random = np.random.default_rng(3)
    codes = np.repeat([-1, 0, 1], [30, 4, 5])
    points = random.normal(1.5, 1.0, size=(39, 3)) - 2.0 * (codes == 1)[:, np.newaxis]
    caps = np.where(codes == -1, 0.08, 0.5)
    return Problem(points @ points.T, codes, caps, 1.0)


def residuals(task, solution):
    """Return how far a solution is from each of the conditions of Karush, Kuhn and Tucker."""
    weights, labelled = solution.weights, task.codes != -1
    slope = task.signs * (solution.outputs - solution.rho) - solution.gamma * labelled
    size = np.abs(solution.outputs).max()
    surplus = weights[labelled].sum() - task.kappa
    return {
        "sum": abs(weights @ task.signs - 1),
        "labelled": max(0.0, -surplus),
        "limits": max(0.0, -weights.min(), (weights - task.caps).max()),
        "gamma": max(0.0, -solution.gamma) / size,
        "low": (weights * np.maximum(0, slope)).sum() / size,
        "high": ((task.caps - weights) * np.maximum(0, -slope)).sum() / size,
        "margin": abs(solution.gamma * surplus) / size,
    }


def test_check_value_of_the_linear_kernel():
    task = linear_problem()
    solution = solve(task)
    assert abs(solution.primal - solution.dual) < 1e-9
    assert solution.gamma > 0
    assert_allclose(solution.weights[task.codes != -1].sum(), task.kappa, atol=1e-9)
    free = (solution.weights > 1e-6) & (solution.weights < task.caps - 1e-6)
    levels = {-1: solution.rho, 0: solution.rho + solution.gamma, 1: solution.rho - solution.gamma}
    for code, level in levels.items():
        found = solution.outputs[free & (task.codes == code)]
        assert len(found) > 0
        assert_allclose(found, level, atol=1e-6)


SETTINGS = {
    "all kinds": (60, 20, 8, 1.0, (0.1, 0.5), 1.0),
    "all labelled": (0, 80, 9, 5.0, (1.0, 1.0), 1.0),
    "all labelled, no margin": (0, 80, 9, 0.5, (1.0, 1.0), 1.0),
    "tiny width": (60, 20, 8, 3.0, (1.0, 1.0), 0.005),
    "huge width": (60, 20, 8, 3.0, (0.2, 1.0), 300.0),
    "outliers and unlabelled": (60, 0, 8, 2.0, (0.2, 1.0), 1.0),
    "inliers and unlabelled": (60, 20, 0, 0.4, (0.2, 1.0), 1.0),
    "only inliers": (0, 50, 0, 1.0, (1.0, 0.1), 1.0),
    "tight: inliers choose": (60, 20, 0, 1.0, (0.2, 1.0), 1.0),
    "tight: inliers choose beside outliers": (10, 20, 3, 7.0, (0.2, 1.0), 1.0),
    "tight: unlabelled choose": (60, 3, 4, 7.0, (1.0, 1.0), 1.0),
    "tight: outliers choose": (2, 3, 9, 7.0, (1.0, 1.0), 1.0),
    "tight: one labelled inlier": (30, 1, 0, 1.0, (1.0, 1.0), 1.0),
    "tight: nobody chooses": (0, 4, 3, 7.0, (1.0, 1.0), 1.0),
    "weights just reach 1": (20, 0, 3, 0.0, (0.05, 1.0), 1.0),
    "many rows": (900, 200, 40, 6.0, (0.01, 0.5), 0.5),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_conditions_of_an_optimum(name):
    task = problem(*SETTINGS[name])
    solution = solve(task)
    assert solution.gap < 1e-7
    for condition, residual in residuals(task, solution).items():
        assert residual < 1e-6, condition


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    random = np.random.default_rng(seed)
    counts = random.integers([0, 8, 3], [60, 30, 20])
    prices = random.choice([0.25, 0.6, 1.0, 10.0], size=2)
    most = most_labelled(*counts * prices[[0, 1, 1]])
    kappa = most * random.choice([0.0, 0.2, 0.7, 0.99, 1.0])
    task = problem(*counts, kappa, prices, sigma=10 ** random.uniform(-2, 1.5), seed=seed)
    solution = solve(task)
    assert solution.gap < 1e-6
    assert max(residuals(task, solution).values()) < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_equals_a_general_solver(seed):
    task = problem(5, 4, 3, kappa=1.5, prices=(0.5, 0.8), sigma=0.8, seed=seed)
    signed = task.kernel * np.outer(task.signs, task.signs)
    labelled = (task.codes != -1).astype(float)
    oracle = minimize(
        lambda a: 0.5 * a @ signed @ a,
        np.full(12, 0.2),
        jac=lambda a: signed @ a,
        bounds=[(0, cap) for cap in task.caps],
        constraints=[
            {"type": "eq", "fun": lambda a: task.signs @ a - 1, "jac": lambda a: task.signs},
            {"type": "ineq", "fun": lambda a: labelled @ a - 1.5, "jac": lambda a: labelled},
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    solution = solve(task)
    assert_allclose(-solution.dual, oracle.fun, rtol=1e-6)
    assert_allclose(solution.weights, oracle.x, atol=2e-4)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_without_labels_it_is_the_one_class_machine(nu):
    random = np.random.default_rng(1)
    points, new = random.normal(size=(120, 3)), random.normal(size=(200, 3)) * 2
    width = 1.3
    caps = np.full(120, 1 / (nu * 120))
    gram = gaussian(cdist(points, points, "sqeuclidean"), width)
    solution = solve(Problem(gram, np.full(120, -1), caps, 0.0))
    ours = gaussian(cdist(new, points, "sqeuclidean"), width) @ solution.weights - solution.rho
    machine = OneClassSVM(nu=nu, gamma=1 / (2 * width**2), tol=1e-10).fit(points)
    assert_allclose(ours * nu * 120, machine.decision_function(new), atol=1e-5)


def test_copies_with_different_labels():
    gram = np.ones((6, 6))
    solution = solve(Problem(gram, np.array([0, 0, 1, 1, -1, -1]), np.ones(6), 1.5))
    assert solution.gap < 1e-6
    assert_allclose(solution.outputs, 1.0, atol=1e-8)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_overlapping_classes_in_few_dimensions(sigma):
    """Where pairwise steps alone would take minutes."""
    task = problem(0, 760, 40, 6.0, sigma=sigma)
    solution = solve(task)
    assert solution.gap < 1e-9
    assert max(residuals(task, solution).values()) < 1e-9


def cloud(counts, seed):
    """Inliers and unlabelled rows in one cloud, outliers in another that overlaps."""
    codes = np.repeat([-1, 0, 1], counts)
    points = np.random.default_rng(seed).normal(size=(len(codes), 2))
    return points + 1.5 * (codes == 1)[:, np.newaxis], codes


def share_problem(points, codes, caps, share, sigma):
    """Ask for a share of the largest kappa."""
    gram = gaussian(cdist(points, points, "sqeuclidean"), sigma)
    most = most_labelled(*(caps[codes == code].sum() for code in (-1, 0, 1)))
    return Problem(gram, codes, caps, share * most)


def assert_feasible(task, weights):
    assert_allclose(task.signs @ weights, 1.0, atol=1e-9)
    assert weights[task.codes != -1].sum() >= task.kappa - 1e-9
    assert (weights >= 0).all()
    assert (weights <= task.caps).all()


def value(task, weights):
    signed = task.signs * weights
    return 0.5 * signed @ (task.kernel @ signed)


def test_directions_keep_both_sums():
    # Of each kind, once for the row that rises and once for the row that falls; of the surplus.
    effects = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [-1, 1], [-1, 1], [0, -1]])
    assert_array_equal(DIRECTIONS @ effects, 0.0)
    assert (DIRECTIONS[:, 0:6:2] >= 0).all()
    assert (DIRECTIONS[:, 1:6:2] <= 0).all()
    assert len({tuple(direction) for direction in DIRECTIONS}) == 3 + 2 * 4


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
def test_few_digits_are_near_the_optimum(kinds, share, sigma):
    points, codes = cloud(COUNTS[kinds], seed=1)
    caps = np.random.default_rng(2).uniform(0.2, 1.5, size=len(codes))
    task = share_problem(points, codes, caps, share, sigma)
    weights, exact = descend(task), solve(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -exact.dual, rtol=1e-3)
    if sigma >= 0.4:  # below, most of NEW is so far from all rows that only dust ranks it
        similar = gaussian(cdist(NEW, points, "sqeuclidean"), sigma)
        both = similar @ (task.signs * np.array([weights, exact.weights])).T
        ranked = auc(np.arange(400) % 4 == 0, -both)
        assert_allclose(ranked[0], ranked[1], atol=0.01)


@pytest.mark.parametrize("seed", range(40))
def test_random_problems_to_few_digits(seed):
    random = np.random.default_rng(seed)
    points, codes = cloud(random.integers([0, 8, 3], [150, 80, 40]), seed)
    caps = random.choice([0.25, 0.6, 1.0, 10.0], size=3)[codes + 1]
    caps = caps * random.uniform(0.5, 1.5, size=len(codes))
    share = random.choice([0.0, 0.05, 0.3, 0.8, 0.99, 1.0])
    task = share_problem(points, codes, caps, share, sigma=10 ** random.uniform(-2, 0.7))
    weights = descend(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -solve(task).dual, rtol=1e-3)


@pytest.mark.parametrize("shares", [(0.02, 0.1, 0.4, 1.0), (1.0, 0.4, 0.1, 0.02)])
@pytest.mark.parametrize("kinds", COUNTS)
def test_a_start_does_not_change_the_optimum(kinds, shares):
    points, codes = cloud(COUNTS[kinds], seed=4)
    weights = None
    for share in shares:
        task = share_problem(points, codes, np.ones(len(codes)), share, sigma=1.0)
        weights = descend(task, weights)
        assert_feasible(task, weights)
        assert_allclose(value(task, weights), value(task, descend(task)), rtol=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_rows_without_cap_take_no_part(share):
    points, codes = cloud((60, 40, 20), seed=5)
    inside = np.arange(len(codes)) % 5 > 0
    part = share_problem(points[inside], codes[inside], np.full(inside.sum(), 0.7), share, 0.8)
    gram = gaussian(cdist(points, points, "sqeuclidean"), 0.8)
    weights = descend(Problem(gram, codes, np.where(inside, 0.7, 0.0), part.kappa))
    assert_array_equal(weights[~inside], 0.0)
    assert_feasible(part, weights[inside])
    assert_allclose(value(part, weights[inside]), -solve(part).dual, rtol=1e-3)


def test_same_result_twice():
    points, codes = cloud((300, 100, 40), seed=6)
    task = share_problem(points, codes, np.ones(len(codes)), 0.1, sigma=2.0)
    assert_array_equal(descend(task), descend(task))


@pytest.mark.parametrize("matrix", [np.ones((6, 6)), np.eye(6)], ids=["copies", "far apart"])
def test_extreme_kernels(matrix):
    task = Problem(matrix, np.array([-1, -1, 0, 0, 1, 1]), np.ones(6), 1.5)
    weights = descend(task)
    assert_feasible(task, weights)
    assert_allclose(value(task, weights), -solve(task).dual, rtol=1e-3)
