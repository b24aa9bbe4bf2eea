"""Show that a table with columns of all kinds takes little longer than its numbers alone.

The fit of a CSV file of 40 mixed columns is compared with two steps: pandas reads the file, and a
detector is fitted to the numbers that the columns become. The number of rows can be given on the
command line; the promise is about 100,000.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from timing import report, seconds

from boreod import Detector
from boreod.tables import Preparation, read_label_column, read_table

ROWS = 100_000
BAR = 1.5


def make_table(rows: int) -> pd.DataFrame:
    """Return 40 columns and labels; frauds have large amounts and a few merchants."""
    random = np.random.default_rng(0)
    fraud = random.random(rows) < 0.01
    amount = random.lognormal(4.0 + fraud, 1.0)
    columns: dict[str, object] = {
        "payment": [f"p{number:09d}" for number in random.permutation(rows)],
        "amount": [f"${value:,.2f}" for value in amount],
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(rows) * 60, "s"),
        "opened": [f"{d:02d}.{m:02d}.20{y}" for d, m, y in random.integers(10, 13, (rows, 3))],
        "memo": [f"to {'x' * n} for {n * 7} things" for n in random.integers(1, 40, rows)],
    }
    for place in range(5):
        merchants = np.where(fraud, random.integers(0, 40, rows), random.zipf(1.2, rows) % 5000)
        columns[f"merchant_{place}"] = [f"M{number:04d}" for number in merchants]
        columns[f"country_{place}"] = random.choice(["DE", "FR", "IT", "US", ""], rows)
    for place in range(25):
        values = random.normal(size=rows) + fraud * (place < 5)
        columns[f"x{place}"] = np.where(random.random(rows) < 0.01 * (place % 3), np.nan, values)
    return pd.DataFrame({**columns, "fraud": fraud.astype(int)})


def main() -> None:
    """Print how long both ways take, in parts, and whether the promise is kept."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payments.csv"
        make_table(rows).to_csv(path, index=False)
        table = read_table(path, types={"fraud": "text"})
        codes = read_label_column(table["fraud"])
        preparation = Preparation()
        preparing = seconds(lambda: preparation.fit_transform(table, codes, label="fraud"))
        matrix = preparation.fit_transform(table, codes, label="fraud")
        by_pandas = seconds(lambda: pd.read_csv(path))
        numbers = seconds(lambda: Detector(random_state=0).fit(matrix, codes))
        whole = seconds(lambda: Detector(random_state=0).fit(path, label="fraud"))
    print(f"{rows} rows, 40 columns, {matrix.shape[1]} of numbers: preparation {preparing:.1f} s,")
    print(f"pandas reads in {by_pandas:.1f} s, Detector fits the numbers in {numbers:.1f} s")
    ratio = whole / (by_pandas + numbers)
    report("fit of the file / pandas and numbers", ratio, f"below {BAR}", ratio < BAR)


if __name__ == "__main__":
    main()
