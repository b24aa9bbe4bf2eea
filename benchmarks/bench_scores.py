"""Compare the CPU seconds of every score in a fit with two limits.

The fit has 20000 x 20 values and eleven ks, and runs on one thread. The limits are measured in the
same run: the time to read the memory that a score needs once, and the time of its arithmetic in
kernels that do nothing else, with all data in the cache.
"""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from boreod import OutlierRepresentation
from boreod.compiled import compiled
from boreod.neighbors import Block
from boreod.representation.plan import PAPER_KS
from boreod.scores import SCORES

N, D, ROUNDS = 20_000, 20, 3
K, SUM, SQUARES = PAPER_KS[-1], sum(PAPER_KS), sum(k * k for k in PAPER_KS)
PAIRS = K * (K - 1) // 2
AMONG = "distances among neighbors"
# Bytes per row of the lists of neighbors, and of a column for every k.
LISTS, COLUMNS = 12 * K, 8 * len(PAPER_KS)
# The least that a row needs: bytes of memory, and operations by kind.
LIMITS = {
    AMONG: (4 * K + 8 * D, {"multiply-add": PAIRS * D, "root": PAIRS}),
    "cof": (LISTS + 2 * COLUMNS, {"minimum": SQUARES // 2, "look-up": SUM}),
    "ldof": (8 * K + COLUMNS, {"sum": PAIRS}),
    "abod": (4 * K + 8 * D + COLUMNS, {"multiply-add": PAIRS * D, "sum": 2 * PAIRS}),
    "kdeos": (2 * LISTS + 4 * COLUMNS, {"exponential": 2 * SUM, "look-up": SUM}),
    "ldf": (2 * LISTS + 3 * COLUMNS, {"exponential": 2 * SUM, "look-up": 2 * SUM}),
    "inflo": (2 * LISTS + COLUMNS, {"look-up": SUM + K}),
    "lof": (2 * LISTS + 2 * COLUMNS, {"look-up": 2 * SUM}),
    "slof": (LISTS + 8 * K + 2 * COLUMNS, {"look-up": SUM, "sum": K}),
    "loop": (LISTS + 8 * K + 2 * COLUMNS, {"look-up": SUM, "sum": K}),
    "odin": (LISTS + COLUMNS, {"look-up": K}),
    "knnw": (8 * K + COLUMNS, {"sum": K}),
    "knn": (2 * COLUMNS, {}),
}


@compiled
def multiply_add(values: NDArray, out: NDArray, times: int) -> None:
    """Add squared differences, as a distance does."""
    for _ in range(times):
        for place in range(out.shape[0]):
            difference = values[place] - 0.5
            out[place] += difference * difference


@compiled
def root(values: NDArray, out: NDArray, times: int) -> None:
    """Take roots."""
    for _ in range(times):
        for place in range(out.shape[0]):
            out[place] = np.sqrt(values[place])


@compiled
def minimum(values: NDArray, out: NDArray, times: int) -> None:
    """Take the lesser of two numbers."""
    for _ in range(times):
        for place in range(out.shape[0]):
            out[place] = min(out[place], values[place])


@compiled
def exponential(values: NDArray, out: NDArray, times: int) -> None:
    """Take exponentials."""
    for _ in range(times):
        for place in range(out.shape[0]):
            out[place] = np.exp(values[place])


@compiled
def add_places(table: NDArray, places: NDArray, out: NDArray) -> None:
    """Add up values from random places of a table."""
    for place in places:
        out[0] += table[place, 5]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU seconds of a few calls, after one that compiles."""
    taken = []
    for _ in range(ROUNDS + 1):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken[1:])


def measure_rates() -> tuple[float, dict[str, float]]:
    """Return bytes per second, and operations per second by kind."""
    random = np.random.default_rng(0)
    values, out, times = random.random(1024), random.random(1024), 10_000
    rates = {
        kernel.__name__.replace("_", "-"): 1024
        * times
        / cpu_seconds(lambda of=kernel: of(values, out, times))
        for kernel in (multiply_add, root, minimum, exponential)
    }
    rates["sum"] = 2 * rates["multiply-add"]
    table, places = random.random((N, len(PAPER_KS))), random.integers(N, size=N * K)
    rates["look-up"] = N * K / cpu_seconds(lambda: add_places(table, places, out))
    large, copy = np.ones(2**23), np.ones(2**23)
    return 16 * 2**23 / cpu_seconds(lambda: np.copyto(copy, large)), rates


def time_scores(rows: NDArray) -> dict[str, float]:
    """Return the CPU seconds of every score in a fit, and of what COF and LDOF share."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(owner: type, method: str, label: Callable[[object], str]) -> None:
        work = getattr(owner, method)

        def measured(self: object, *arguments: object) -> object:
            before, started = spent[AMONG], time.process_time()
            result = work(self, *arguments)
            spent[label(self)] += time.process_time() - started - (spent[AMONG] - before)
            return result

        setattr(owner, method, measured)

    timed(Block, "distances_among", lambda _: AMONG)
    for score in SCORES.values():
        for method in {*score.descriptions, "compare"} & set(vars(score)):
            timed(score, method, lambda self: self.name)  # type: ignore[attr-defined]
    found = []
    for _ in range(ROUNDS + 1):
        spent.clear()
        started = time.process_time()
        OutlierRepresentation(n_jobs=1).fit(rows)
        found.append({**spent, "all": time.process_time() - started})
    return {label: min(of[label] for of in found[1:]) for label in found[1]}


def main() -> None:
    """Print a line per score: its seconds, both limits, and the ratio to the larger limit."""
    bandwidth, rates = measure_rates()
    spent = time_scores(np.random.default_rng(0).normal(size=(N, D)))
    print(f"memory {bandwidth / 1e9:.0f} GB/s, billions of operations a second: ", end="")
    print(", ".join(f"{kind} {rate / 1e9:.2f}" for kind, rate in rates.items()))
    print("| score | CPU s | memory s | arithmetic s | times the larger |\n|---|--:|--:|--:|--:|")
    for label, (n_bytes, operations) in LIMITS.items():
        memory = N * n_bytes / bandwidth
        arithmetic = N * sum(count / rates[kind] for kind, count in operations.items())
        times = spent[label] / max(memory, arithmetic)
        print(f"| {label} | {spent[label]:.3f} | {memory:.3f} | {arithmetic:.3f} | {times:.1f} |")
    together = sum(spent[label] for label in LIMITS)
    print(f"scores {together:.2f} of {spent['all']:.2f} CPU seconds; the rest is the search")


if __name__ == "__main__":
    main()
