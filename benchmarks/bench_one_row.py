"""One new row against 5000 reference rows: all columns, and one cheap column."""

import numpy as np
from timing import report, seconds

from boreod import OutlierRepresentation


def main() -> None:
    """Measure medians of 1000 calls."""
    random = np.random.default_rng(0)
    model = OutlierRepresentation().fit(random.normal(size=(5000, 20)))
    narrow = model.keep(["knn_10"])
    rows = random.normal(size=(1000, 1, 20))
    for name, fitted, bar in (("all columns", model, 2.0), ("knn_10", narrow, 0.15)):
        fitted.transform(rows[0])
        times = [seconds(lambda row=row, fitted=fitted: fitted.transform(row)) for row in rows]
        median = 1000 * float(np.median(times))
        report(f"one new row, {name}, ms (median)", median, f"below {bar}", median < bar)


if __name__ == "__main__":
    main()
