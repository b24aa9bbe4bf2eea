"""Thresholds from out-of-bag scores keep their promise on those scores."""

import numpy as np
import pytest

from boreod.ensemble.calibration import MAX_ALERTS, best_threshold, choose_threshold

RANDOM = np.random.default_rng(0)
CODES = np.repeat([0, 1, -1], [300, 40, 60])
SCORES = np.clip(RANDOM.normal(0.3 + 0.3 * (CODES == 1), 0.15), 0.001, 0.999)


@pytest.mark.parametrize("count", [1, 7, 100, 390])
def test_alerts(count):
    assert (choose_threshold(f"alerts:{count}", SCORES, CODES) < SCORES).sum() == count


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 1.0])
def test_false_positive_rate(rate):
    threshold = choose_threshold(f"fpr:{rate}", SCORES, CODES)
    alerts = (SCORES[CODES == 0] > threshold).mean()
    assert alerts <= rate
    assert alerts >= rate - 1 / 300


@pytest.mark.parametrize("precision", [0.2, 0.5, 0.9])
def test_precision(precision):
    alerts = choose_threshold(f"precision:{precision}", SCORES, CODES) < SCORES
    assert (CODES[alerts & (CODES >= 0)] == 1).mean() >= precision


@pytest.mark.parametrize(("count", "alerts"), [(1, 3), (3, 3), (4, 3), (6, 7)])
def test_ties_are_taken_whole_or_not_at_all(count, alerts):
    scores = np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.1, 0.1])
    threshold = choose_threshold(f"alerts:{count}", scores, np.zeros(9, dtype=int))
    assert (scores > threshold).sum() == alerts


def test_unreachable_precision():
    with pytest.raises(ValueError, match=r"the best is 0\.500"):
        choose_threshold("precision:0.9", np.array([0.5, 0.5]), np.array([0, 1]))


def test_rows_without_a_score_are_passed_over():
    scores = np.append(SCORES, np.nan)
    codes = np.append(CODES, 1)
    assert choose_threshold("alerts:7", scores, codes) == choose_threshold(
        "alerts:7", SCORES, CODES
    )


WRONG = ("half", 1.5, "fpr:2", "alerts:0", "alerts:", None, True, "x:1", "alerts:5/2", "alerts:0/9",
         "alerts:1/", "fpr:0.1/3", "alerts:nan/5")  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_spelling(wrong):
    with pytest.raises(ValueError, match="`threshold` must be a probability"):
        choose_threshold(wrong, SCORES, CODES)


def test_alerts_in_so_many_rows_are_a_rate():
    alerts = choose_threshold("alerts:2/10", SCORES, CODES) < SCORES
    assert alerts.sum() == round(0.2 * len(SCORES))
    same = choose_threshold(f"alerts:5/{len(SCORES)}", SCORES, CODES)
    assert same == choose_threshold("alerts:5", SCORES, CODES)
    with pytest.warns(UserWarning, match="less than one of the"):
        assert choose_threshold("alerts:1/1e6", SCORES, CODES) == SCORES.max()


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_the_default_has_the_largest_expected_f1(scale):
    chances, weights = scale * SCORES**3, np.where(CODES == 1, 1.0, 4.0)

    def expected(limit):
        above = chances > limit
        alerts = weights[above].sum()
        right = (weights * chances)[above].sum()
        return 2.0 * right / (alerts + (weights * chances).sum())

    best = best_threshold(chances, weights)
    assert expected(best) == pytest.approx(max(map(expected, [0.0, *chances])))


def test_the_default_raises_few_alerts_where_nothing_tells_outliers():
    chances = np.linspace(0.0101, 0.01, 10_000)
    assert (chances > best_threshold(chances, np.ones(10_000))).sum() == int(MAX_ALERTS * 100.5)
    assert best_threshold(np.empty(0), np.empty(0)) == 0.5
