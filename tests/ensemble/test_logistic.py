"""Logistic regression: optimality, both dimensions, separable bags, against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from boreod.compiled import factorize
from boreod.ensemble import logistic
from boreod.ensemble.logistic import SMALL_GRADIENT, fit_logistic, fit_standardized


def problem(n, d, seed=0, separable=False):
    random = np.random.default_rng(seed)
    columns = random.normal(size=(n, d))
    signal = columns[:, 0] - 0.5 * columns[:, -1] + (0 if separable else random.logistic(size=n))
    return columns, (signal > np.median(signal)).astype(float)


@pytest.mark.parametrize("penalty", [1e-8, 1e-6, 1e-2])
@pytest.mark.parametrize(("n", "d"), [(200, 5), (60, 59), (40, 150), (2, 8), (104, 150)])
def test_gradient_is_zero(n, d, penalty):
    columns, targets = problem(n, d)
    beta, left = fit_logistic(columns, targets, penalty, np.ones(n))
    assert left <= SMALL_GRADIENT
    design = np.hstack([np.ones((n, 1)), columns])
    probabilities = 1 / (1 + np.exp(-design @ beta))
    gradient = design.T @ (probabilities - targets) / n + penalty * beta
    assert np.abs(gradient).max() <= 2e-8


@pytest.mark.parametrize("d", [1, 20, 300])
def test_separable_bags_have_finite_coefficients(d):
    columns, targets = problem(80, d, separable=True)
    beta, left = fit_logistic(columns, targets, 1e-6, np.ones(80))
    assert left <= SMALL_GRADIENT
    assert np.isfinite(beta).all()
    log_odds = beta[0] + columns @ beta[1:]
    assert ((log_odds > 0) == (targets > 0)).all()


def test_rows_and_columns_give_the_same_answer():
    """The same problem solved for coefficients, and with useless columns for multipliers."""
    columns, targets = problem(50, 10)
    wide = np.hstack([columns, np.zeros((50, 100))])
    narrow, _ = fit_logistic(columns, targets, 1e-3, np.ones(50))
    beta, _ = fit_logistic(wide, targets, 1e-3, np.ones(50))
    assert_allclose(beta[:11], narrow, atol=1e-7)


def test_equals_scikit_learn():
    columns, targets = problem(300, 8)
    penalty = 1e-3
    design = np.hstack([np.ones((300, 1)), columns])  # the intercept takes part in the penalty
    peer = LogisticRegression(
        C=1 / (300 * penalty), fit_intercept=False, tol=1e-12, max_iter=10_000
    )
    peer.fit(design, targets)
    beta, _ = fit_logistic(columns, targets, penalty, np.ones(300))
    assert_allclose(beta, peer.coef_[0], rtol=1e-5, atol=1e-7)


def test_standardizing_is_undone():
    columns, targets = problem(60, 4)
    shifted = columns * [1.0, 1e3, 1e-3, 1.0] + [5.0, -1e4, 2.0, 0.0]
    columns[:, 3], shifted[:, 3] = 7.0, 7.0  # constant
    log_odds = []
    for table in (columns, shifted):
        beta, _ = fit_standardized(table, targets, 1e-6, np.ones(60))
        assert beta[4] == 0.0
        log_odds.append(beta[0] + table @ beta[1:])
    assert_allclose(log_odds[1], log_odds[0], rtol=1e-6)


@pytest.mark.parametrize("seed", [130, 356, 1165, 1357, 1442, 2006])
def test_steps_do_not_alternate_for_ever(seed):
    """From these starts, steps that lowered the gradient raised the objective, and so on."""
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 40))
    d = int(random.integers(2, 5))
    y = np.arange(n) % 2
    X = random.lognormal(0, 1.5, (n, d)) + y[:, np.newaxis] * random.normal(0, 1, d)
    X /= np.sqrt((X**2).mean(axis=0))
    start = random.normal(0, 8, d)
    problem = np.ascontiguousarray(X.T), 2.0 * y - 1.0, np.ones(n)
    _, gradient = logistic._minimize(*problem, 1e-6, start)
    assert np.abs(gradient).max() / n < SMALL_GRADIENT


@pytest.mark.parametrize(("n", "d"), [(50, 20), (20, 50)])
def test_a_raised_ridge_makes_steps_shorter(n, d, monkeypatch):
    """For unknowns of columns and of rows: rounding may leave no factor of a Hessian."""
    random = np.random.default_rng(0)
    design, gradient = random.normal(size=(d, n)), random.normal(size=d)
    gram = design.T @ design if n < d else np.empty((0, 0))
    residual, weights = random.uniform(0.1, 0.9, n), np.ones(n)
    hessian = (design * (residual * (1.0 - residual))) @ design.T
    for failures in range(4):
        left = [False] * failures

        def fail_first(matrix, left=left):
            return left.pop() if left else factorize(matrix)

        monkeypatch.setattr(logistic, "factorize", fail_first)
        factor, root = np.empty((min(n, d), min(n, d))), np.empty(n)
        ridge = logistic._make_factor(design, gram, residual, weights, 1e-3, root, factor)
        step = logistic._newton_step(design, gram, root, factor, gradient, ridge)
        assert_allclose(ridge, 1e-3 * 100.0**failures)
        expected = np.linalg.solve(hessian + ridge * np.eye(d), gradient)
        assert_allclose(step, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
