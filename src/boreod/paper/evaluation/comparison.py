"""Compare methods and budgets on a user's own table, with error bars.

Everything that is compared runs on the same splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from numpy.typing import ArrayLike, NDArray

from boreod.detector import Detector
from boreod.paper.evaluation.methods import METHODS, check_installed
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
from boreod.paper.evaluation.summary import TABLE, Run, Summary, find_losses
from boreod.selection.budgets import check_size, in_batches, read_budget
from boreod.selection.costs import SECONDS
from boreod.validation import OUTLIER, check_choice, read_labels, read_rows

EVERYTHING = "all columns"
BUDGETS = ("5us", "20us", "50us", "200us", "1ms")
# This measure counts most for users who look at the top of a list.
JUDGED_BY = "average_precision"


@dataclass(frozen=True)
class Plan:
    """What to compare on a table.

    Attributes
    ----------
    methods
        Names in ``METHODS``; None for all that are installed.
    budgets
        Times per row to try; None for a range from 5us to 1ms.
    method
        Our method that is run within budgets: ``"detector"`` or ``"bore"``.
    batch_size
        Number of rows in one prediction, for which budgets pay; None for large batches.
    repetitions
        Number of splits, each with 60 % of the rows to learn from and 40 % to judge.
    protocol
        ``"unseen"``, or ``"transductive"`` if the judged rows are unlabelled rows of the fit.
    seed
        Random seed of splits and methods.
    """

    methods: Sequence[str] | None = None
    budgets: Sequence[str] | None = None
    method: str = "detector"
    batch_size: int | None = None
    repetitions: int = 10
    protocol: str = "unseen"
    seed: int = 0


@dataclass(frozen=True)
class Comparison:
    """Results on a table.

    Attributes
    ----------
    runs
        One result for every method and repetition.
    budget_runs
        One result for every budget and repetition, those with all columns first.
    plan
        What was compared.
    """

    runs: list[Run]
    budget_runs: list[Run]
    plan: Plan

    @property
    def title(self) -> str:
        """The title of our method that was run within budgets."""
        return METHODS[self.plan.method].title

    @property
    def methods(self) -> Summary:
        """Means by method."""
        return Summary(self.runs)

    def advice(self) -> list[str]:
        """Return conclusions as sentences."""
        return [*self._best_methods(), *self._cheapest_budget()]

    def _best_methods(self) -> list[str]:
        """Name the best method that is no oracle, and those that are not surely worse."""
        fair = [run for run in self.runs if not is_oracle(run)]
        order = Summary(fair).ranking(JUDGED_BY)
        if not order:
            return []
        losses = find_losses(fair, order[0], JUDGED_BY)
        worse = {name for name, loss in losses.items() if loss.is_sure}
        best, *others = [METHODS[name].title for name in order if name not in worse]
        text = f"Best by mean {MEASURES[JUDGED_BY]}: {best}"
        if others:
            text += f"; not surely worse: {', '.join(others)}"
        return [f"{text}."]

    def _cheapest_budget(self) -> list[str]:
        """Name the smallest budget without a sure loss, or say that there is none."""
        losses = find_losses(self.budget_runs, EVERYTHING, JUDGED_BY)
        if not losses:
            return []
        fine = [name for name, loss in losses.items() if not loss.is_sure]
        if not fine:
            return [f"Within every budget tried {self.title} is worse than with all columns."]
        return [
            f"Cheapest budget at which {self.title} is not surely worse than with all columns: "
            f"{min(fine, key=read_seconds)}."
        ]


def is_oracle(run: Run) -> bool:
    """Whether the method knew the labels of the rows on which it was judged."""
    return METHODS[run["method"]].labels == "hindsight" and run["protocol"] == "transductive"


def compare_methods(
    X: ArrayLike | TableRows,
    y: ArrayLike,
    plan: Plan | None = None,
    *,
    outlier_label: Any = None,
    n_jobs: int | None = -1,
    journal: Journal | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare methods and budgets on the same splits of a table.

    Parameters
    ----------
    X
        Table of numbers; or a ``TableRows``, whose columns become numbers within every split.
    y
        1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
        ``outlier_label``.
    plan
        What to compare; None for the default plan.
    outlier_label
        The label of outliers.
    n_jobs
        Number of processes, -1 for all cores.
    journal
        Keeps finished runs; None for memory only.
    verbose
        Whether to show a progress bar when the work is long.

    Examples
    --------
    >>> from boreod.paper.datasets import load
    >>> wine = load("wine")
    >>> plan = Plan(methods=["be"], budgets=[], repetitions=2)
    >>> found = compare_methods(wine.X, wine.y, plan, n_jobs=1)
    >>> found.methods.cell("table", "be", "auc").count
    2
    """
    plan = plan or Plan()
    check_choice("method", plan.method, ("detector", "bore"))
    rows = X if isinstance(X, TableRows) else read_rows(Detector(), X, fitting=True)
    codes, _ = read_labels(y, len(rows), outlier_label)
    methods = plan.methods
    if methods is None:
        methods = [m.name for m in METHODS.values() if m.is_installed and m.group != "unlabelled"]
    check_installed(methods)
    budgets = _read_budgets(plan)
    # Labels that cannot be split are refused here.
    split_rows(codes, 0, plan.protocol, plan.seed)
    if journal is None:
        journal = Journal(None)
    digest = digest_of(rows, codes)[:16]

    def run(work: Work, variants: dict[str, Any], label: str) -> list[Run]:
        """Return one result for every variant and split; the name of a variant identifies it."""
        tasks = {}
        facts = []
        for name, number in product(variants, range(plan.repetitions)):
            key = f"{digest}/{name}/{plan.protocol}/{number}/{plan.seed}"
            tasks[key] = (rows, codes, variants[name], number, plan.protocol, plan.seed)
            facts.append({"method": name, "repetition": number})
        results = run_tasks(work, tasks, journal, n_jobs, label, verbose)
        fact = {"dataset": TABLE, "protocol": plan.protocol}
        return [fact | more | result for more, result in zip(facts, results, strict=True)]

    # One fit serves all budgets.
    one_fit = " ".join([plan.method, *budgets]) + in_batches(plan.batch_size)
    within = {one_fit: (plan.method, budgets, plan.batch_size)} if budgets else {}
    return Comparison(
        run(run_method, {name: name for name in methods}, "methods"),
        _separate(run(_run_budgets, within, "budgets"), budgets),
        plan,
    )


def read_seconds(budget: str) -> float:
    """Return a budget in seconds, or raise if it is no time.

    Examples
    --------
    >>> read_seconds("20us")
    2e-05
    """
    value, unit = read_budget(budget)
    if unit != SECONDS:
        raise ValueError(f"A budget here is a time per row such as '20us'; got {budget!r}.")
    return value


def _read_budgets(plan: Plan) -> list[str]:
    """Return the budgets of a plan; raise if one is no time, or a batch size has no budgets."""
    budgets = list(BUDGETS if plan.budgets is None else plan.budgets)
    for budget in budgets:
        read_seconds(budget)
    check_size(plan.batch_size)
    if plan.batch_size is not None and not budgets:
        raise ValueError(
            f"`batch_size` (--batch) is {plan.batch_size}, but there are no `budgets` (--budgets). "
            "Pass some, such as 500us, or leave it out."
        )
    return budgets


def _run_budgets(
    rows: Rows,
    codes: NDArray,
    variant: tuple[str, list[str], int | None],
    repetition: int,
    protocol: str,
    seed: int,
) -> dict[str, Any]:
    """Return measures, cost and number of columns by budget.

    Budgets that cannot pay for the cheapest column are left out.
    """
    method, budgets, size = variant
    split = split_rows(codes, repetition, protocol, seed)
    learned, judged = prepare_split(rows, split)
    model = METHODS[method].make(None, seed + repetition).fit(learned, split.labels)
    # A model within a budget for all columns knows what all columns cost.
    whole = model.within("1000s", batch_size=size)
    cheapest = float(whole.costs_.in_batches(size).alone.min())
    models = {EVERYTHING: model}
    for budget in budgets:
        if read_seconds(budget) >= cheapest:
            models[budget] = model.within(budget, batch_size=size)
    outliers = codes[split.test] == OUTLIER
    return {
        budget: {
            **judge(outliers, fitted.decision_function(judged)),
            "columns": len(fitted.columns_),
            "cost": whole.cost_ if fitted.cost_ is None else fitted.cost_,
        }
        for budget, fitted in models.items()
    }


def _separate(runs: list[Run], budgets: list[str]) -> list[Run]:
    """Return one result for every budget from runs that hold several."""
    single = []
    for run in runs:
        facts = {key: run[key] for key in ("dataset", "protocol", "repetition")}
        found = {name: run[name] for name in (EVERYTHING, *budgets) if name in run}
        if "error" in run:
            found = {EVERYTHING: {"error": run["error"]}}
        single += [{**facts, "method": name, **result} for name, result in found.items()]
    return single
