"""One kernel gives new rows the scores that each score gives alone, to the bit."""

import numpy as np
import pytest

from boreod import OutlierRepresentation
from boreod.scores import LDF, LoOP
from boreod.scores.together import KINDS, Together


def tables():
    random = np.random.default_rng(3)
    cloud = random.normal(size=(300, 4))
    far = random.normal(size=(60, 4)) * np.array([1e-9, 1.0, 1e6, 1e140])[:, None].repeat(15, 0)
    clump = np.round(cloud)
    clump[:120] = 1.0  # more copies than any k
    return {
        "cloud": (cloud, np.vstack([cloud[:20], random.normal(size=(40, 4)), far])),
        "clump": (clump, np.vstack([clump[:10], clump[:40] + 0.25, clump[:5] + 1e-300, far])),
        "line": (np.arange(40.0)[:, None] * [1, 0, 0, 0], np.eye(4) * 1e3),
        "tiny": (cloud[:3], cloud[10:20]),
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("metric", ["full", "cosine"])
def test_bits_are_those_of_single_scores(name, metric):
    points, new = tables()[name]
    ks = [k for k in (1, 2, 5, 30, 100) if k < len(points)]
    kinds = [kind.name for kind in KINDS]
    some = OutlierRepresentation(kinds, ks, views=[metric], passthrough=False).fit(points)
    view = some.fitted_columns_.views[0]
    block = view.search(new)
    expected = np.hstack([s.score(block) for s in view.scores])
    found = view.score(block)
    assert np.isfinite(found).all()
    assert found.tobytes() == expected.tobytes()
    for row in range(len(new)):
        assert view.score(view.search(new[row : row + 1])).tobytes() == found[row].tobytes()


def test_a_second_score_of_a_kind_comes_alone():
    points = np.random.default_rng(0).normal(size=(80, 3))
    scores = [LDF(), "lof", ("wide", LDF(bandwidth=3.0)), ("far", LoOP(extent=3.0)), "odin"]
    some = OutlierRepresentation(scores, [3, 9], passthrough=False).fit(points)
    view = some.fitted_columns_.views[0]
    block = view.search(points[:7] + 0.5)
    together = Together.of(view.scores, view.graph.radii, view.graph.dimension)
    assert [s.label for s in together.scores] == ["lof", "ldf", "far"]
    expected = np.hstack([s.score(block) for s in view.scores])
    assert view.score(block).tobytes() == expected.tobytes()
