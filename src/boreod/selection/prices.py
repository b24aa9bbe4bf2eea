"""Price lists of a fitted representation: declared, by complexity, or measured.

=========================  ===========================================================
spelling                   costs
=========================  ===========================================================
``"measured:shared"``      seconds per row on this machine, shared work paid once
``"complexity:shared"``    operations in the paper's units, shared work paid once
``"complexity:additive"``  the same, but every column pays for all its needs
``{"lof_10": 50, ...}``    as declared, additive; raw columns and ``"tree"``, one tree of a
                           tree head, cost 1 by default
``Costs(...)``             any other costs
=========================  ===========================================================

Prices of calls are measured only if a ``batch_size`` is set.

Measured prices are cached, so that two fits to one table buy the same columns. The folder
``prices`` of the cache has one JSON file for each combination of machine, version of boreod, shape
of the table and work that was timed. Prices can always be measured again. So files that were
changed are not read, errors in writing a file are ignored, and users can delete the folder.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.heads import ClassifierHead, LogisticHead, combine
from boreod.ensemble.logistic import add_up
from boreod.ensemble.training import Training
from boreod.files import __version__, cache_folder, typed_json, write_text
from boreod.parallel import one_blas_thread, plain_interrupts
from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import ScoredView
from boreod.selection.budgets import needs_clock
from boreod.selection.costs import SECONDS, Costs, complexity_costs, declared_costs, kind_of_tree
from boreod.selection.measured import (
    CALL_ROWS,
    measured_costs,
    measured_trees,
    repeated,
    time_whole,
    with_calls,
)
from boreod.validation import check_values

MAX_LISTS = 4
MOST_FILES = 200
# The largest total size of all files in bytes, which also limits each file.
MOST_BYTES = 2**25

Facts = dict[str, Any]


@dataclass
class PriceLists:
    """All price lists of the columns of a model.

    ``whole`` is the detector with all columns and heads. ``rows`` holds the rows on which times are
    measured. ``neighbors`` is the search back end that the user set. If ``fresh`` is true, times
    are measured even if the cache holds prices. ``measured`` holds the measured costs, with or
    without prices of calls. It is None before the first measurement.
    """

    training: Training
    whole: Fitted
    rows: NDArray
    neighbors: Any
    fresh: bool = False
    measured: Costs | None = field(default=None, init=False)
    _known: list[tuple[Any, Costs]] = field(default_factory=list, init=False)

    def time_alone(self, fitted: Fitted) -> float:
        """Return the measured seconds of a call with one row, for a detector with some columns."""
        name = "a row alone"
        choice = [fitted.columns.names, [m.kind for m in fitted.members], fitted.tree_counts]

        def measure() -> Costs:
            return Costs({name: time_whole(fitted, self.rows, 1)}, unit=SECONDS)

        facts = self._facts | {name: choice}
        return remembered_costs(facts, [name], measure, fresh=self.fresh).total()

    @cached_property
    def _facts(self) -> Facts:
        """The facts that measured prices depend on."""
        training = self.training
        whole = self.whole
        work: Facts = {
            "neighbors": self.neighbors,
            "bags": len(training.bags.rows),
            "scaling": training.scaler.kind,
            "input_scaling": whole.input_scaler is not None,
            "estimator": training.options.recipe.estimator,
            "heads": [member.kind for member in whole.members],
            "trees": {kind: head.n_trees for kind, head in whole.tree_heads.items()},
        }
        if any(not isinstance(member.head, LogisticHead) for member in whole.members):
            work["size"] = [training.bags.rows.shape[1], len(whole.base)]
        return facts_of_prices(training.columns, self._shape, work)

    def _measure(self) -> Costs:
        """Measure the prices of columns and trees."""
        whole = self.whole
        n_bags = len(self.training.bags.rows)
        logistic = whole.logistic is not None
        # Training rows as heads read them.
        features = repeated(self.training.table)

        def per_row(rows: NDArray) -> NDArray:
            check_values(None, rows)
            whole.scale_input(rows)
            odds = combine(np.zeros((len(rows), n_bags))) if logistic else np.zeros(len(rows))
            # A classifier of another library may read any column, so all its work counts as work
            # that does not depend on the columns.
            for member in whole.members:
                if isinstance(member.head, ClassifierHead):
                    odds = odds + member.log_odds(features)
            return expit(whole.correction.apply(odds))

        def per_column(table: NDArray) -> NDArray:
            scaled = self.training.scaler.transform(table)
            if not logistic:
                return scaled
            return add_up(scaled, np.ones((scaled.shape[1], n_bags)), np.zeros(n_bags))

        sample = whole.scale_input(self.rows)
        costs = measured_costs(self.training.columns, sample, per_row, per_column, self._typical)
        return replace(costs, trees=measured_trees(whole, features))

    @property
    def _typical(self) -> NDArray:
        """A table of values that take as long to scale as the columns of new rows."""
        n_columns = len(self.training.columns.names)
        quantiles = self.training.scaler.quantiles
        if not len(quantiles):
            return np.full((CALL_ROWS, n_columns), 0.5)
        # With equal values, the processor would predict every branch, and scaling would be fast.
        random = np.random.default_rng(0)
        places = random.integers(quantiles.shape[1] - 1, size=(CALL_ROWS, n_columns))
        columns = np.arange(n_columns)
        return 0.5 * (quantiles[columns, places] + quantiles[columns, places + 1])

    def read(self, costs: Any, unit: str, batch_size: int | None = None) -> Costs:
        """Return the costs for a value of ``costs``; times are measured if necessary.

        The meaning of None depends on the unit of the budget. The same value returns the same costs
        again, without another warning. Times include prices of calls if ``batch_size`` is set.
        """
        if needs_clock(costs, unit):
            if self.measured is None:
                names = self.training.columns.names
                self.measured = remembered_costs(self._facts, names, self._measure, self.fresh)
            times = self.measured.of_rows()
            if batch_size is None:
                return times
            if self.measured.call is None:
                values = self._typical, repeated(self.training.table)
                measure = partial(with_calls, times, self.whole, self.rows, *values)
                self.measured = remembered_costs(self._facts, times.names, measure, rows=times)
            return self.measured
        if costs is None:
            costs = "complexity:additive"
        for before, prices in self._known:
            if type(before) is type(costs) and before == costs:
                return prices
        prices = self._read(costs)
        self._known = [(copy(costs), prices), *self._known][:MAX_LISTS]
        return prices

    def _read(self, costs: Any) -> Costs:
        columns = self.training.columns
        kinds = list(dict.fromkeys(map(kind_of_tree, self.whole.tree_heads)))
        if not isinstance(costs, str):
            return declared_costs(costs, columns, kinds)
        prices = complexity_costs(columns, *self._shape, kinds)
        return prices if costs.endswith(":shared") else prices.additive()

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.training.table), self.rows.shape[1]


def remembered_costs(
    facts: Facts,
    names: list[str],
    measure: Callable[[], Costs],
    fresh: bool = False,
    rows: Costs | None = None,
) -> Costs:
    """Return the cached prices of columns, or measure the prices and cache them.

    Cached prices must have the same ``facts``, see :func:`facts_of_prices`. If ``fresh`` is true,
    prices are always measured. If ``rows`` holds prices of rows, ``measure`` must return these
    prices with prices of calls added; both are written to the same file.
    """
    known = None if fresh else _read(facts, names, rows)
    if known is not None:
        return known
    with plain_interrupts(), one_blas_thread():
        costs = measure()
    # If another process has written prices in the meantime, use its prices.
    known = None if fresh else _read(facts, names, rows)
    if known is None:
        _write(facts, costs)
    return known or costs


def facts_of_prices(fitted: FittedColumns, shape: tuple[int, int], work: Facts) -> Facts:
    """Return the facts on which prices depend; they are equal for two fits to one table.

    ``work`` describes the work of a prediction besides computing columns.
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
    """Return a value in the types of JSON, without seeds or memory addresses.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> plain(KNeighborsTransformer(n_neighbors=7))["KNeighborsTransformer"]["n_neighbors"]
    7
    >>> plain(("tree", np.int64(3), np.zeros(2)))
    ['tree', 3, 'ndarray']
    """
    return json.loads(json.dumps(value, default=_spell, sort_keys=True))


def _spell(value: Any) -> Any:
    """Return the type of a value, with its parameters or fields if it has any."""
    if isinstance(value, np.generic):
        return value.item()
    kind = type(value).__name__
    if hasattr(value, "get_params") and not isinstance(value, type):
        held = value.get_params(deep=False)
    elif is_dataclass(value):
        held = vars(value)
    else:
        return kind
    return {kind: {str(name): item for name, item in held.items() if name != "random_state"}}


def _describe(view: ScoredView) -> list[Any]:
    space = view.space
    scores = [
        [s.label, type(s.definition).__name__, plain(s.definition.parameters()), list(s.ks)]
        for s in view.scores
    ]
    return [space.name, space.metric, len(space.columns), len(view.graph.reference), scores]


@cache
def _machine() -> Facts:
    """Return the facts that determine the speed of this machine."""
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
    return cache_folder() / "prices" / f"{_hash(facts)[:32]}.json"


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _read(facts: Facts, names: list[str], rows: Costs | None) -> Costs | None:
    """Return the prices in the file for these facts, or None if there is no valid file.

    A file is valid if it was not changed. If ``rows`` is given, the file must hold these prices of
    rows and also prices of calls.
    """
    # A file that boreod did not write may cause any of these errors.
    with suppress(OSError, ValueError, TypeError, LookupError, RuntimeError):
        path = _place(facts)
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        held = json.loads(path.read_bytes())
        if held["sha256"] != _hash([facts, held["costs"]]):
            return None
        costs: Costs = typed_json(Costs, held["costs"], "prices")
        complete = rows is None or (costs.call is not None and costs.of_rows() == rows)
        if complete and costs.names == names and costs.unit == SECONDS:
            # Mark the file as recently used.
            with suppress(OSError):
                os.utime(path)
            return costs
    return None


def _write(facts: Facts, costs: Costs) -> None:
    # There may be no home folder, no permission or no space.
    with suppress(OSError, RuntimeError):
        stored = asdict(costs)
        held = {"facts": facts, "costs": stored, "sha256": _hash([facts, stored])}
        path = _place(facts)
        write_text(path, json.dumps(held))
        _forget_old(path.parent)


def _forget_old(folder: Path) -> None:
    """Remove the least recently used files, including files that a killed process left behind."""
    found = [*folder.glob("*.json"), *folder.glob(".*.part")]
    files = [path for path in found if not path.is_dir()]
    files.sort(key=lambda path: path.lstat().st_mtime, reverse=True)
    total = 0
    for place, path in enumerate(files):
        total += path.lstat().st_size
        if place >= MOST_FILES or total > MOST_BYTES:
            # Another process may have removed the file already.
            path.unlink(missing_ok=True)
