"""Measured prices that are remembered, so that two fits of one table buy the same columns.

The folder ``prices`` of the cache has one JSON file per machine, version of boreod, shape of the
table and work that was timed. What is in it can be measured again: a file that is not exactly what
was written counts as none, what cannot be written is not remembered, and the folder can be deleted
at any time.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from boreod.files import __version__, cache_folder, whole_file
from boreod.representation.columns import FittedColumns, KnownView
from boreod.selection.costs import SECONDS, Costs

MOST_FILES = 200
MOST_BYTES = 2**25  # of all files together, and so of one
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")

Facts = dict[str, Any]
DAMAGE = (OSError, ValueError, TypeError, LookupError, RuntimeError)  # of files that are not ours


def remembered_costs(
    facts: Facts, names: list[str], measure: Callable[[], Costs], *, fresh: bool = False
) -> Costs:
    """Return prices that were measured before, or measure them and remember them.

    Parameters
    ----------
    facts
        What the prices depend on, see :func:`facts_of_prices`.
    names
        Columns that must have a price.
    measure
        Takes the times.
    fresh
        Measure in any case.
    """
    if fresh:
        costs = measure()
        _write(facts, costs)
        return costs
    known = _read(facts, names)
    if known is None:
        costs = measure()
        known = _read(facts, names)  # another process may have been faster: both use its prices
        if known is None:
            _write(facts, costs)
            return costs
    return known


def facts_of_prices(fitted: FittedColumns, shape: tuple[int, int], work: Facts) -> Facts:
    """Return all that prices depend on and that is the same in two fits of one table.

    Parameters
    ----------
    fitted
        All columns.
    shape
        Rows and columns of the training table.
    work
        What is done besides computing columns, and how neighbors are searched.
    """
    return {
        "boreod": __version__,
        "machine": _machine(),
        "table": list(shape),
        "work": plain(work),
        "views": [_describe(view) for view in fitted.views],
        "detectors": {d.label: plain(d.detector) for d in fitted.detectors},
        "columns": list(fitted.names),
    }


def plain(value: Any) -> Any:
    """Return something as JSON that does not depend on seeds or on places in memory.

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


def _describe(view: KnownView) -> list[Any]:
    space, graph = view.scored.space, view.scored.graph
    scores = [
        [s.label, type(s.definition).__name__, plain(s.definition.parameters()), list(s.ks)]
        for s in view.scored.scores
    ]
    return [space.name, space.metric, len(space.columns), len(graph.reference), scores]


@cache
def _machine() -> Facts:
    """Return what makes one machine faster than another."""
    facts: Facts = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def _processor() -> str:
    """Return the model of the processor, as far as the system tells it."""
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
    """Return the prices of a file, None if there is none or if it is not as it was written."""
    with suppress(*DAMAGE):
        path = _place(facts)
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        held = json.loads(path.read_bytes())
        if held["sha256"] != _digest(facts, held["costs"]):
            return None
        costs = Costs(**held["costs"])
        if costs.names == names and costs.unit == SECONDS:
            with suppress(OSError):
                os.utime(path)  # what is used is not old
            return costs
    return None


def _write(facts: Facts, costs: Costs) -> None:
    with suppress(OSError, RuntimeError):  # no home, no permission, no room
        stored = {"own": costs.own, "needs": costs.needs, "base": costs.base, "unit": costs.unit}
        held = {"facts": facts, "costs": stored, "sha256": _digest(facts, stored)}
        path = _place(facts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as unfinished:
            unfinished.write_text(json.dumps(held), encoding="ascii")
        _forget_old(path.parent)


def _forget_old(folder: Path) -> None:
    """Remove the files that were not used for longest, also what a killed process left."""
    found = []
    for path in [*folder.glob("*.json"), *folder.glob(".*.part")]:
        with suppress(OSError):  # another process removes them too
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    total = 0
    for place, (_, size, path) in enumerate(sorted(found, reverse=True)):
        total += size
        if place >= MOST_FILES or total > MOST_BYTES:
            with suppress(OSError):
                path.unlink()
