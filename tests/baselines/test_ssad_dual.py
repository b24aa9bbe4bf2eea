"""The dual problem of SSAD: optimality, feasibility, a slow oracle, other machines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM

from boreod.baselines.kernels import Dense, Landmarks, gaussian, squared_distances
from boreod.baselines.ssad_dual import solve_ssad
from boreod.baselines.ssad_problem import Problem, most_labelled


def problem(n_unlabelled, n_inliers, n_outliers, kappa, prices=(1.0, 1.0), sigma=1.0, seed=0):
    """Inliers and unlabelled rows in one cloud, outliers in another that overlaps."""
    random = np.random.default_rng(seed)
    codes = np.repeat([-1, 0, 1], [n_unlabelled, n_inliers, n_outliers])
    points = random.normal(size=(len(codes), 2)) + 1.5 * (codes == 1)[:, np.newaxis]
    gram = gaussian(squared_distances(points, points), sigma)
    return Problem(Dense(gram), codes, np.where(codes == -1, *prices).astype(float), kappa)


def linear_problem():
    """The setting of the check value: a linear kernel, so f = <w, x>."""
    random = np.random.default_rng(3)
    codes = np.repeat([-1, 0, 1], [30, 4, 5])
    points = random.normal(1.5, 1.0, size=(39, 3)) - 2.0 * (codes == 1)[:, np.newaxis]
    caps = np.where(codes == -1, 0.08, 0.5)
    return Problem(Dense(points @ points.T), codes, caps, 1.0)


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
    solution = solve_ssad(task)
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
    solution = solve_ssad(task)
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
    solution = solve_ssad(task)
    assert solution.gap < 1e-6
    assert max(residuals(task, solution).values()) < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_equals_a_general_solver(seed):
    task = problem(5, 4, 3, kappa=1.5, prices=(0.5, 0.8), sigma=0.8, seed=seed)
    signed = task.gram.matrix * np.outer(task.signs, task.signs)
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
    solution = solve_ssad(task)
    assert_allclose(-solution.dual, oracle.fun, rtol=1e-6)
    assert_allclose(solution.weights, oracle.x, atol=2e-4)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_without_labels_it_is_the_one_class_machine(nu):
    random = np.random.default_rng(1)
    points, new = random.normal(size=(120, 3)), random.normal(size=(200, 3)) * 2
    width = 1.3
    caps = np.full(120, 1 / (nu * 120))
    gram = gaussian(squared_distances(points, points), width)
    solution = solve_ssad(Problem(Dense(gram), np.full(120, -1), caps, 0.0))
    ours = gaussian(squared_distances(new, points), width) @ solution.weights - solution.rho
    machine = OneClassSVM(nu=nu, gamma=1 / (2 * width**2), tol=1e-10).fit(points)
    assert_allclose(ours * nu * 120, machine.decision_function(new), atol=1e-5)


def test_landmarks_at_all_rows_are_exact():
    random = np.random.default_rng(2)
    points = random.normal(size=(150, 3))
    codes = random.choice([-1, 0, 1], size=150)
    squared = squared_distances(points, points)
    narrow = Landmarks(squared, 0.7).gram(squared)
    caps = np.full(150, 0.5)
    ours = solve_ssad(Problem(narrow, codes, caps, 3.0))
    exact = solve_ssad(Problem(Dense(gaussian(squared, 0.7)), codes, caps, 3.0))
    assert_allclose(ours.outputs, exact.outputs, atol=1e-8)
    assert_allclose([ours.rho, ours.gamma], [exact.rho, exact.gamma], atol=1e-8)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0])
def test_narrow_and_dense_form_of_one_matrix(sigma):
    random = np.random.default_rng(4)
    points = random.normal(size=(700, 3))
    codes = random.choice([-1, 0, 1], size=700, p=[0.6, 0.3, 0.1])
    squared = squared_distances(points, points)
    narrow = Landmarks(squared[:40, :40], sigma).gram(squared[:, :40])
    dense = Dense(narrow.table @ narrow.table.T + np.diag(narrow.rest))
    caps = np.full(700, 0.05)
    ours, theirs = (solve_ssad(Problem(gram, codes, caps, 2.0)) for gram in (narrow, dense))
    assert ours.gap < 1e-7
    assert_allclose(ours.outputs, theirs.outputs, atol=1e-8)


def test_copies_with_different_labels():
    gram = Dense(np.ones((6, 6)))
    solution = solve_ssad(Problem(gram, np.array([0, 0, 1, 1, -1, -1]), np.ones(6), 1.5))
    assert solution.gap < 1e-6
    assert_allclose(solution.outputs, 1.0, atol=1e-8)


@pytest.mark.parametrize(
    ("counts", "kappa", "prices", "message"),
    [
        (
            (9, 0, 0),
            0.0,
            (0.1, 1.0),
            "9 unlabelled rows and 0 inliers reach 0.9.*weight_unlabelled",
        ),
        ((0, 0, 5), 1.0, (1.0, 1.0), "one class"),
        ((9, 0, 0), 1.0, (1.0, 1.0), "No row is labelled.*Pass kappa=0"),
        ((9, 0, 2), 3.0, (1.0, 1.0), "0 inliers and 2 outliers reach at most 2"),
        ((0, 9, 2), 5.1, (1.0, 1.0), "reach at most 5. Lower `kappa`"),
        ((50, 20, 0), 1.1, (1.0, 1.0), "reach at most 1"),
    ],
)
def test_infeasible_problems_are_refused(counts, kappa, prices, message):
    with pytest.raises(ValueError, match=message):
        solve_ssad(problem(*counts, kappa, prices))
