"""The paper's comparison on an own table: which method, which budget, with error bars."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.datasets.loading import rows_digest
from boreod.detector import BORE
from boreod.evaluation.budgets import EVERYTHING, read_seconds, run_budgets
from boreod.evaluation.journal import Journal
from boreod.evaluation.judging import MEASURES, run_method
from boreod.evaluation.methods import METHODS, find_methods
from boreod.evaluation.runner import run_tasks
from boreod.evaluation.splits import TEST_SHARE, split_rows
from boreod.evaluation.summary import Run, Summary
from boreod.labels import read_labels
from boreod.rows import read_rows

BUDGETS = ("5us", "20us", "50us", "200us", "1ms")
JUDGED_BY = "average_precision"  # what counts for those who look at the top of a list
TABLE = "table"


@dataclass(frozen=True)
class Comparison:
    """Results on an own table.

    Attributes
    ----------
    runs
        One result for every method and repetition.
    budget_runs
        One result for every budget and repetition of BORE, that of all columns first.
    """

    runs: list[Run]
    budget_runs: list[Run]

    @property
    def methods(self) -> Summary:
        """Means by method."""
        return Summary(self.runs)

    @property
    def budgets(self) -> Summary:
        """Means by budget."""
        return Summary(self.budget_runs)

    def advice(self) -> list[str]:
        """Return what the figures say, in sentences."""
        sentences = []
        fair = [run for run in self.runs if not is_oracle(run)]
        order = Summary(fair).ranking(JUDGED_BY)
        if order:
            best, methods = order[0], self.methods
            equal = [name for name in order[1:] if not self._is_worse(methods, name, best)]
            text = f"Best by mean {MEASURES[JUDGED_BY]}: {METHODS[best].title}"
            names = ", ".join(METHODS[name].title for name in equal)
            sentences.append(text + (f"; not surely worse: {names}." if equal else "."))
        budgets = self.budgets
        enough = [
            budget
            for budget in budgets.methods
            if budget != EVERYTHING and not self._is_worse(budgets, budget, EVERYTHING)
        ]
        if enough:
            cheapest = min(enough, key=read_seconds)
            text = "Cheapest budget at which BORE is not surely worse than with all columns"
            sentences.append(f"{text}: {cheapest}.")
        elif len(budgets.methods) > 1:
            sentences.append("Within every budget tried BORE is worse than with all columns.")
        return sentences

    @staticmethod
    def _is_worse(summary: Summary, name: str, other: str) -> bool:
        """Tell whether a mean is lower by more than the error of the difference."""
        values = [
            {run["repetition"]: run[JUDGED_BY] for run in summary.runs(TABLE, which)}
            for which in (name, other)
        ]
        both = sorted(set(values[0]) & set(values[1]))
        differences = np.array([values[0][which] - values[1][which] for which in both])
        return bool(differences.mean() < -error_of_mean(differences)) if both else False


def is_oracle(run: Run) -> bool:
    """Tell whether a method knew the labels of the rows it was judged on."""
    return METHODS[run["method"]].labels == "hindsight" and run["protocol"] == "transductive"


def error_of_mean(differences: NDArray) -> float:
    """Return the standard error of a mean over splits that share rows.

    The splits are not independent; the variance is raised as Nadeau and Bengio (Machine Learning
    52, 2003) propose.

    Examples
    --------
    >>> round(error_of_mean(np.array([1.0, 2.0, 3.0])), 3)
    1.0
    """
    if len(differences) < 2:
        return np.inf  # one split tells nothing about others
    factor = 1.0 / len(differences) + TEST_SHARE / (1.0 - TEST_SHARE)
    return float(np.sqrt(factor * np.var(differences, ddof=1)))


def compare_methods(
    X: ArrayLike,
    y: ArrayLike,
    methods: list[str] | None = None,
    budgets: list[str] | None = None,
    *,
    repetitions: int = 10,
    protocol: str = "unseen",
    outlier_label: Any = None,
    n_jobs: int | None = -1,
    seed: int = 0,
    journal: Journal | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare methods, and BORE within budgets, on the same splits of a table.

    Parameters
    ----------
    X
        Table of numbers.
    y
        1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
        ``outlier_label``.
    methods
        Names in ``METHODS``; None for all that are installed.
    budgets
        Times per row; None for a range from 5us to 1ms.
    repetitions
        Number of splits, 60 % to learn from and 40 % to judge.
    protocol
        ``"unseen"``, or ``"transductive"`` with the judged rows as unlabelled rows of the fit.
    outlier_label
        The label of outliers.
    n_jobs
        Number of processes, -1 for all cores.
    seed
        Of splits and methods.
    journal
        Keeps finished runs; None for memory only.
    verbose
        Whether long work may show a progress bar.

    Examples
    --------
    >>> from boreod.datasets import load
    >>> wine = load("wine")
    >>> found = compare_methods(wine.X, wine.y, ["be"], ["50us"], repetitions=2, n_jobs=1)
    >>> found.methods.cell("table", "be", "auc").count
    2
    """
    rows = read_rows(BORE(), X, fitting=True)
    codes, _ = read_labels(y, len(rows), outlier_label)
    every = [name for name, method in METHODS.items() if method.is_installed]
    chosen = [method.name for method in find_methods(every if methods is None else methods)]
    times = list(BUDGETS if budgets is None else budgets)
    for budget in times:
        read_seconds(budget)
    split_rows(codes, 0, protocol, seed)  # says at once if it cannot be done
    digest = rows_digest(rows, codes)[:16]
    plan = [(name, number) for name in chosen for number in range(repetitions)]
    tasks = {
        f"{digest}/{name}/{protocol}/{number}/{seed}": (rows, codes, name, number, protocol, seed)
        for name, number in plan
    }
    within = {
        f"{digest}/{' '.join(times)}/{protocol}/{number}/{seed}": (
            rows, codes, times, number, protocol, seed,
        )
        for number in range(repetitions if times else 0)
    }  # fmt: skip
    journal = journal or Journal(None)
    results = run_tasks(run_method, tasks, journal, n_jobs, "methods", verbose)
    curves = run_tasks(run_budgets, within, journal, n_jobs, "budgets", verbose)
    fact = {"dataset": TABLE, "protocol": protocol}
    runs = [
        {**fact, "method": name, "repetition": number, **result}
        for (name, number), result in zip(plan, results, strict=True)
    ]
    budget_runs = [
        {**fact, "method": budget, "repetition": number, **(result.get(budget) or result)}
        for number, result in enumerate(curves)
        for budget in ([EVERYTHING] if "error" in result else [EVERYTHING, *times])
        if "error" in result or budget in result
    ]
    return Comparison(runs, budget_runs)
