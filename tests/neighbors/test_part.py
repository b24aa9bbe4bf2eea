"""The graph of some reference rows, taken from that of all, is the one of these rows alone."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from boreod.neighbors import NeighborGraph, TrainingGraph, depth_for, part_of
from boreod.parallel import Threads

KS, REVERSE = (3, 5, 8), 5
WHOLE = {
    "normal": lambda random: random.normal(size=(90, 3)),
    "ties": lambda random: random.integers(0, 3, size=(90, 3)).astype(float),
    "copies": lambda random: np.repeat(random.normal(size=(30, 3)), 3, axis=0),
}


def build(points, ks, metric, how):
    graph = NeighborGraph.build(points, ks, REVERSE, metric, how)
    return TrainingGraph.build(graph, Threads(1))


def lists_of(training):
    """Return what blocks of all rows hold."""
    block = training.block(slice(0, len(training.distinct)))
    order = np.argsort(block.own, kind="stable")
    cuts, indices, distances = block.reverse
    reverse = [sorted(zip(indices[a:b], distances[a:b], strict=True)) for a, b in pairwise(cuts)]
    return block.distances[order, :8], block.indices[order, :8], [reverse[place] for place in order]


@pytest.mark.parametrize("how", ["brute", "tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("taken_out", ["random", "near", "most"])
def test_part_is_the_graph_of_its_rows(how, metric, kind, taken_out):
    random = np.random.default_rng(0)
    points = WHOLE[kind](random) + (1.0 if metric == "cosine" else 0.0)
    keep = random.permutation(90) >= (70 if taken_out == "most" else 18)
    if taken_out == "near":  # all neighbors of some rows are gone
        keep = points[:, 0] > np.quantile(points[:, 0], 0.6)
        keep[:3] = True
    rows = np.flatnonzero(keep)
    deep = (*KS, min(depth_for(8, 0.2), 89))
    part = part_of(build(points, deep, metric, how), rows, KS, REVERSE)
    alone = build(points[rows], KS, metric, how)
    assert_array_equal(part.graph.radii(KS), alone.graph.radii(KS))
    for ours, theirs in zip(lists_of(part)[:2], lists_of(alone)[:2], strict=True):
        assert_array_equal(ours, theirs)
    assert lists_of(part)[2] == lists_of(alone)[2]
    new = random.normal(size=(7, 3)) + 1.0
    unknown = np.full(7, -1)
    ours, theirs = (g.graph.new_block(new, unknown) for g in (part, alone))
    assert_array_equal(ours.distances, theirs.distances)
    assert_array_equal(ours.indices, theirs.indices)
    for mine, other in zip(ours.reverse, theirs.reverse, strict=True):
        assert_array_equal(np.sort(mine), np.sort(other))
