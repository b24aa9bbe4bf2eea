"""Compare methods and budgets on a user's own table, with error bars, and present the results.

Everything that is compared runs on the same splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.detector import Detector
from boreod.paper.evaluation.methods import METHODS, find_missing
from boreod.paper.evaluation.runs import Journal, Work, run_tasks
from boreod.paper.evaluation.splits import (
    MEASURES,
    Rows,
    TableRows,
    judge,
    prepare_split,
    run_method,
    split_rows,
)
from boreod.paper.evaluation.summary import TABLE, Run, Summary, find_losses
from boreod.selection.budgets import check_size, in_batches, read_budget
from boreod.selection.costs import SECONDS
from boreod.text import count_of
from boreod.tool.documents import Block, Figure, Paragraph, Section, Table
from boreod.validation import OUTLIER, check_choice, read_labels, read_rows

EVERYTHING = "all columns"
BUDGETS = ("5us", "20us", "50us", "200us", "1ms")
# Users look at the top of a list, and this measure judges the top.
JUDGED_BY = "average_precision"


@dataclass(frozen=True)
class Plan:
    """What to compare on a table.

    Attributes
    ----------
    methods
        Names in ``METHODS``; None for all methods that are installed.
    budgets
        Times per row to try; None for a range from 5us to 1ms.
    method
        The method that is run within budgets: ``"detector"`` or ``"bore"``.
    batch_size
        Number of rows in one prediction, which the times assume; None for large batches.
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

    def check(self) -> list[str]:
        """Return the budgets to try.

        Raise if a method is unknown or not installed, if a budget is no time, or if there is a
        batch size without budgets.
        """
        check_choice("method", self.method, ("detector", "bore"))
        for name, lack in find_missing(self.methods or ()).items():
            raise ImportError(f"Method {name!r} {lack}")
        budgets = list(BUDGETS if self.budgets is None else self.budgets)
        for budget in budgets:
            if read_budget(budget)[1] != SECONDS:
                raise ValueError(f"A budget here is a time per row such as '20us'; got {budget!r}.")
        check_size(self.batch_size)
        if self.batch_size is not None and not budgets:
            raise ValueError(
                f"`batch_size` (--batch) is {self.batch_size}, but there are no `budgets` "
                "(--budgets). Pass budgets such as 500us, or leave `batch_size` out."
            )
        return budgets


@dataclass(frozen=True)
class Comparison:
    """Results on a table.

    Attributes
    ----------
    runs
        One result for every method and repetition.
    budget_runs
        One result for every budget and repetition; results with all columns come first.
    plan
        What was compared.
    """

    runs: list[Run]
    budget_runs: list[Run]
    plan: Plan

    @property
    def title(self) -> str:
        """The title of the method that was run within budgets."""
        return METHODS[self.plan.method].title

    @property
    def methods(self) -> Summary:
        """Means by method."""
        return Summary(self.runs)

    def advice(self) -> list[str]:
        """Return conclusions as sentences."""
        return [*self._best_methods(), *self._cheapest_budget()]

    def _best_methods(self) -> list[str]:
        """Name the best method that is no oracle, and the methods that are not surely worse."""
        fair = Summary([run for run in self.runs if not is_oracle(run)])
        order = fair.ranking(JUDGED_BY)
        if not order:
            return []
        losses = find_losses(fair, order[0], JUDGED_BY, over_sets=False)
        worse = {name for name, loss in losses.items() if loss.is_sure}
        best, *others = [METHODS[name].title for name in order if name not in worse]
        more = f", which is not surely better than {', '.join(others)}" if others else ""
        return [f"The best method by mean {MEASURES[JUDGED_BY]} is {best}{more}."]

    def _cheapest_budget(self) -> list[str]:
        """Name the smallest budget without a sure loss, or say that there is none."""
        losses = find_losses(Summary(self.budget_runs), EVERYTHING, JUDGED_BY, over_sets=False)
        if not losses:
            return []
        fine = [name for name, loss in losses.items() if not loss.is_sure]
        if not fine:
            return [f"Within every budget tried, {self.title} is worse than with all columns."]
        return [
            f"The lowest budget within which {self.title} is not surely worse than with all "
            f"columns is {min(fine, key=read_budget)}."
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
        A table of numbers, or a ``TableRows``, whose columns become numbers within every split.
    y
        Labels: 1 for outliers, 0 for inliers, -1 for unlabelled rows. With ``outlier_label``, they
        may be any labels.
    plan
        What to compare; None for the default plan.
    outlier_label
        The label of outliers, if labels are not 1, 0 and -1.
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
    budgets = plan.check()
    rows = X if isinstance(X, TableRows) else read_rows(Detector(), X, fitting=True)
    codes, _ = read_labels(y, len(rows), outlier_label)
    methods = plan.methods
    if methods is None:
        methods = [m.name for m in METHODS.values() if m.is_installed and m.group != "unlabelled"]
    # Labels that cannot be split are refused here.
    split_rows(codes, 0, plan.protocol, plan.seed)
    kept = Journal(None) if journal is None else journal
    digest = joblib.hash((rows, codes))[:16]

    def run(work: Work, variants: dict[str, Any], label: str) -> list[Run]:
        """Return one result for every variant and split; the name of a variant identifies it."""
        pairs = list(product(variants, range(plan.repetitions)))
        tasks = {
            f"{digest}/{name}/{plan.protocol}/{number}/{plan.seed}": (
                rows,
                codes,
                variants[name],
                number,
                plan.protocol,
                plan.seed,
            )
            for name, number in pairs
        }
        results = run_tasks(work, tasks, kept, n_jobs, label, verbose)
        return [
            {"dataset": TABLE, "protocol": plan.protocol, "method": name, "repetition": number}
            | result
            for (name, number), result in zip(pairs, results, strict=True)
        ]

    runs = run(run_method, {name: name for name in methods}, "methods")
    # One fit serves all budgets.
    one_fit = " ".join([plan.method, *budgets]) + in_batches(plan.batch_size)
    within = {one_fit: (plan.method, budgets, plan.batch_size)} if budgets else {}
    budget_runs = [
        {key: fit[key] for key in ("dataset", "protocol", "repetition")} | {"method": name} | result
        for fit in run(_run_budgets, within, "budgets")
        for name, result in fit.get("budgets", {EVERYTHING: {"error": fit.get("error")}}).items()
    ]
    return Comparison(runs, budget_runs, plan)


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
        if read_budget(budget)[0] >= cheapest:
            models[budget] = model.within(budget, batch_size=size)
    outliers = codes[split.test] == OUTLIER
    found = {
        budget: {
            **judge(outliers, fitted.decision_function(judged)),
            "columns": len(fitted.columns_),
            "cost": whole.cost_ if fitted.cost_ is None else fitted.cost_,
        }
        for budget, fitted in models.items()
    }
    return {"budgets": found}


def present(comparison: Comparison, about: str, folder: Path | None = None) -> Section:
    """Return a section with tables and advice, and with a picture if there is a folder for it.

    ``about`` is a sentence about the table and its labels.
    """
    count = len({run["repetition"] for run in comparison.runs + comparison.budget_runs})
    text = (
        f"{about} Measures are in percent on the judged rows: mean ± standard deviation over "
        f"{count_of(count, 'split')}. Splits share rows, so differences between methods are judged "
        "with a corrected error."
    )
    blocks: list[Block] = [Paragraph(text)]
    if comparison.runs:
        blocks.append(_methods(comparison.methods))
    if comparison.budget_runs:
        budgets = Summary(comparison.budget_runs)
        blocks.append(_budgets(comparison, budgets))
        if folder is not None and len(budgets.methods) > 2:
            blocks.append(_draw(budgets, comparison.title, folder))
    blocks += [Paragraph(sentence) for sentence in [*comparison.advice(), *_notes(comparison)]]
    return Section("Comparison", blocks)


def _methods(summary: Summary) -> Table:
    marks = {"hindsight": " (by labels)", "none": " (no labels)", "number": " (no labels)"}
    titles = {}
    for name in summary.methods:
        mark = marks.get(METHODS[name].labels, "")
        if any(map(is_oracle, summary.runs(TABLE, name))):
            mark = " (in hindsight)"
        titles[name] = METHODS[name].title + mark
    rows = _rows(summary, titles, {"fit_seconds": "{:.2f}", "row_seconds": "{:.0f}"})
    header = ["method", *MEASURES.values(), "fit, s", "a row, us"]
    return Table(header, rows, "Methods; times are medians, of one core")


def _budgets(comparison: Comparison, summary: Summary) -> Table:
    titles = {budget: budget for budget in summary.methods if summary.runs(TABLE, budget)}
    rows = _rows(summary, titles, {"columns": "{:.0f}", "cost": "{:.3g}"})
    header = ["budget", *MEASURES.values(), "columns", "us a row"]
    batches = in_batches(comparison.plan.batch_size)
    caption = f"{comparison.title} within budgets{batches}; time as priced, of one core"
    return Table(header, rows, caption=caption)


def _rows(summary: Summary, titles: dict[str, str], medians: dict[str, str]) -> list[list[str]]:
    """Return for every method its title, its quality and two medians.

    Times and costs of a row are in microseconds.
    """
    rows = []
    for name, title in titles.items():
        row = [title, *(summary.show(TABLE, name, measure) for measure in MEASURES)]
        for key, form in medians.items():
            values = [run[key] for run in summary.runs(TABLE, name)]
            unit = 1e6 if key in ("row_seconds", "cost") else 1.0
            row.append(form.format(unit * float(np.median(values))) if values else "-")
        rows.append(row)
    return rows


def _draw(summary: Summary, title: str, folder: Path) -> Figure:
    """Draw quality over the budget, with the spread over splits."""
    from boreod.tool.drawing.charts import draw_quality
    from boreod.tool.drawing.style import new_panels, save_picture

    budgets = sorted(set(summary.methods) - {EVERYTHING}, key=read_budget)
    cells = {
        MEASURES[measure]: [summary.cell(TABLE, budget, measure) for budget in budgets]
        for measure in ("auc", "average_precision")
    }
    curves = {name: np.array([cell.mean for cell in of if cell]) for name, of in cells.items()}
    spreads = {name: np.array([cell.sd for cell in of if cell]) for name, of in cells.items()}
    figure, panels = new_panels(1, columns=1, size=(6.4, 4.0))
    draw_quality(
        panels[0], np.array([1e6 * read_budget(budget)[0] for budget in budgets]), curves, spreads
    )
    panels[0].set(xlabel="budget: time per row [µs]", ylabel="on judged rows")
    path = save_picture(figure, folder / "budgets")
    text = f"Quality of {title} over the budget, mean and standard deviation over splits."
    return Figure(path, text)


def _notes(comparison: Comparison) -> list[str]:
    """Return failures, and warnings of our own methods; other libraries warn too often."""
    failed = {f"Budgets failed: {run['error']}" for run in comparison.budget_runs if "error" in run}
    said = set()
    for run in comparison.runs:
        title = METHODS[run["method"]].title
        if "error" in run:
            failed.add(f"{title} failed: {run['error']}")
        if title in ("Detector", "BORE"):
            said |= {f"{title} says: {text}" for text in run.get("warnings", [])}
    return sorted(failed) + sorted(said)
