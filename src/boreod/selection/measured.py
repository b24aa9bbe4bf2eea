"""Measured costs: seconds per row of every part of a prediction, on this machine.

Search and scores are timed apart, on a few training rows and one thread. A score is timed at its
smallest, a middle and its largest k, and at all k together. If all together take less than the sum
of the single ones, the difference is work that its columns share. Prices hold a reserve of a
quarter. The same parts are timed for many rows here and for calls of few rows in
:mod:`boreod.selection.calls`.

Prices are remembered, so that two fits of one table buy the same columns. The folder ``prices`` of
the cache has one JSON file per machine, version of boreod, shape of the table and work that was
timed. All of it can be measured again: a file that is not exactly what was written is ignored,
prices that cannot be written are not remembered, and the folder can be deleted at any time.
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import __version__, cache_folder, whole_file
from boreod.neighbors import SEARCH_ROWS, Block, Ks, distinct_rows
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import FittedScore, ScoredView
from boreod.selection.costs import SECONDS, Costs, kind_of_tree

# Work of every prediction is timed for so many seconds, because other processes may disturb it.
PATIENCE = 0.02
SCORE_ROWS = 64
# Batches with cold caches take longer than the fastest of some warm calls.
RESERVE = 1.25
# Work with expensive calls is timed with so many rows, so that its price is that of a batch.
CALL_ROWS = 1024
# No column is free.
MIN_SECONDS = 1e-9
MOST_FILES = 200
# All files together, and so each of them, have at most so many bytes.
MOST_BYTES = 2**25

Facts = dict[str, Any]
ByK = dict[int, float]
Work = Callable[[NDArray], object]
Parts = list[Block]


@dataclass(frozen=True)
class Clock:
    """Times work per row, with the reserve, for many rows at once."""

    rows: NDArray

    def search(self, work: Work) -> float:
        """Time some work on the rows."""
        return seconds(lambda: work(self.rows)) / len(self.rows)

    def parts(self, block: Block, most: int) -> Parts:
        """Return the rows of a block as scores get them, at most ``most`` at once."""
        return [block.part(slice(0, min(len(block.points), most)))]

    def score(self, work: Callable[[Block], object], parts: Parts) -> float:
        """Time some work on parts of a block."""
        return seconds(lambda: work(parts[0])) / len(parts[0].points)


def measured_costs(
    fitted: FittedColumns, sample: NDArray, per_row: Work, per_column: Work, typical: NDArray
) -> Costs:
    """Return costs in seconds per row, with shared parts, measured on distinct training rows.

    ``per_row`` takes rows and does the work that does not depend on columns. ``per_column`` takes
    columns of ``typical`` values and does the work of each column. The caller keeps linear algebra
    to one thread.
    """
    many = sample[np.arange(CALL_ROWS) % len(sample)]
    each = seconds(lambda: per_column(typical), PATIENCE) / typical.size
    own = dict.fromkeys(fitted.names, max(each, MIN_SECONDS))
    for detector in fitted.detectors:
        own[detector.label] += seconds(partial(detector.score, many)) / CALL_ROWS
    needs: dict[str, dict[str, float]] = {}
    base = seconds(lambda: (distinct_rows(many), per_row(many)), PATIENCE) / CALL_ROWS
    for view in fitted.views:
        for name, work, needed in time_view(view, Clock(sample)):
            own[name] += work
            needs[name] = needed
    return Costs(own, needs, base, SECONDS)


def measured_trees(heads: Mapping[str, tuple[Callable[[], object], int]]) -> dict[str, float]:
    """Return seconds per row of a tree of each kind, the highest of its heads.

    Heads come with their work for CALL_ROWS rows and the number of their trees in all bags.
    """
    prices: dict[str, float] = {}
    for head, (work, n_trees) in heads.items():
        kind = kind_of_tree(head)
        each = seconds(work, PATIENCE) / (CALL_ROWS * n_trees)
        prices[kind] = max(each, prices.get(kind, MIN_SECONDS))
    return prices


def sample_rows(points: NDArray) -> NDArray:
    """Return distinct rows, spread over a table, as many as a search handles together."""
    distinct = distinct_rows(points)[0]
    chosen = distinct[:: max(1, len(distinct) // SEARCH_ROWS)][:SEARCH_ROWS]
    return np.ascontiguousarray(points[chosen])


def seconds(work: Callable[[], object], patience: float = 0.0) -> float:
    """Return the seconds of the fastest of some calls with the reserve; the first may compile.

    There are at least three calls, and more while they take less than the patience in seconds. They
    end when the two fastest ones agree.
    """
    times: list[float] = []
    while True:
        # The time is that of all threads, because searches of other libraries may have several.
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
        fastest = sorted(times)[:2]
        agree = len(times) > 1 and fastest[1] <= 1.1 * fastest[0]
        if agree or (len(times) > 2 and sum(times) >= patience):
            return RESERVE * fastest[0]


def time_view(view: ScoredView, clock: Clock) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Time search and scores of a view; yield name, own work and needs of its columns."""
    name = view.space.name

    def search(k: int, reverse_k: int) -> float:
        graph = view.graph.narrowed((k,), reverse_k)
        return clock.search(lambda rows: graph.new_block(view.place(rows), view.known.find(rows)))

    ks = view.graph.ks
    searches = _at_all(ks, lambda k: search(k, 0))
    reverse_ks = tuple(k for k in ks if k <= view.graph.reverse_k)
    reverse = _at_all(reverse_ks, lambda k: max(0.0, search(k, k) - searches[k]))
    block = view.search(clock.rows).part(slice(0, min(len(clock.rows), SCORE_ROWS)))
    for s in view.scores:
        alone, together, geometry = _time_score(view, s, block, clock)
        for k, column in zip(s.ks, s.column_names(name), strict=True):
            # Novelty needs ``near`` neighbors of every row.
            depth = max(k, view.near)
            needs = {f"search@{name}": searches[depth], f"{s.label} scores@{name}": together[k]}
            if s.definition.reads == "reverse":
                needs[f"reverse@{name}"] = reverse[k]
            if s.definition.reads == "geometry":
                needs[f"geometry@{name}"] = geometry[k]
            yield column, alone[k], needs


def _time_score(
    view: ScoredView, s: FittedScore, block: Block, clock: Clock
) -> tuple[ByK, ByK, ByK]:
    """Return seconds per row: of every column alone, shared by those of lower k, in geometry."""
    reads_geometry = s.definition.reads == "geometry"
    most = min(view.geometry_rows, 6) if reads_geometry else SCORE_ROWS
    # Known parts keep their geometry; fresh parts have to compute it.
    known = clock.parts(block, most)

    def work(ks: Ks) -> tuple[float, float]:
        narrow = replace(view, scores=[s.keep(ks)])
        fresh = lambda part: narrow.score(part.part(slice(0, len(part.points))))  # noqa: E731
        everything = clock.score(fresh, known)
        scoring = clock.score(narrow.score, known) if reads_geometry else everything
        return scoring, max(0.0, everything - scoring)

    timed = {k: work((k,)) for k in _probes(s.ks)}
    single = _at_all(s.ks, lambda k: timed[k][0])
    geometry = _at_all(s.ks, lambda k: timed[k][1])
    share = 1.0
    if len(s.ks) > 1:
        # The time that columns of lower k add to that of the largest, as a share of their own.
        deepest = single[s.ks[-1]]
        extra = work(s.ks)[0] - deepest
        share = min(1.0, max(0.0, extra / (sum(single.values()) - deepest)))
    alone = {k: share * seconds_at_k for k, seconds_at_k in single.items()}
    return alone, {k: single[k] - alone[k] for k in s.ks}, geometry


def _probes(ks: Ks) -> Ks:
    """Return the smallest, a middle and the largest k."""
    return tuple(sorted({ks[0], ks[len(ks) // 2], ks[-1]})) if ks else ()


def _at_all(ks: Ks, measure: Callable[[int], float]) -> ByK:
    """Measure at a few ks and interpolate; lines are above times that grow faster and faster.

    A smaller k never costs more than a larger one; if it seems to, that is noise.
    """
    probes = _probes(ks)
    if not probes:
        return {}
    times = np.minimum.accumulate([measure(k) for k in probes][::-1])[::-1]
    return dict(zip(ks, np.interp(ks, probes, times).tolist(), strict=True))


def remembered_costs(
    facts: Facts,
    names: list[str],
    measure: Callable[[], Costs],
    *,
    fresh: bool = False,
    rows: Costs | None = None,
) -> Costs:
    """Return prices of columns that were measured before, or measure them and remember them.

    Remembered prices have the same ``facts``, see :func:`facts_of_prices`; fresh ones are always
    measured. Prices of calls belong to those of ``rows``, and are written to the same file.
    """

    def read() -> Costs | None:
        known = _read(facts, names)
        whole = known is None or rows is None or (known.call and known.of_rows() == rows)
        return known if whole else None

    known = None if fresh else read()
    if known is not None:
        return known
    costs = measure()
    # Another process may have been faster; both then use its prices.
    if not fresh:
        known = read()
    if known is None:
        _write(facts, costs)
    return known or costs


def facts_of_prices(fitted: FittedColumns, shape: tuple[int, int], work: Facts) -> Facts:
    """Return all that prices depend on and that is the same in two fits of one table.

    ``work`` describes the work that is done besides computing columns.
    """
    return {
        "boreod": __version__,
        "prices": "of rows, and of calls if asked for; one kernel for scores of distances",
        "machine": _machine(),
        "table": list(shape),
        "work": plain(work),
        "views": [_describe(view) for view in fitted.views],
        "detectors": {d.label: plain(d.work) for d in fitted.detectors},
        "columns": list(fitted.names),
    }


def plain(value: Any) -> Any:
    """Return a value as JSON that does not depend on seeds or addresses in memory.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> plain(KNeighborsTransformer(n_neighbors=7))["KNeighborsTransformer"]["n_neighbors"]
    7
    >>> plain(("tree", np.int64(3), np.zeros(2)))
    ['tree', 3, 'ndarray']
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str | None):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        named = {str(name): item for name, item in value.items() if name != "random_state"}
        return {name: plain(named[name]) for name in sorted(named)}
    kind = type(value).__name__
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {kind: plain(value.get_params(deep=False))}
    return {kind: plain(vars(value))} if is_dataclass(value) else kind


def _describe(view: ScoredView) -> list[Any]:
    space = view.space
    scores = [
        [s.label, type(s.definition).__name__, plain(s.definition.parameters()), list(s.ks)]
        for s in view.scores
    ]
    return [space.name, space.metric, len(space.columns), len(view.graph.reference), scores]


@cache
def _machine() -> Facts:
    """Return what makes one machine faster than another."""
    facts: Facts = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "numba", "scikit-learn"):
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def _processor() -> str:
    """Return the model of the processor, if the system knows it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _place(facts: Facts) -> Path:
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return cache_folder() / "prices" / f"{key[:32]}.json"


def _digest(facts: Facts, costs: Any) -> str:
    return hashlib.sha256(json.dumps([facts, costs]).encode()).hexdigest()


def _read(facts: Facts, names: list[str]) -> Costs | None:
    """Return the prices of a file; None if there is none or if it is not as it was written."""
    # A file that is not ours may raise any of these errors.
    with suppress(OSError, ValueError, TypeError, LookupError, RuntimeError):
        path = _place(facts)
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        held = json.loads(path.read_bytes())
        if held["sha256"] != _digest(facts, held["costs"]):
            return None
        stored = dict(held["costs"])
        for name in ("call", "few"):
            stored[name] = stored[name] and Costs(**stored[name])
        costs = Costs(**stored)
        if costs.names == names and costs.unit == SECONDS:
            # Files that are used are not old.
            with suppress(OSError):
                os.utime(path)
            return costs
    return None


def _write(facts: Facts, costs: Costs) -> None:
    # There may be no home, no permission or no space.
    with suppress(OSError, RuntimeError):
        stored = asdict(costs)
        held = {"facts": facts, "costs": stored, "sha256": _digest(facts, stored)}
        path = _place(facts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as unfinished:
            unfinished.write_text(json.dumps(held), encoding="ascii")
        _forget_old(path.parent)


def _forget_old(folder: Path) -> None:
    """Remove the files that were unused for longest, and those that a killed process left."""
    found = []
    for path in [*folder.glob("*.json"), *folder.glob(".*.part")]:
        # Another process may remove them too.
        with suppress(OSError):
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    total = 0
    for place, (_, size, path) in enumerate(sorted(found, reverse=True)):
        total += size
        if place >= MOST_FILES or total > MOST_BYTES:
            with suppress(OSError):
                path.unlink()
