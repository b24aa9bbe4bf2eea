"""Measure how the time and the memory of a fit grow with the number of rows.

Tables have 20 columns. Every size has its own process, and the fit uses all columns.
"""

import subprocess
import sys
import time

import numpy as np
from mixtures import compile_everything, make_mixture, peak_memory

SIZES = (10_000, 30_000, 100_000, 300_000)


def measure(n: int) -> None:
    """Print the seconds of a fit, and the peak memory in GB before and after the fit."""
    from boreod import BORE

    compile_everything()
    rows, labels = make_mixture(n)
    before = peak_memory()
    started = time.perf_counter()
    BORE(random_state=0).fit(rows, labels)
    print(time.perf_counter() - started, before, peak_memory())


def main() -> None:
    """Fit at every size, and print the exponents of growth."""
    seconds, memory = [], []
    print("     rows   seconds   us a row   peak GB   GB of the fit")
    for n in SIZES:
        command = [sys.executable, __file__, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        taken, before, peak = map(float, done.stdout.split())
        seconds.append(taken)
        memory.append(peak - before)
        print(
            f"{n:9} {taken:9.1f} {1e6 * taken / n:10.0f} {peak:9.2f} {memory[-1]:9.2f}", flush=True
        )
    for what, values in (("time", seconds), ("memory", memory)):
        exponent = np.polyfit(np.log(SIZES), np.log(values), 1)[0]
        last = np.log(values[-1] / values[-2]) / np.log(SIZES[-1] / SIZES[-2])
        print(f"{what} grows as n^{exponent:.2f}, between the largest two as n^{last:.2f}")


if __name__ == "__main__":
    measure(int(sys.argv[1])) if len(sys.argv) > 1 else main()
