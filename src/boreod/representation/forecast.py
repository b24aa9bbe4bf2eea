"""A forecast before long work: the time and the memory that a fit will take.

Memory is counted, array by array, from the numbers of rows, columns and ks; that costs nothing.
Time is measured on a pilot: some blocks of rows are searched among all rows, and a small sample is
scored by the same plan. Small tables have no pilot, because nobody waits long for them.

Detectors of other libraries, classifiers in the place of logistic regression, the choice of columns
for a budget and compiled code (about 70 MB once in a process) are not part of a forecast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from boreod.representation.pilot import time_bags, time_view
from boreod.representation.plan import PlannedScore
from boreod.representation.views import Space
from boreod.text import show_bytes, show_seconds

PILOT_FROM = 20_000  # rows; the pilot of smaller tables would be a large part of their fit
# Bytes per value of a reference row that the search holds beside it: float32 columns or a tree.
# "auto" chooses one of these two later; others hold the most.
SEARCH_BYTES = {"brute": 5, "tree": 11, "auto": 8}
GIVEN_BACK = 2**25  # bytes; smaller arrays go back to the allocator, not to the system
COPIES = 3  # of a table: as it is read, as columns, as rows of numbers
THREAD_BYTES = 6_000_000  # of one thread: blocks of rows, buffers of linear algebra
LONG = 600.0  # seconds; worth a sentence of advice
SHORT = 120.0  # seconds; what the advice aims at
ROOM = 0.65  # share of the memory left that advice uses: rows of small tables take a little more
FEWEST_ROWS = 1000  # that advice proposes
FEW_SCORES = ("knn", "lof")

Views = Sequence[tuple[Space, list[PlannedScore]]]


class MemoryForecastError(MemoryError):
    """A fit would take more memory than there is."""


@dataclass(frozen=True)
class Forecast:
    """What a fit will take.

    Attributes
    ----------
    n_rows, n_columns
        Rows that are learned from; columns of their representation.
    backend
        The search: what was asked for, or what the pilot chose.
    memory
        Bytes at the moment when most are held, by what holds them.
    options
        Bytes that other parameters would take.
    parts
        Seconds by kind of work, empty without a pilot.
    growth
        The time to search one row grows with this power of the number of rows.
    """

    n_rows: int
    n_columns: int
    backend: str
    memory: Mapping[str, int]
    options: Mapping[str, int]
    parts: Mapping[str, float]
    growth: float = 1.0

    @property
    def bytes(self) -> int:
        """Memory at the peak, above what the process has now."""
        return sum(self.memory.values())

    @property
    def seconds(self) -> float | None:
        """Time of the fit, None without a pilot."""
        return sum(self.parts.values()) if self.parts else None

    def __str__(self) -> str:
        """Say it in a sentence."""
        duration = "" if self.seconds is None else f"{show_seconds(self.seconds)} and "
        return (
            f"About {duration}{show_bytes(self.bytes)} for {self.n_rows} rows and "
            f"{self.n_columns} columns ({self.backend})."
        )

    def with_reference(self, size: int) -> "Forecast":
        """Return the forecast for a sample of the rows, which keeps all labelled outliers."""
        share = size / self.n_rows
        powers = {"neighbor search": 1.0 + self.growth, "scores": 1.0, "bags": 0.0}
        return replace(
            self,
            n_rows=size,
            memory={name: int(share * held) for name, held in self.memory.items()},
            parts={name: share ** powers[name] * took for name, took in self.parts.items()},
        )


def forecast_memory(
    n_rows: int, n_raw: int, views: Views, backend: Any, n_threads: int, n_bags: int
) -> Forecast:
    """Return a forecast without times, which takes no time itself.

    Parameters
    ----------
    n_rows, n_raw
        Rows and columns of the table.
    views
        Neighbor spaces with the scores planned in them.
    backend
        The search that was asked for.
    n_threads
        Number of threads.
    n_bags
        Number of bags, 0 if nothing is learned.
    """
    name = backend if isinstance(backend, str) else type(backend).__name__
    count = partial(_count_memory, n_rows, n_raw, name, n_threads, n_bags)
    others = {text: _narrowed(views, keep) for text, keep in _narrower(views).items()}
    return Forecast(
        n_rows,
        n_raw + _count_scores(views),
        f"search: {name}",
        count(views),
        {text: sum(count(narrow).values()) for text, narrow in others.items()},
        {},
    )


def forecast_fit(
    points: NDArray,
    views: Views,
    backend: Any,
    n_threads: int,
    n_bags: int,
    bag_rows: int = 0,
) -> Forecast:
    """Return the time and memory that a fit will take.

    Parameters
    ----------
    points
        Rows to be fitted, float64 in C order.
    views, backend, n_threads, n_bags
        As in :func:`forecast_memory`.
    bag_rows
        Number of rows of a bag, 0 if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from boreod.representation.plan import make_plan, read_scores
    >>> from boreod.representation.views import resolve_views
    >>> points = np.random.default_rng(0).normal(size=(5000, 3))
    >>> space = resolve_views("full", 5000, ["a", "b", "c"], np.random.RandomState(0))[0]
    >>> plan, _ = make_plan(read_scores(["knn", "lof"])[0], (5, 10), 5000, "")
    >>> print(forecast_fit(points, [(space, plan)], "auto", n_threads=1, n_bags=50))
    About 14 MB for 5000 rows and 7 columns (search: auto).
    """
    n_rows, n_raw = points.shape
    forecast = forecast_memory(n_rows, n_raw, views, backend, n_threads, n_bags)
    if n_rows < PILOT_FROM or not views:
        return forecast
    pilots = [
        # samples are small, and always searched by what is fastest
        time_view(points, space, plan, backend if space.rows is None else "auto", n_threads)
        for space, plan in views
    ]
    parts = {
        "neighbor search": sum(pilot.search for pilot in pilots),
        "scores": sum(pilot.scores for pilot in pilots),
    }
    if n_bags:
        parts["bags"] = time_bags(n_rows, forecast.n_columns, n_bags, bag_rows, n_threads)
    return replace(
        forecast,
        backend="; ".join(sorted({pilot.backend for pilot in pilots})),
        parts=parts,
        growth=max(pilots, key=lambda pilot: pilot.search).growth,
    )


def check_memory(forecast: Forecast, available: int) -> None:
    """Raise if a fit will not fit into memory, and say what would.

    Parameters
    ----------
    forecast
        Of the fit.
    available
        Bytes that may be taken, see :func:`boreod.representation.memory.available_memory`.
    """
    if forecast.bytes <= available:
        return
    room = int(ROOM * available)
    fitting = [
        f"{text} ({show_bytes(size)})" for text, size in forecast.options.items() if size <= room
    ]
    sizes = [s for s in _sizes_below(forecast.n_rows) if forecast.with_reference(s).bytes <= room]
    if sizes:
        needed = show_bytes(forecast.with_reference(sizes[-1]).bytes)
        fitting.insert(
            0,
            f"reference_size={sizes[-1]} ({needed}; `boreod fit --reference-size {sizes[-1]}` for "
            "a table on disk)",
        )
    remedy = f"What would: {', or '.join(fitting)}" if fitting else "Use a machine with more memory"
    raise MemoryForecastError(
        f"A fit of {forecast.n_rows} rows with {forecast.n_columns} columns takes about "
        f"{show_bytes(forecast.bytes)}, and {show_bytes(available)} are left, so it would not fit "
        f"into memory. {remedy}; a budget does not help, because it is chosen after the fit."
    )


def check_reading(n_rows: int, n_bytes: int, available: int) -> None:
    """Raise if a table that is elsewhere cannot even be brought here.

    Parameters
    ----------
    n_rows, n_bytes
        Rows, and bytes of their values, known or seen so far.
    available
        As in :func:`check_memory`.
    """
    needed = COPIES * n_bytes
    if needed <= available:
        return
    fits = ROOM * available / needed * n_rows / COPIES  # the fit itself needs room, too
    sizes = [size for size in _sizes_below(n_rows) if size <= fits]
    remedy = f"reference_size={sizes[-1]}" if sizes else "reference_size, a small one"
    raise MemoryForecastError(
        f"The table does not fit into memory: {n_rows} rows take about {show_bytes(needed)} to be "
        f"read, and {show_bytes(available)} are left. Learn from a sample: {remedy} "
        "(--reference-size)."
    )


def advise(forecast: Forecast) -> str | None:
    """Return how long work could be made short, None if it is not long.

    Parameters
    ----------
    forecast
        Of the fit.
    """
    if forecast.seconds is None or forecast.seconds <= LONG:
        return None
    samples = [forecast.with_reference(size) for size in _sizes_below(forecast.n_rows)]
    times = [(sample.seconds or 0.0, sample.n_rows) for sample in samples]
    shortest = min(times)[0]
    took, size = max(pair for pair in times if pair[0] <= max(SHORT, 1.5 * shortest))
    return (
        f"This fit will take about {show_seconds(forecast.seconds)}; with reference_size={size} "
        f"(all labelled outliers and a sample of the other rows) it would take about "
        f"{show_seconds(took)}."
    )


def _sizes_below(n_rows: int) -> list[int]:
    """Return round numbers of rows, ascending."""
    powers = range(3, 12)
    sizes = [int(digits * 10**power) for power in powers for digits in (1, 1.5, 2, 3, 5, 7)]
    return [size for size in sizes if FEWEST_ROWS <= size < n_rows]


Keep = Callable[[PlannedScore], PlannedScore | None]


def _narrower(views: Views) -> dict[str, Keep]:
    """Return ways to ask for less, by the parameter that does so."""
    scores = [p for _, plan in views for p in plan]
    if not scores:
        return {}
    ways: dict[str, Keep] = {}
    ks = sorted({k for p in scores for k in p.ks})
    least = max(p.definition.min_k for p in scores)  # lower ones alone would be refused
    last = max(ks[(len(ks) - 1) // 4], min(k for k in ks if k >= least))
    low = [k for k in ks if k <= last]
    if len(low) < len(ks):
        ways[f"ks={low}"] = lambda p: replace(p, ks=tuple(k for k in p.ks if k in low))
    labels = list(dict.fromkeys(p.label for p in scores))
    few = [label for label in FEW_SCORES if label in labels] or labels[:1]
    if len(few) < len(labels):
        ways[f"scores={few}"] = lambda p: p if p.label in few else None
    return ways


def _narrowed(views: Views, keep: Keep) -> Views:
    kept = [
        (space, [p for p in map(keep, plan) if p is not None and p.ks]) for space, plan in views
    ]
    return [(space, plan) for space, plan in kept if plan]


def _count_scores(views: Views) -> int:
    return sum(len(p.ks) for _, plan in views for p in plan)


def _count_memory(
    n_rows: int, n_raw: int, backend: str, n_threads: int, n_bags: int, views: Views
) -> dict[str, int]:
    """Return bytes by what holds them, at the moment when most are held."""
    n_scores = _count_scores(views)
    held, lists = 16 * n_rows, 0  # hashes of the rows; more follows with every view
    for space, plan in views:
        size = n_rows if space.rows is None else len(space.rows)
        held += size * _bytes_to_keep(len(space.columns), plan, backend)
        lists = max(lists, size * _bytes_of_lists(plan))
    scores, table = 8 * n_rows * n_scores, 8 * n_rows * (n_scores + n_raw)
    # log-odds, probabilities, a temporary of their size, and three times who may speak
    bags = (3 * 8 + 3) * n_rows * n_bags
    # What is gone stays with the process if it was in small pieces: the scores when bags are drawn,
    # and a copy of all inliers when log-odds come.
    columns_at_once = max((len(p.ks) for _, plan in views for p in plan), default=0)
    gone = scores if 8 * n_rows * columns_at_once < GIVEN_BACK else 0
    copy_and_bags = table + bags if table < GIVEN_BACK else max(table, bags)
    moments = [
        {"neighbor lists": lists, "scores": scores},
        {"scores": scores, "table": table + 8 * n_rows * n_raw},
        {"scores": gone, "table": 2 * table, "bags": copy_and_bags} if n_bags else {},
    ]
    largest = max(moments, key=lambda moment: sum(moment.values()))
    return {"reference rows": held, **largest, "work in progress": n_threads * THREAD_BYTES}


def _bytes_to_keep(n_columns: int, plan: list[PlannedScore], backend: str) -> int:
    """Return the bytes of one reference row that a fitted view remembers."""
    rows = 8 * n_columns + 16  # as the metric wants them, and who is whose copy
    search = SEARCH_BYTES.get(backend, 12) * n_columns + 8
    radii = 8 * sum(len(ks) for ks in {p.ks for p in plan})
    frozen = 8 * sum(
        len(p.ks) * len(p.definition.descriptions) for p in plan if p.definition.compares()
    )
    return rows + search + radii + frozen


def _bytes_of_lists(plan: list[PlannedScore]) -> int:
    """Return the bytes of one reference row that only its own scores need."""
    reverse = max((p.ks[-1] for p in plan if p.definition.reads == "reverse"), default=0)
    return 12 * (max(p.ks[-1] for p in plan) + reverse) + 16
