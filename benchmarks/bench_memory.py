"""Measure the peak memory of all 129 columns at n = 100000, d = 30, without the input itself."""

import subprocess
import sys

import numpy as np
from mixtures import peak_memory
from timing import report

N, D = 100_000, 30


def measure() -> None:
    """Print the peak memory of this process minus the size of the input, in MB."""
    from boreod import OutlierRepresentation

    rows = np.random.default_rng(0).normal(size=(N, D))
    OutlierRepresentation().fit_transform(rows)
    print(1e9 * peak_memory() / 2**20 - rows.nbytes / 2**20)


def main() -> None:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--child"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    megabytes = float(output)
    report("peak memory in MB, n = 100000, d = 30", megabytes, "below 1200", megabytes < 1200)


if __name__ == "__main__":
    measure() if "--child" in sys.argv else main()
