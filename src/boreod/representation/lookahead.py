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

from boreod.neighbors import NeighborGraph
from boreod.parallel import Engine, Threads, count_threads
from boreod.representation.forecast import (
    PILOT_FROM,
    Forecast,
    Views,
    advise,
    check_memory,
    forecast_fit,
    forecast_memory,
)
from boreod.representation.memory import available_memory
from boreod.text import show_seconds

LISTS = "faiss-ivf"
LARGE_TABLE = 5_000_000  # values; few rows may have very many columns
ALWAYS_FROM = 100_000  # rows; from here on a pilot is a small part of the fit
AFFORDABLE = 3600.0  # seconds of an exact fit, beyond which "auto" looks for something else
WORTH_IT = 2.0  # times as fast
WORTH_SAYING = 60.0  # seconds


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
        Neighbor spaces with the scores planned in them.
    neighbors
        The search that was asked for.
    engine
        Runs the fit.
    bagging
        What is learned afterwards.

    Raises
    ------
    MemoryForecastError
        If the fit would not fit into memory.
    """
    n_rows, n_raw = points.shape
    asked = isinstance(neighbors, str) and neighbors == LISTS
    if asked and n_rows < PILOT_FROM:
        _stay_exact(f"Inverted lists save nothing in tables of fewer than {PILOT_FROM} rows")
        return "auto"
    if (n_rows < PILOT_FROM and points.size < LARGE_TABLE) or not views:
        return neighbors
    n_threads = engine.n_threads if isinstance(engine, Threads) else count_threads(-1)
    memory = forecast_memory(n_rows, n_raw, views, neighbors, n_threads, bagging.n_bags)
    check_memory(memory, available_memory())
    local = isinstance(engine, Threads)  # a cluster keeps its own time
    verbose = isinstance(engine, Threads) and engine.verbose
    tells = local and (verbose or n_rows >= ALWAYS_FROM)
    if n_rows < PILOT_FROM or not (asked or tells):
        return neighbors
    forecast = partial(
        forecast_fit,
        points,
        views,
        n_threads=n_threads,
        n_bags=bagging.n_bags,
        bag_rows=bagging.bag_rows,
    )
    found = forecast("auto" if asked else neighbors)
    if asked or (neighbors == "auto" and _seconds(found) > AFFORDABLE and _can_list(views)):
        lists = forecast(LISTS)
        neighbors = _weigh(found, lists, asked)
        found = lists if neighbors == LISTS else found
    if local:
        _say(found, verbose)
    return neighbors


def tell_recall(graph: NeighborGraph, view: str) -> None:
    """Print what an approximate search found.

    Parameters
    ----------
    graph
        Whose search it is.
    view
        Name of the view.
    """
    if graph.recall is not None:
        where = f" in the view {view}" if view else ""
        print(f"{graph.backend.name}{where}: {graph.recall}.", file=sys.stderr)  # noqa: T201


def _can_list(views: Views) -> bool:
    """Whether inverted lists could be used at all."""
    manhattan = any(space.metric == "manhattan" and space.rows is None for space, _ in views)
    return find_spec("faiss") is not None and not manhattan


def _weigh(exact: Forecast, lists: Forecast, asked: bool) -> str:
    """Return the exact search unless inverted lists make the whole fit twice as fast."""
    ratio = _seconds(exact) / _seconds(lists)
    times = f"{show_seconds(_seconds(lists))} in place of {show_seconds(_seconds(exact))}"
    if ratio >= WORTH_IT:
        if not asked:
            warnings.warn(
                f"Neighbors are searched approximately, in inverted lists: {times}. Their recall "
                "is measured. Pass neighbors='brute' for exact search, or a `reference_size`.",
                SearchWarning,
                stacklevel=7,
            )
        return LISTS
    if asked:
        _stay_exact(f"Inverted lists would make this fit {ratio:.1f} times as fast ({times})")
    return "auto"


def _stay_exact(reason: str) -> None:
    warnings.warn(
        f"{reason}. That is not worth missing neighbors, so search stays exact; pass "
        "InvertedLists() to use them all the same.",
        SearchWarning,
        stacklevel=7,
    )


def _seconds(forecast: Forecast) -> float:
    return max(forecast.seconds or 0.0, 1e-9)


def _say(forecast: Forecast, verbose: bool) -> None:
    """Say what a fit will take if that is long, or if somebody wants to know."""
    if verbose or _seconds(forecast) > WORTH_SAYING:
        print(forecast, file=sys.stderr)  # noqa: T201
    advice = advise(forecast)
    if advice is not None:
        warnings.warn(advice, SearchWarning, stacklevel=7)
