"""Compare neighbor search and all columns of wide tables with the faster of two other searches.

The other searches are scikit-learn's brute force and faiss' flat index. All run on one thread and
are measured in CPU seconds, so that other work on the machine does not count.
"""

import sys
import time
from collections.abc import Callable

import faiss  # type: ignore[import-not-found]
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits
from timing import report

from boreod import OutlierRepresentation
from boreod.neighbors import NeighborGraph, TrainingGraph
from boreod.parallel import Threads

N, K = 20_000, 100
# Number of different words in a column of text, which becomes one column of 0 and 1 per word.
LEVELS = 25
# The scores of 1,500 columns take minutes.
SEARCH_ONLY = "--search" in sys.argv


def make_tables() -> dict[str, NDArray]:
    """Return dense tables of 200 columns, and two of 1,500 that are mostly zeros."""
    random = np.random.default_rng(0)
    clusters = random.normal(0, 3, (20, 200))[random.integers(0, 20, N)]
    sparse = random.normal(size=(N, 1500)) * (random.uniform(size=(N, 1500)) < 0.05)
    levels = random.zipf(1.5, (N, 1500 // LEVELS)) % LEVELS
    return {
        "cloud, d = 200": random.normal(size=(N, 200)),
        "clusters, d = 200": clusters + random.normal(size=(N, 200)),
        "sparse, d = 1500": sparse,
        "one-hot, d = 1500": np.eye(LEVELS)[levels].reshape(N, 1500),
    }


def cpu_seconds(work: Callable[[NDArray], object], rows: NDArray) -> float:
    """Return the processor time of one call."""
    started = time.process_time()
    work(rows)
    return time.process_time() - started


def search(rows: NDArray) -> TrainingGraph:
    """Find neighbors and k-distances as a representation does."""
    graph = NeighborGraph.build(rows, (K,), 0, "euclidean", "auto")
    return TrainingGraph.build(graph, Threads(1))


def search_by_sklearn(rows: NDArray) -> object:
    """Search in float64."""
    nearest = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=1)
    return nearest.fit(rows).kneighbors()


def search_by_faiss(rows: NDArray) -> object:
    """Search in float32, whose distances and ties are not exact."""
    index, single = faiss.IndexFlatL2(rows.shape[1]), rows.astype(np.float32)
    index.add(single)
    return index.search(single, K + 1)


def main() -> None:
    """Measure all searches twice, in turn, and keep the better time of each."""
    faiss.omp_set_num_threads(1)
    OutlierRepresentation().fit_transform(np.random.default_rng(0).normal(size=(3000, 50)))
    for name, rows in make_tables().items():
        works = (search, search_by_sklearn, search_by_faiss)
        turns = [[cpu_seconds(work, rows) for work in works] for _ in range(2)]
        ours, sklearn, flat = np.min(turns, axis=0)
        print(f"{name}: search {ours:.1f} s, scikit-learn {sklearn:.1f} s, faiss {flat:.1f} s")
        ratio = ours / min(sklearn, flat)
        report(f"{name}: search / the faster of both", ratio, "at most 2", ratio <= 2)
        if not SEARCH_ONLY:
            whole = cpu_seconds(OutlierRepresentation().fit_transform, rows)
            print(f"{name}: all columns {whole:.1f} s, {whole / min(sklearn, flat):.1f} times")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
