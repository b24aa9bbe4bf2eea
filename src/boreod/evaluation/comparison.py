"""The paper's comparison on an own table: which method, budget and reference, with error bars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from boreod.detector import BORE
from boreod.evaluation.budgets import EVERYTHING, read_seconds, try_budgets
from boreod.evaluation.journal import Journal
from boreod.evaluation.judging import MEASURES, run_method
from boreod.evaluation.losses import Loss, find_losses
from boreod.evaluation.methods import METHODS, find_methods
from boreod.evaluation.references import ALL_ROWS, read_sizes, try_references
from boreod.evaluation.splits import split_rows
from boreod.evaluation.summary import Run, Summary
from boreod.evaluation.trials import Trials
from boreod.validation import read_labels, read_rows

BUDGETS = ("5us", "20us", "50us", "200us", "1ms")
JUDGED_BY = "average_precision"  # what counts for those who look at the top of a list


@dataclass(frozen=True)
class Comparison:
    """Results on an own table.

    Attributes
    ----------
    runs
        One result for every method and repetition.
    budget_runs
        One result for every budget and repetition of BORE, that of all columns first.
    reference_runs
        One result for every size of the reference sample and repetition of BORE, those of all rows
        first.
    """

    runs: list[Run]
    budget_runs: list[Run]
    reference_runs: list[Run]

    @property
    def methods(self) -> Summary:
        """Means by method."""
        return Summary(self.runs)

    @property
    def budgets(self) -> Summary:
        """Means by budget."""
        return Summary(self.budget_runs)

    @property
    def references(self) -> Summary:
        """Means by size of the reference sample."""
        return Summary(self.reference_runs)

    @property
    def reference_losses(self) -> dict[str, Loss]:
        """Loss in AUC against all rows by size of the reference sample."""
        return find_losses(self.reference_runs, ALL_ROWS, "auc")

    def advice(self) -> list[str]:
        """Return what the figures say, in sentences."""
        budget_losses = find_losses(self.budget_runs, EVERYTHING, JUDGED_BY)
        return [
            *self._best_methods(),
            *_advise(
                budget_losses,
                read_seconds,
                "Cheapest budget at which BORE is not surely worse than with all columns: {}.",
                "Within every budget tried BORE is worse than with all columns.",
            ),
            *_advise(
                self.reference_losses,
                int,
                "Smallest reference at which BORE is not surely worse than with all rows: {} "
                "(by AUC).",
                "With every reference tried BORE is worse than with all rows (by AUC).",
            ),
        ]

    def _best_methods(self) -> list[str]:
        """Name the best method that is no oracle, and its equals."""
        fair = [run for run in self.runs if not is_oracle(run)]
        order = Summary(fair).ranking(JUDGED_BY)
        if not order:
            return []
        losses = find_losses(fair, order[0], JUDGED_BY)
        worse = {name for name, loss in losses.items() if loss.is_sure}
        equal = [name for name in order[1:] if name not in worse]
        names = ", ".join(METHODS[name].title for name in equal)
        text = f"Best by mean {MEASURES[JUDGED_BY]}: {METHODS[order[0]].title}"
        return [text + (f"; not surely worse: {names}." if equal else ".")]


def _advise(
    losses: dict[str, Loss], amount: Callable[[str], float], enough: str, too_little: str
) -> list[str]:
    """Name the least of several amounts without a sure loss, or say that there is none."""
    fine = [name for name, loss in losses.items() if not loss.is_sure]
    if fine:
        return [enough.format(min(fine, key=amount))]
    return [too_little] if losses else []


def is_oracle(run: Run) -> bool:
    """Tell whether a method knew the labels of the rows it was judged on."""
    return METHODS[run["method"]].labels == "hindsight" and run["protocol"] == "transductive"


def compare_methods(
    X: ArrayLike,
    y: ArrayLike,
    methods: list[str] | None = None,
    budgets: list[str] | None = None,
    *,
    reference_sizes: Sequence[int] | None = None,
    repetitions: int = 10,
    protocol: str = "unseen",
    outlier_label: Any = None,
    n_jobs: int | None = -1,
    seed: int = 0,
    journal: Journal | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare methods, BORE within budgets and with reference samples, on the same splits.

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
    reference_sizes
        Numbers of rows that BORE learns from in the place of all, see ``reference_size`` there;
        None for no such runs.
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
    sizes = read_sizes(reference_sizes, codes, repetitions, protocol, seed)
    kept = journal or Journal(None)
    trials = Trials(rows, codes, repetitions, protocol, seed, kept, n_jobs, verbose)
    runs = trials.run(run_method, {name: name for name in chosen}, "methods")
    return Comparison(runs, try_budgets(trials, times), try_references(trials, sizes))
