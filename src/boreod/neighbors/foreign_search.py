"""Any neighbor search of another library that behaves like one of scikit-learn's.

It proposes candidates and no more: distances and order are those of this house, and isolated rows
are searched exactly (:mod:`boreod.neighbors.approximate`). How good its candidates are is measured.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors.approximate import SEED, ApproximateSearch
from boreod.neighbors.candidates import NOBODY, with_spare
from boreod.neighbors.recall import check_min_recall


@dataclass(frozen=True)
class ForeignNeighbors:
    """A neighbor search of another library, and how good it must be.

    Parameters
    ----------
    search
        An object with ``fit(X)`` and ``kneighbors(X, n_neighbors)``, or with ``fit(X)``, a
        parameter ``n_neighbors`` and ``transform(X)``, which returns a sparse graph of distances.
        A copy of it is fitted; for the metric manhattan it must be set to that metric.
    min_recall
        Least share of the true neighbors that must be found, of random rows and of the most
        isolated ones.
    """

    search: Any
    min_recall: float = 0.99

    def __post_init__(self) -> None:
        check_min_recall(self.min_recall)
        if not is_foreign_search(self.search):
            raise ValueError(
                "A neighbor search must have `fit` and `kneighbors`, or `fit`, `transform` and a "
                f"parameter `n_neighbors` as KNeighborsTransformer has; got {self.search!r}."
            )


def is_foreign_search(search: object) -> bool:
    """Tell whether an object can be asked for neighbors."""
    if isinstance(search, type) or not callable(getattr(search, "fit", None)):
        return False
    if callable(getattr(search, "kneighbors", None)):
        return True
    parameters = search.get_params() if hasattr(search, "get_params") else {}
    return callable(getattr(search, "transform", None)) and "n_neighbors" in parameters


class ForeignSearch(ApproximateSearch):
    """Candidates from another library.

    Parameters
    ----------
    points
        Reference rows as :func:`boreod.neighbors.metrics.embed` returns them.
    metric
        Code of the metric.
    settings
        The search and how good it must be.
    depth
        Number of neighbors that are always searched.
    """

    name = "foreign"

    def __init__(
        self, points: NDArray, metric: int, settings: ForeignNeighbors, depth: int = 0
    ) -> None:
        super().__init__(points, metric, depth)
        self.settings, self.min_recall = settings, settings.min_recall
        self._fitted: dict[int, Any] = {}
        self._one_at_a_time = threading.RLock()
        if depth:
            self._searcher(with_spare(min(depth, len(points)), len(points)))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_one_at_a_time"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._one_at_a_time = threading.RLock()

    def find_candidates(self, rows: NDArray, size: int) -> NDArray:
        """Return what the search proposes: distinct reference rows, -1 for nobody."""
        searcher = self._searcher(size)
        if type(searcher).__module__.startswith("sklearn."):  # known to bear several threads
            proposed = _ask(searcher, rows, size)
        else:
            with self._one_at_a_time:
                proposed = _ask(searcher, rows, size)
        return _distinct(proposed, len(rows), len(self.points), self.settings.search)

    def _searcher(self, size: int) -> Any:
        """Return a fitted copy that gives so many neighbors."""
        search = self.settings.search
        key = 0 if hasattr(search, "kneighbors") else size  # that one is told when asked
        with self._one_at_a_time:
            if key not in self._fitted:
                self._fitted[key] = _copy(search, key).fit(self.points)
            return self._fitted[key]


def _copy(search: Any, n_neighbors: int) -> Any:
    """Return an unfitted copy, with a seed if it wants one."""
    from sklearn.base import clone

    copy = clone(search, safe=False)
    parameters = copy.get_params() if hasattr(copy, "get_params") else {}
    wanted = {"n_neighbors": n_neighbors} if n_neighbors else {}
    if parameters.get("random_state", SEED) is None:
        wanted["random_state"] = SEED
    return copy.set_params(**wanted) if wanted else copy


def _ask(searcher: Any, rows: NDArray, size: int) -> NDArray:
    """Return the proposed indices of every row."""
    if hasattr(searcher, "kneighbors"):
        _, indices = searcher.kneighbors(rows, size)
        return np.asarray(indices)
    return _indices_of(searcher.transform(rows))


def _indices_of(graph: Any) -> NDArray:
    """Return the entries of a sparse graph, zeros among them, in lists of one length."""
    from scipy.sparse import issparse

    if not issparse(graph):
        raise ValueError(
            "`transform` of a neighbor search must return a sparse graph of distances, as "
            f"KNeighborsTransformer does; got {type(graph).__name__}."
        )
    graph = graph.tocsr()
    counts = np.diff(graph.indptr)
    width = int(counts.max(initial=0))
    indices = np.full((graph.shape[0], width), NOBODY, np.int64)
    indices[np.arange(width) < counts[:, np.newaxis]] = graph.indices
    return indices


def _distinct(proposed: NDArray, m: int, n: int, search: Any) -> NDArray:
    """Return lists without repetitions and without rows that do not exist."""
    if proposed.ndim != 2 or len(proposed) != m or proposed.dtype.kind not in "iu":
        raise ValueError(
            f"{search!r} must return a list of row numbers for each of {m} rows; got an array of "
            f"shape {proposed.shape} and type {proposed.dtype}."
        )
    result = np.sort(proposed.astype(np.int64), axis=1)
    again = np.zeros(result.shape, bool)
    again[:, 1:] = result[:, 1:] == result[:, :-1]
    result[again | (result < 0) | (result >= n)] = NOBODY
    return result
