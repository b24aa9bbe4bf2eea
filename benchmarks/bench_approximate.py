"""Inverted lists against exact search at n = 100000: fit, recall and AUC; needs boreod[ann].

Where a fit is not twice as fast, ``neighbors="faiss-ivf"`` must say so and stay exact.
"""

import time
import warnings

import numpy as np
from mixtures import compile_everything, make_mixture
from numpy.typing import NDArray
from timing import report

from boreod import BORE, InvertedLists
from boreod.metrics import auc
from boreod.representation.lookahead import SearchWarning

N = 100_000


def make_blob(n: int, d: int) -> tuple[NDArray, NDArray]:
    """Return one cloud without structure, the worst case of an exact search."""
    random = np.random.default_rng(0)
    labels = (np.arange(n) % 500 == 0).astype(int)
    return random.normal(size=(n, d)) * np.where(labels == 1, 1.5, 1.0)[:, np.newaxis], labels


def compare(name: str, rows: NDArray, labels: NDArray) -> None:
    """Fit both ways, then ask for inverted lists politely."""
    known = np.where(np.random.default_rng(0).random(len(labels)) < 0.6, labels, -1)
    judged = known == -1
    seconds, areas = [], []
    for search in ("auto", InvertedLists()):
        started = time.perf_counter()
        model = BORE(neighbors=search, random_state=0).fit(rows, known)
        seconds.append(time.perf_counter() - started)
        areas.append(100 * auc(labels[judged] == 1, model.oob_proba_[judged]))
    recall = model.recall_[""]
    print(
        f"{name}: exact {seconds[0]:.1f} s, AUC {areas[0]:.2f}; inverted lists {seconds[1]:.1f} s, "
        f"AUC {areas[1]:.2f}, recall {recall.random:.4f}, of isolated rows {recall.isolated:.4f}"
    )
    ratio = seconds[0] / seconds[1]
    worth = ratio >= 2 and recall.isolated >= 0.99 and abs(areas[0] - areas[1]) <= 0.5
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asked = BORE(neighbors="faiss-ivf", random_state=0).fit(rows, known)
    used = asked.representation_.fitted_columns_.views[0].scored.graph.backend.name
    for warning in said:
        if warning.category is SearchWarning:
            print(f"  it says: {warning.message}")
    honest = (used == "faiss-ivf") == worth
    report(f"{name}: exact / inverted lists; used: {used}", ratio, "2, or stays exact", honest)


def main() -> None:
    """Compare on clusters, and on a cloud where no cell can be left out."""
    compile_everything()
    compare("clusters, d = 20", *make_mixture(N))
    compare("one cloud, d = 20", *make_blob(N, 20))


if __name__ == "__main__":
    main()
