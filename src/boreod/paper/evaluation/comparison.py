"""The paper's comparison on an own table: which method, budget and reference, with error bars.

Whatever is compared runs on the same splits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.bore import NumericDetector, find_method
from boreod.paper.evaluation.methods import METHODS, find_methods
from boreod.paper.evaluation.runs import Journal, Work, run_tasks
from boreod.paper.evaluation.splits import (
    MEASURES,
    Rows,
    TableRows,
    digest_of,
    judge,
    prepare_split,
    run_method,
    split_rows,
)
from boreod.paper.evaluation.summary import TABLE, Loss, Run, Summary, find_losses
from boreod.selection.budgets import in_batches
from boreod.selection.prices import check_size
from boreod.text import shorten
from boreod.validation import OUTLIER, is_number, read_labels, read_rows

EVERYTHING, ALL_ROWS = "all columns", "all rows"
BUDGETS = ("5us", "20us", "50us", "200us", "1ms")
WHOLE = "1000s"  # buys everything
JUDGED_BY = "average_precision"  # what counts for those who look at the top of a list


@dataclass(frozen=True)
class Comparison:
    """Results on an own table.

    Attributes
    ----------
    runs
        One result for every method and repetition.
    budget_runs
        One result for every budget and repetition of our method, that of all columns first.
    reference_runs
        One result for every size of the reference sample and repetition of our method, those of all
        rows first.
    method
        Which one that is, ``"detector"`` or ``"bore"``.
    batch_size
        How many rows come at once, which budgets pay for; None for large batches.
    """

    runs: list[Run]
    budget_runs: list[Run]
    reference_runs: list[Run]
    method: str = "detector"
    batch_size: int | None = None

    @property
    def title(self) -> str:
        """Our method, as readers see it."""
        return METHODS[self.method].title

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
        budget_losses, ours = find_losses(self.budget_runs, EVERYTHING, JUDGED_BY), self.title
        return [
            *self._best_methods(),
            *_advise(
                budget_losses,
                read_seconds,
                f"Cheapest budget at which {ours} is not surely worse than with all columns: {{}}.",
                f"Within every budget tried {ours} is worse than with all columns.",
            ),
            *_advise(
                self.reference_losses,
                int,
                f"Smallest reference at which {ours} is not surely worse than with all rows: {{}} "
                "(by AUC).",
                f"With every reference tried {ours} is worse than with all rows (by AUC).",
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
    X: ArrayLike | TableRows,
    y: ArrayLike,
    methods: list[str] | None = None,
    budgets: list[str] | None = None,
    *,
    method: str = "detector",
    batch_size: int | None = None,
    reference_sizes: Sequence[int] | None = None,
    repetitions: int = 10,
    protocol: str = "unseen",
    outlier_label: Any = None,
    n_jobs: int | None = -1,
    seed: int = 0,
    journal: Journal | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare methods, and ours within budgets and with reference samples, on the same splits.

    Parameters
    ----------
    X
        Table of numbers; or a ``TableRows``, whose columns become numbers within every split.
    y
        1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
        ``outlier_label``.
    methods
        Names in ``METHODS``; None for all that are installed.
    budgets
        Times per row; None for a range from 5us to 1ms.
    method
        Which of our methods keeps to budgets and samples: ``"detector"`` or ``"bore"``.
    batch_size
        How many rows come at once, which budgets pay for; None for large batches.
    reference_sizes
        Numbers of rows that it learns from in the place of all, see ``reference_size`` there; None
        for no such runs.
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
    >>> from boreod.paper.datasets import load
    >>> wine = load("wine")
    >>> found = compare_methods(wine.X, wine.y, ["be"], [], repetitions=2, n_jobs=1)
    >>> found.methods.cell("table", "be", "auc").count
    2
    """
    find_method(method)
    rows = X if isinstance(X, TableRows) else read_rows(NumericDetector(), X, fitting=True)
    n_rows = len(rows.table) if isinstance(rows, TableRows) else len(rows)
    codes, _ = read_labels(y, n_rows, outlier_label)
    every = [name for name, method in METHODS.items() if method.is_installed]
    chosen = [method.name for method in find_methods(every if methods is None else methods)]
    times = list(BUDGETS if budgets is None else budgets)
    for budget in times:
        read_seconds(budget)
    check_size(batch_size)
    if batch_size is not None and not times:
        raise ValueError(
            f"`batch_size` (--batch) is {batch_size}, but there are no `budgets` (--budgets). Pass "
            "some, such as 500us, or leave it out."
        )
    split_rows(codes, 0, protocol, seed)  # says at once if it cannot be done
    sizes = read_sizes(reference_sizes, codes, repetitions, protocol, seed)
    kept = journal or Journal(None)
    trials = _Trials(rows, codes, repetitions, protocol, seed, kept, n_jobs, verbose)
    runs = trials.run(run_method, {name: name for name in chosen}, "methods")
    within = _try_budgets(trials, method, times, batch_size)
    return Comparison(runs, within, _try_references(trials, method, sizes), method, batch_size)


@dataclass(frozen=True)
class _Trials:
    """All that runs on one table have in common."""

    rows: Rows
    codes: NDArray
    repetitions: int
    protocol: str
    seed: int
    journal: Journal
    n_jobs: int | None
    verbose: bool

    def run(self, work: Work, variants: dict[str, Any], label: str) -> list[Run]:
        """Return one result for every variant and split, in this order.

        ``work`` gets rows, codes, a variant, the number of a split, protocol and seed. Variants go
        by their names in the journal: what has the same name is run once, whoever asks for it.
        """
        digest = digest_of(self.rows, self.codes)[:16]
        plan = [(name, number) for name in variants for number in range(self.repetitions)]
        tasks = {
            f"{digest}/{name}/{self.protocol}/{number}/{self.seed}": (
                self.rows, self.codes, variants[name], number, self.protocol, self.seed,
            )
            for name, number in plan
        }  # fmt: skip
        results = run_tasks(work, tasks, self.journal, self.n_jobs, label, self.verbose)
        fact = {"dataset": TABLE, "protocol": self.protocol}
        return [
            {**fact, "method": name, "repetition": number, **result}
            for (name, number), result in zip(plan, results, strict=True)
        ]


def _try_budgets(
    trials: _Trials, method: str, budgets: list[str], batch_size: int | None
) -> list[Run]:
    """Return results with all columns and within every budget; nothing without budgets."""
    one_fit = " ".join([method, *budgets]) + in_batches(batch_size)  # serves all
    variants = {one_fit: (method, budgets, batch_size)} if budgets else {}
    single = []
    for run in trials.run(_run_budgets, variants, "budgets"):
        facts = {key: run[key] for key in ("dataset", "protocol", "repetition")}
        found = {name: run[name] for name in (EVERYTHING, *budgets) if name in run}
        if "error" in run:
            found = {EVERYTHING: {"error": run["error"]}}
        single += [{**facts, "method": name, **result} for name, result in found.items()]
    return single


def _run_budgets(
    rows: Rows,
    codes: NDArray,
    variant: tuple[str, list[str], int | None],
    repetition: int,
    protocol: str,
    seed: int,
) -> dict[str, Any]:
    """Return measures, cost and number of columns by budget; none for one below any column."""
    method, budgets, size = variant
    split = split_rows(codes, repetition, protocol, seed)
    outliers = codes[split.test] == OUTLIER
    learned, judged = prepare_split(rows, split)
    model = METHODS[method].make(None, seed + repetition).fit(learned, split.labels)
    models = {EVERYTHING: model}
    whole = model.within(WHOLE, batch_size=size)
    cheapest = float(whole.costs_.in_batches(size).alone.min())
    for budget in budgets:
        if read_seconds(budget) >= cheapest:
            models[budget] = model.within(budget, batch_size=size)
    return {
        budget: {
            **judge(outliers, fitted.decision_function(judged)),
            "columns": len(fitted.columns_),
            "cost": whole.cost_ if fitted.cost_ is None else fitted.cost_,
        }
        for budget, fitted in models.items()
    }


def read_seconds(budget: str) -> float:
    """Return a budget in seconds, or say that it is no time.

    Examples
    --------
    >>> read_seconds("20us")
    2e-05
    """
    from boreod.selection.budgets import read_budget
    from boreod.selection.costs import SECONDS

    value, unit = read_budget(budget)
    if unit != SECONDS:
        raise ValueError(f"A budget here is a time per row such as '20us'; got {budget!r}.")
    return value


def _try_references(trials: _Trials, method: str, sizes: list[int]) -> list[Run]:
    """Return results with all rows and with every size; nothing without sizes."""
    # All rows have the name of the method in the journal: what it has found is not run again.
    variants: dict[str, Any] = {method: (method, None)}
    variants |= {f"{method} with reference {size}": (method, size) for size in sizes}
    runs = trials.run(_run_reference, variants if sizes else {}, "reference samples")
    names = {key: ALL_ROWS if size is None else str(size) for key, (_, size) in variants.items()}
    return [{**run, "method": names[run["method"]]} for run in runs]


def _run_reference(
    rows: Rows,
    codes: NDArray,
    variant: tuple[str, int | None],
    repetition: int,
    protocol: str,
    seed: int,
) -> dict[str, Any]:
    method, size = variant
    return run_method(rows, codes, method, repetition, protocol, seed, reference_size=size)


def read_sizes(
    sizes: Sequence[int] | None, codes: NDArray, repetitions: int, protocol: str, seed: int
) -> list[int]:
    """Return sizes of reference samples, or say which there can be.

    Examples
    --------
    >>> read_sizes([20, 40], np.repeat([0, 1], [90, 10]), 3, "unseen", seed=0)
    [20, 40]
    """
    wanted = [] if sizes is None else sizes
    if np.ndim(wanted) != 1:
        raise ValueError(
            f"`reference_sizes` must be a list of numbers of rows; got {shorten(sizes)}."
        )
    if not len(wanted):
        return []
    splits = [split_rows(codes, number, protocol, seed) for number in range(repetitions)]
    lowest = 1 + max(int((split.labels == OUTLIER).sum()) for split in splits)
    highest = min(len(split.fitted) for split in splits) - 1
    for size in wanted:
        if not is_number(size, Integral) or not lowest <= size <= highest:
            raise ValueError(
                f"`reference_sizes` must be whole numbers from {lowest}, more than the labelled "
                f"outliers of a split, which all stay, to {highest}, fewer than the rows it "
                f"learns from; got {shorten(size)}."
            )
    return [int(size) for size in wanted]
