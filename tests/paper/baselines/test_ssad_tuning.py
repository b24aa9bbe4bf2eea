"""Samples and cross-validation of SSAD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boreod.metrics import auc
from boreod.paper.baselines import SSAD, ssad_tuning
from boreod.paper.baselines.ssad_tuning import gaussian, sample_rows

NEW = np.random.default_rng(9).normal(size=(400, 2)) + 1.5 * (np.arange(400) % 4 == 0)[:, None]


def cloud(counts, seed):
    """Inliers and unlabelled rows in one cloud, outliers in another that overlaps."""
    codes = np.repeat([-1, 0, 1], counts)
    points = np.random.default_rng(seed).normal(size=(len(codes), 2))
    return points + 1.5 * (codes == 1)[:, np.newaxis], codes


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


@pytest.mark.parametrize("max_rows", [None, 200])
@pytest.mark.parametrize("unlabelled", [0, 300])
def test_tuning_above_the_limit_of_rows(monkeypatch, max_rows, unlabelled):
    points, codes = cloud((unlabelled, 200, 40), seed=2)
    model = SSAD("cv", sigma="cv", max_rows=max_rows, random_state=0)
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
    again = SSAD("cv", sigma="cv", max_rows=max_rows, random_state=0, n_jobs=1)
    assert_array_equal(again.fit(points, codes).cv_results_["auc"], some["auc"])


def test_a_small_price_of_many_rows_stays_feasible_in_a_sample(monkeypatch):
    monkeypatch.setattr(ssad_tuning, "TUNING_ROWS", 100)
    points, codes = cloud((900, 30, 10), seed=2)
    model = SSAD(0.0, weight_unlabelled=1 / 450, sigma="cv", weight_labelled=1e-3, random_state=0)
    assert len(model.fit(points, codes).cv_results_["auc"]) == 7
