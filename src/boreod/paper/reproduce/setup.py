"""Settings, data and journaled runs that all parts of the reproduction share."""

import csv
import os
import platform
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import __version__, write_text
from boreod.paper import datasets
from boreod.paper.datasets.entries import find
from boreod.paper.datasets.loading import rows_digest
from boreod.paper.evaluation.methods import METHODS
from boreod.paper.evaluation.runs import Journal, Work, code_digest, run_tasks
from boreod.paper.evaluation.splits import run_method
from boreod.paper.evaluation.summary import Cell, Summary
from boreod.representation.transformer import OutlierRepresentation
from boreod.text import count_of
from boreod.tool.documents import Block, Paragraph, Table

SETS = tuple(info.name for info in datasets.catalogue() if info.group == "paper")
# For each set, the number of subspaces, each with kNN and LOF, and k. The paper tells only the
# number of columns.
FEATURE_BAGGING = {"letter": (25, 10), "higgs": (20, 50)}


@dataclass(frozen=True)
class Settings:
    """What to run and where to write it.

    Attributes
    ----------
    folder
        Folder for tables, pictures, report and finished runs.
    datasets
        Names of data sets.
    repetitions
        Number of samples or splits; None for 10, or 1 if quick.
    quick
        Whether to leave out what takes long: other protocols, other methods, fine grids.
    data
        Folder of .npz files; None for the folder that BOREOD_DATA names.
    n_jobs
        Number of processes, -1 for all cores.
    seed
        Random seed of splits and methods.
    verbose
        Whether to show a progress bar when the work is long.
    """

    folder: Path
    datasets: tuple[str, ...] = SETS
    repetitions: int | None = None
    quick: bool = False
    data: Path | None = None
    n_jobs: int = -1
    seed: int = 0
    verbose: bool = True

    @property
    def count(self) -> int:
        """Number of repetitions."""
        return self.repetitions or (1 if self.quick else 10)

    @cached_property
    def journal(self) -> Journal:
        """Finished runs in the folder, read once."""
        return Journal(self.folder / "runs.jsonl")

    def only(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of ``names`` that were chosen, or all chosen data sets if there are none."""
        return tuple(name for name in names if name in self.datasets) or self.datasets

    def run(
        self, work: Work, plan: Iterable[tuple[Any, ...]], label: str, some_may_fail: bool = False
    ) -> list[dict[str, Any]]:
        """Return a result for each item of a plan; reuse results in the journal.

        An item is a data set, a repetition and options. ``work`` gets the item, the seed and the
        folder of data. The label distinguishes these runs from other runs in the journal.
        """
        tasks = {}
        for name, repetition, *options in plan:
            # To make the key, the data is loaded before several processes ask for it at once.
            key = f"{label}/{name}/{repetition}/{self.seed}/{hash_of(name, repetition, self.data)}"
            tasks[f"{key}/{options}"] = (name, repetition, self.seed, self.data, *options)
        results = run_tasks(work, tasks, self.journal, self.n_jobs, label, self.verbose)
        failed = [result["error"] for result in results if "error" in result]
        if failed and (len(failed) == len(results) or not some_may_fail):
            raise RuntimeError(
                f"{len(failed)} of {len(results)} runs failed, and the others are kept. {failed[0]}"
            )
        return results


def load_repetition(name: str, repetition: int, data: Path | None) -> tuple[NDArray, NDArray]:
    """Return rows and labels; if a set has several samples, every repetition gets another one."""
    versions = find(name).versions
    found = datasets.load(name, versions[repetition % len(versions)], data)
    return found.X, found.y.astype(np.int64)


@cache
def hash_of(name: str, repetition: int, data: Path | None) -> str:
    """Return a short hash of the rows of a repetition, which are read once for all parts."""
    return rows_digest(*load_repetition(name, repetition, data))[:12]


def make_feature_bagging(name: str, seed: int) -> OutlierRepresentation:
    """Return kNN and LOF in random subspaces, with as many columns as the paper has for a set."""
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
    runs = product(names or settings.datasets, methods, range(settings.count))
    plan = [(name, number, method, protocol, feature_bagging) for name, method, number in runs]
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


def table_by_set(
    summary: Summary,
    measure: str,
    caption: str,
    write: Callable[[Cell], str] = str,
    more_rows: Sequence[list[str]] = (),
) -> Table:
    """Return a table of one measure by set and method; the best value of a set is bold."""
    header = ["set", *(METHODS[method].title for method in summary.methods)]
    rows = [
        [name, *(summary.show(name, method, measure, write) for method in summary.methods)]
        for name in summary.datasets
    ]
    return Table(header, [*rows, *more_rows], caption)


def describe_code(*peers: str) -> str:
    """Return a sentence about the code, its commit, the libraries and the machine."""
    packages = dict.fromkeys(["numpy", "scipy", "scikit-learn", *peers])
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    machine = f"{platform.platform(terse=True)}, {count_of(os.cpu_count() or 1, 'core')}"
    return (
        f"boreod {__version__}, commit {find_commit()}, digest of the code {code_digest()}; Python "
        f"{platform.python_version()}, {versions}; {machine}; {date.today().isoformat()}."
    )


def find_commit() -> str:
    """Return the commit of this code, or "unknown" if the code is not in its repository."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        # Git also answers in a folder that some other repository ignores.
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=True
        )
        described = [*git, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def paragraphs(part: str, **values: Any) -> list[Block]:
    """Return the paragraphs of a part of the report, with values in place of names in braces."""
    texts = tomllib.loads(_read("texts.toml"))[part]
    return [Paragraph(" ".join(text.split()).format(**values)) for text in texts]


def read_paper(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of the paper."""
    return list(csv.DictReader(_read(table).splitlines()))


def _read(name: str) -> str:
    return files("boreod.paper.reproduce").joinpath(name).read_text(encoding="utf-8")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows that have the same keys; numbers are rounded to six digits after the point."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()})
    write_text(path, text.getvalue())
