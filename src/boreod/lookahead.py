"""What is decided before long work: whether it fits into memory, and which search it uses.

Search is exact unless somebody asks otherwise or nobody could wait for it. An approximate search
must be worth it: one that would not make the whole fit twice as fast is not used, aloud.
"""

import sys
import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

from boreod.engine import Engine, Threads
from boreod.forecast import (
    PILOT_FROM,
    Forecast,
    Views,
    advise,
    check_memory,
    forecast_fit,
    forecast_memory,
    show_seconds,
)
from boreod.memory import available_memory

LISTS = "faiss-ivf"
LARGE_TABLE = 5_000_000  # values; few rows may have very many columns
ALWAYS_FROM = 100_000  # rows; from here on a pilot is a small part of the fit
AFFORDABLE = 3600.0  # seconds of an exact fit, beyond which "auto" looks for something else
WORTH_IT = 2.0  # times as fast


class SearchWarning(UserWarning):
    """Another search than the one asked for is used, or the search will take long."""


@dataclass(frozen=True)
class Bagging:
    """What follows the representation: so many bags of so many rows."""

    n_bags: int = 0
    bag_rows: int = 0


def look_ahead(
    points: NDArray, views: Views, neighbors: Any, engine: Engine, bagging: Bagging
) -> Any:
    """Return the search to use, after a look at what the fit will take.

    Parameters
    ----------
    points
        Rows to be fitted.
    views
        Neighbor spaces with the scorers planned in them.
    neighbors
        The search that was asked for.
    engine
        Runs the fit; it says what is forecast if it is verbose.
    bagging
        What is learned afterwards.

    Raises
    ------
    MemoryForecastError
        If the fit would not fit into memory.
    """
    n_rows, n_raw = points.shape
    if (n_rows < PILOT_FROM and points.size < LARGE_TABLE) or not views:
        return neighbors
    n_threads = engine.n_threads if isinstance(engine, Threads) else 1
    memory = forecast_memory(n_rows, n_raw, views, neighbors, n_threads, bagging.n_bags)
    check_memory(memory, available_memory())
    asked = isinstance(neighbors, str) and neighbors == LISTS
    if not isinstance(engine, Threads):  # a cluster keeps its own time
        return neighbors
    if n_rows < PILOT_FROM or not (asked or engine.verbose or n_rows >= ALWAYS_FROM):
        return neighbors
    forecast = partial(
        forecast_fit,
        points,
        views,
        n_threads=n_threads,
        n_bags=bagging.n_bags,
        bag_rows=bagging.bag_rows,
    )
    if asked:
        return _weigh(forecast("auto"), forecast(LISTS), engine)
    found = forecast(neighbors)
    if neighbors == "auto" and _seconds(found) > AFFORDABLE and find_spec("faiss") is not None:
        return _weigh(found, forecast(LISTS), engine, unasked=True)
    _say(found, engine)
    advice = advise(found)
    if advice is not None:
        warnings.warn(advice, SearchWarning, stacklevel=6)
    return neighbors


def _weigh(exact: Forecast, lists: Forecast, engine: Threads, unasked: bool = False) -> str:
    """Return the exact search unless inverted lists make the whole fit twice as fast."""
    ratio = _seconds(exact) / _seconds(lists)
    times = f"{show_seconds(_seconds(lists))} in place of {show_seconds(_seconds(exact))}"
    if ratio >= WORTH_IT:
        _say(lists, engine)
        if unasked:
            warnings.warn(
                f"Neighbors are searched approximately, in inverted lists: {times}. Their recall "
                "is measured. Pass neighbors='brute' for exact search, or a `reference_size`.",
                SearchWarning,
                stacklevel=7,
            )
        return LISTS
    _say(exact, engine)
    if not unasked:
        warnings.warn(
            f"Inverted lists would make this fit {ratio:.1f} times as fast ({times}), which is not "
            f"worth missing neighbors, so search stays exact. Pass InvertedLists() to use them all "
            "the same.",
            SearchWarning,
            stacklevel=7,
        )
    return "auto"


def _seconds(forecast: Forecast) -> float:
    return max(forecast.seconds or 0.0, 1e-9)


def _say(forecast: Forecast, engine: Threads) -> None:
    if engine.verbose:
        print(forecast, file=sys.stderr)  # noqa: T201
