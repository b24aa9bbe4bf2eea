"""Approximate search in inverted lists: only rows that lie about the same centers are met.

k-means puts every reference row into the list of its nearest center. A search meets the rows in the
lists of the centers that are nearest to the row, as many as a pilot found necessary. faiss meets
them, in float32; distances and order are those of this house, and isolated rows are searched
exactly (:mod:`boreod.neighbors.approximate`).

Nothing here depends on threads, on the rows that are searched together or on chance. Processors of
another kind may train slightly different centers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.approximate import SEED, ApproximateSearch
from boreod.neighbors.candidates import NOBODY
from boreod.neighbors.faiss_door import load_faiss, one_thread, refuse_manhattan
from boreod.neighbors.inverted_lists import InvertedLists
from boreod.neighbors.metrics import EUCLIDEAN, distances_to_tile
from boreod.neighbors.ordering import comes_before, replace_last
from boreod.neighbors.recall import distances_found, most_isolated, share_found
from boreod.neighbors.rounded import RoundedTable

MOST_LISTS = 65536
ROWS_PER_LIST = 16  # at least, so that small tables have few lists
TRAINING_ROWS = 64  # per list
TRAINING_ROUNDS = 10
FIRST_PROBES = 4
PILOT_ROWS = 200
PILOT_K = 100  # if no depth is given


class FaissIVF(ApproximateSearch):
    """Inverted lists of faiss.

    Parameters
    ----------
    points
        Reference rows as :func:`boreod.neighbors.metrics.embed` returns them.
    metric
        Code of the metric, euclidean or cosine.
    settings
        Numbers of lists and probes; chosen for the table if None.
    depth
        Number of neighbors that are always searched.
    """

    name = "faiss-ivf"

    def __init__(
        self, points: NDArray, metric: int, settings: InvertedLists | None = None, depth: int = 0
    ) -> None:
        refuse_manhattan(metric, self.name)
        load_faiss()  # or say at once that it is missing
        settings = settings or InvertedLists()
        self.n_lists = _count_lists(settings, len(points))
        super().__init__(points, metric, depth)
        self.min_recall = settings.min_recall
        self._table = RoundedTable(points)
        self._centers = self._train()
        self._home = _nearest_lists(self._centers, self._table.rows, 1)[:, 0]
        self._index = self._fill_lists()
        self.n_probe = settings.n_probe or self.n_lists
        if settings.n_probe is None:
            self._choose_probes()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_index"], state["_table"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._table = RoundedTable(self.points)
        self._index = self._fill_lists()

    @property
    def settings(self) -> InvertedLists:
        """Settings that give the same search again without a pilot."""
        return InvertedLists(self.n_lists, self.n_probe, self.min_recall)

    def find_candidates(self, rows: NDArray, size: int) -> NDArray:
        """Return the nearest rows in the lists of the nearest centers, -1 for nobody.

        Centers are compared here and not by faiss, whose rounding depends on how many rows are
        searched together.
        """
        faiss = load_faiss()
        rounded, lengths = self._table.round(rows)
        lists = _nearest_lists(self._centers, rounded, self.n_probe)
        self._index.nprobe = self.n_probe
        with one_thread(faiss):
            _, candidates = self._index.search_preassigned(rounded, size, lists, None)
        candidates[np.isinf(lengths)] = NOBODY
        return candidates

    def _train(self) -> NDArray:
        """Return the centers, one column after the other."""
        faiss = load_faiss()
        means = faiss.Kmeans(
            self.points.shape[1],
            self.n_lists,
            niter=TRAINING_ROUNDS,
            seed=SEED,
            min_points_per_centroid=1,
            max_points_per_centroid=TRAINING_ROWS,
        )
        with one_thread(faiss):
            means.train(self._table.rows)
        return np.ascontiguousarray(means.centroids.T)

    def _fill_lists(self) -> Any:
        faiss = load_faiss()
        n, d = self.points.shape
        centers = faiss.IndexFlatL2(d)
        centers.add(np.ascontiguousarray(self._centers.T))
        index = faiss.IndexIVFFlat(centers, d, self.n_lists)
        with one_thread(faiss):
            index.add_core(n, faiss.swig_ptr(self._table.rows), None, faiss.swig_ptr(self._home))
        return index

    def _choose_probes(self) -> None:
        """Double the number of probes until few neighbors are missed, or all lists are probed."""
        k = min(self.depth or PILOT_K + 1, len(self.points)) - 1
        random = self.sample()[:PILOT_ROWS]
        wanted = (1 + self.min_recall) / 2, self.min_recall
        self.n_probe = FIRST_PROBES
        while self.n_probe < self.n_lists:
            isolated = self.sample()[most_isolated(self.sample_radii(k + 1))]
            found = self._share_found(random, k), self._share_found(isolated, k)
            if found[0] >= wanted[0] and found[1] >= wanted[1]:
                return
            self.n_probe *= 2
            self.forget_radii()
        self.n_probe = self.n_lists

    def _share_found(self, own: NDArray, k: int) -> float:
        return share_found(
            distances_found(self, self.points, own, k),
            distances_found(self.brute, self.points, own, k),
        )


def _count_lists(settings: InvertedLists, n: int) -> int:
    """Return the number of lists, or raise if the settings do not fit the table."""
    n_lists = settings.n_lists or max(1, min(int(4 * n**0.5), n // ROWS_PER_LIST, MOST_LISTS))
    if n_lists > n:
        raise ValueError(
            f"`n_lists` must be at most {n}, the number of reference rows; got {n_lists}."
        )
    if settings.n_probe is not None and settings.n_probe > n_lists:
        raise ValueError(
            f"`n_probe` must be at most {n_lists}, the number of lists; got {settings.n_probe}."
        )
    return int(n_lists)


@compiled
def _nearest_lists(centers: NDArray, rows: NDArray, count: int) -> NDArray:
    """Return the nearest centers of every row, in any order."""
    m, n_lists = rows.shape[0], centers.shape[1]
    result = np.full((m, count), np.iinfo(np.int64).max)
    distances, nearest = unset(n_lists, np.float32), unset(count, np.float32)
    for row in range(m):
        distances_to_tile(centers, 0, n_lists, rows[row], EUCLIDEAN, distances)
        nearest[:] = np.inf
        for center in range(n_lists):
            if comes_before(distances[center], center, nearest[0], result[row, 0]):
                replace_last(nearest, result[row], distances[center], center)
    return result
