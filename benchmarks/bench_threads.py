"""Measure how much a second thread speeds up the representation of 100000 rows, d = 20."""

from mixtures import compile_everything, make_mixture
from timing import best_of_both, report

from boreod import OutlierRepresentation

N = 100_000


def main() -> None:
    """Compare one thread with two."""
    compile_everything()
    rows, _ = make_mixture(N)
    for search in ("brute", "auto"):
        one, two = (OutlierRepresentation(neighbors=search, n_jobs=jobs) for jobs in (1, 2))
        taken = best_of_both(
            lambda one=one: one.fit_transform(rows), lambda two=two: two.fit_transform(rows), 2
        )
        print(f"{search}: {taken[0]:.1f} s with one thread, {taken[1]:.1f} s with two")
        ratio = taken[0] / taken[1]
        report(f"one thread / two, {search}", ratio, "at least 1.6", ratio >= 1.6)


if __name__ == "__main__":
    main()
