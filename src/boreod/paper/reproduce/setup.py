"""What all parts of the reproduction share: settings, data, and runs that are done once."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import write_text
from boreod.paper import datasets
from boreod.paper.datasets.entries import find
from boreod.paper.datasets.loading import rows_digest
from boreod.paper.evaluation import Journal, run_method, run_tasks
from boreod.representation.transformer import OutlierRepresentation

SETS = tuple(info.name for info in datasets.catalogue() if info.group == "paper")
REPETITIONS, QUICK_REPETITIONS = 10, 1
# Number of subspaces, each with kNN and LOF, and k. The paper gives the numbers of columns only.
FEATURE_BAGGING = {"letter": (25, 10), "higgs": (20, 50)}


@dataclass(frozen=True)
class Settings:
    """What to run and where to put it."""

    folder: Path  # of tables, pictures, report and finished runs
    datasets: tuple[str, ...] = SETS
    repetitions: int | None = None  # samples or splits; None for 10, or 1 if quick
    quick: bool = False  # without what takes long: other protocols, other methods, fine grids
    data: Path | None = None  # folder of .npz files, None for the one that BOREOD_DATA names
    n_jobs: int = -1
    seed: int = 0
    verbose: bool = True
    methods: tuple[str, ...] | None = None  # of the part ``quality``, None for all

    @property
    def count(self) -> int:
        """Number of repetitions."""
        return self.repetitions or (QUICK_REPETITIONS if self.quick else REPETITIONS)

    @cached_property
    def journal(self) -> Journal:
        """Finished runs in the folder, read once."""
        return Journal(self.folder / "runs.jsonl")

    def only(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of a figure's data sets that are wanted, or all that are wanted."""
        return tuple(name for name in names if name in self.datasets) or self.datasets

    def run(
        self,
        work: Callable[..., dict[str, Any]],
        plan: Iterable[tuple[Any, ...]],
        label: str,
        some_may_fail: bool = False,
    ) -> list[dict[str, Any]]:
        """Return a result for each item of a plan, that of an earlier run from the journal.

        An item is a data set, a repetition and options; the work gets these, the seed and the
        folder of data. The label tells these runs from others in the journal.
        """
        tasks = {
            f"{label}/{self.identify(name, repetition)}/{options}": (
                name, repetition, self.seed, self.data, *options,
            )
            for name, repetition, *options in plan
        }  # fmt: skip
        results = run_tasks(work, tasks, self.journal, self.n_jobs, label, self.verbose)
        failed = [result["error"] for result in results if "error" in result]
        if len(failed) > (len(results) - 1 if some_may_fail else 0):
            raise RuntimeError(
                f"{len(failed)} of {len(results)} runs failed, and the others are kept. {failed[0]}"
            )
        return results

    def identify(self, name: str, repetition: int) -> str:
        """Return what tells a split of a data set from all others, the rows themselves included."""
        digest = _digest(name, repetition, self.data)
        return f"{name}/{repetition}/{self.seed}/{digest}"


def load_repetition(name: str, repetition: int, data: Path | None) -> tuple[NDArray, NDArray]:
    """Return rows and labels: another sample for every repetition where the set has several."""
    versions = find(name).versions
    found = datasets.load(name, versions[repetition % len(versions)], data)
    return found.X, found.y.astype(np.int64)


@cache
def _digest(name: str, repetition: int, data: Path | None) -> str:
    return rows_digest(*load_repetition(name, repetition, data))[:12]


def make_feature_bagging(name: str, seed: int) -> OutlierRepresentation:
    """Return kNN and LOF in random subspaces, as many as the paper has for this set."""
    count, k = FEATURE_BAGGING[name]
    return OutlierRepresentation(
        ["knn", "lof"], ks=[k], views=[f"subspaces:{count}"], n_jobs=1, random_state=seed
    )


def compare(
    settings: Settings,
    methods: list[str],
    protocol: str = "transductive",
    *,
    names: tuple[str, ...] | None = None,
    feature_bagging: bool = False,
) -> list[dict[str, Any]]:
    """Return one result for every method, data set and repetition."""
    plan = [
        (name, repetition, method, protocol, feature_bagging)
        for name in (settings.datasets if names is None else names)
        for method in methods
        for repetition in range(settings.count)
    ]
    results = settings.run(_compare, plan, f"methods, {protocol}", some_may_fail=True)
    facts = ("dataset", "repetition", "method", "protocol")
    return [
        dict(zip(facts, item, strict=False)) | result
        for item, result in zip(plan, results, strict=True)
    ]


def _compare(
    name: str,
    repetition: int,
    seed: int,
    data: Path | None,
    method: str,
    protocol: str,
    feature_bagging: bool,
) -> dict[str, Any]:
    rows, codes = load_repetition(name, repetition, data)
    columns = make_feature_bagging(name, seed + repetition) if feature_bagging else None
    return run_method(rows, codes, method, repetition, protocol, seed, columns)


def read_paper(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of the paper."""
    text = files("boreod.paper.reproduce").joinpath(table).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows with the same keys."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
