"""Recall: against numbers found by hand, and what an error says."""

import numpy as np
import pytest

from boreod.neighbors import Recall, RecallError, check_recall, measure_recall
from boreod.neighbors.brute import BruteForce
from boreod.neighbors.recall import most_isolated

LINE = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 20.0])[:, np.newaxis]


class Forgetful(BruteForce):
    """Never finds the row it is told to forget."""

    forgotten = 1

    def nearest(self, rows, k):
        distances, indices = super().nearest(rows, len(self.points))
        keep = indices != self.forgotten
        keep[(rows == self.points[self.forgotten]).all(axis=1)] = True
        places = np.argsort(~keep, axis=1, kind="stable")[:, :k]
        return tuple(np.take_along_axis(a, places, axis=1) for a in (distances, indices))


def test_by_hand():
    """Without row 1, rows 0, 2, 3 miss one of their two neighbors; 4 and 5 never had it.

    Row 0 has 1, 2 (at 1 and 2) and gets 2, 3 (at 2 and 3): one of two. Row 2 has 1, 3 and gets
    3, 0 (at 1 and 2): one of two. Row 3 has 2, 1 and gets 2, 0: one of two.
    """
    radii = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    recall = measure_recall(Forgetful(LINE, 0), LINE, 0, 2, radii, seed=3)
    assert recall == Recall(random=9 / 12, isolated=9 / 12, n_random=6, n_isolated=6, k=2)


def test_only_isolated_rows_suffer():
    """Mean recall hides them: two far rows of 2000 that are near each other only."""
    points = np.random.default_rng(0).normal(size=(2000, 2))
    points[[7, 8]] = [[50.0, 0.0], [50.5, 0.0]]
    backend = Forgetful(points, 0)
    backend.forgotten = 8
    radii = BruteForce(points, 0).nearest(points, 2)[0][:, -1]
    recall = measure_recall(backend, points, 0, 1, radii, seed=0)
    assert recall.n_isolated == 20
    assert recall.isolated == pytest.approx(19 / 20)
    assert recall.random > 0.998


def test_ties_do_not_count_against_a_search():
    """Of several rows at the same distance it may take any."""

    class LastFirst(BruteForce):
        def nearest(self, rows, k):
            distances, indices = super().nearest(rows, len(self.points))
            order = np.lexsort((-indices, distances))[:, :k]
            return tuple(np.take_along_axis(a, order, axis=1) for a in (distances, indices))

    cross = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    backend = LastFirst(cross, 0)
    assert backend.nearest(cross[:1], 3)[1].tolist() == [[0, 4, 3]]
    assert measure_recall(backend, cross, 0, 2, np.ones(5), seed=0).random == 1.0


def test_who_is_isolated():
    radii = np.random.default_rng(0).permutation(3000).astype(float)
    assert np.array_equal(np.sort(radii[most_isolated(radii)]), np.arange(2970.0, 3000.0))
    assert len(most_isolated(radii[:40])) == 10
    assert len(most_isolated(radii[:4])) == 4
    many = most_isolated(-np.arange(250_000.0))
    assert (len(many), many[0], many[-1]) == (1000, 0, 2499)
    assert np.diff(many).min() >= 2
    assert np.diff(many).max() <= 3


def test_error_names_figures_and_options():
    good = Recall(random=0.995, isolated=0.99, n_random=1000, n_isolated=50, k=100)
    check_recall(good, 0.99, "faiss-ivf")
    poor = Recall(random=0.999, isolated=0.98996, n_random=1000, n_isolated=50, k=100)
    with pytest.raises(RecallError) as raised:
        check_recall(poor, 0.99, "faiss-ivf")
    for part in ("'faiss-ivf'", "0.9990", "0.9899", "0.99.", "n_probe", "min_recall", "'auto'"):
        assert part in str(raised.value)
