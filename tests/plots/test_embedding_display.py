"""Tables as points."""

import numpy as np
import pytest

from boreod.plots import EmbeddingDisplay

OUTLIERS = np.arange(50) < 4


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(50, 5)) * [1, 10, 100, 1000, 0] + 7


def test_points_and_key():
    points = np.random.default_rng(0).normal(size=(50, 2))
    drawn = EmbeddingDisplay.from_points(points, OUTLIERS, "wine")
    assert (drawn.outliers_.get_offsets() == points[:4]).all()
    assert (drawn.inliers_.get_offsets() == points[4:]).all()
    assert len(drawn.inliers_.get_facecolor()) == 0  # hollow
    assert [text.get_text() for text in drawn.key_.get_texts()] == ["4 outliers", "46 inliers"]
    assert drawn.ax_.get_aspect() == 1.0
    assert list(drawn.ax_.get_xticks()) == []
    assert drawn.ax_.get_title() == "wine"


def test_principal_components(table):
    drawn = EmbeddingDisplay.from_table(table, OUTLIERS, method="pca")
    varying = table[:, :4]
    scaled = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    assert np.abs(drawn.points) == pytest.approx(np.abs((left * sizes)[:, :2]))


@pytest.mark.parametrize("n_rows", [4, 50])
def test_neighbors_in_the_plane(table, n_rows):
    drawn = EmbeddingDisplay.from_table(
        table[:n_rows], OUTLIERS[-n_rows:] ^ (np.arange(n_rows) < 1)
    )
    assert drawn.points.shape == (n_rows, 2)
    assert np.isfinite(drawn.points).all()
    again = EmbeddingDisplay.from_table(table[:n_rows], np.arange(n_rows) < 1)
    assert (again.points == drawn.points).all()
    assert again.key_.get_texts()[0].get_text() == "1 outlier"


def test_errors(table):
    with pytest.raises(ValueError, match="`method` must be one of 'tsne', 'pca'; got 'umap'"):
        EmbeddingDisplay.from_table(table, OUTLIERS, method="umap")
    with pytest.raises(ValueError, match="at least 3 rows and 2 columns"):
        EmbeddingDisplay.from_table(table[:, :1], OUTLIERS)
    with pytest.raises(ValueError, match="one of which varies"):
        EmbeddingDisplay.from_table(np.ones((50, 2)), OUTLIERS)
    with pytest.raises(ValueError, match="finite numbers only"):
        EmbeddingDisplay.from_table(table * np.nan, OUTLIERS)
    with pytest.raises(ValueError, match=r"each of 50 `outliers`; got the shape \(50, 5\)"):
        EmbeddingDisplay.from_points(table, OUTLIERS)
    with pytest.raises(ValueError, match="both classes"):
        EmbeddingDisplay.from_points(table[:, :2], np.zeros(50))
