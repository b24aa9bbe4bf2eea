"""A comparison on an own table, for readers."""

from pathlib import Path

import numpy as np

from boreod.paper.evaluation.comparison import (
    ALL_ROWS,
    EVERYTHING,
    Comparison,
    is_oracle,
    read_seconds,
)
from boreod.paper.evaluation.methods import METHODS
from boreod.paper.evaluation.splits import MEASURES
from boreod.paper.evaluation.summary import TABLE, Loss, Run, Summary
from boreod.selection.budgets import in_batches
from boreod.text import count_of
from boreod.tool.documents import Block, Figure, Paragraph, Section, Table

OURS = ("Detector", "BORE")
MARKS = {"hindsight": " (by labels)", "none": " (no labels)", "number": " (no labels)"}


def present(comparison: Comparison, about: str, folder: Path | None = None) -> Section:
    """Return tables and advice, and a picture if there is a folder for it.

    ``about`` tells table, labels and splits in a sentence.
    """
    everything = comparison.runs + comparison.budget_runs + comparison.reference_runs
    count = len({run["repetition"] for run in everything})
    text = (
        f"{about} Percent on judged rows, mean ± standard deviation over "
        f"{count_of(count, 'split')}; the splits share rows, so differences are judged with a "
        "corrected error."
    )
    blocks: list[Block] = [Paragraph(text)]
    if comparison.runs:
        blocks.append(_methods(comparison.methods))
    if comparison.budget_runs:
        blocks.append(_budgets(comparison.budgets, comparison.title, comparison.batch_size))
        if folder is not None and len(comparison.budgets.methods) > 2:
            blocks.append(_draw(comparison.budgets, comparison.title, folder))
    if comparison.reference_runs:
        found = comparison.references, comparison.reference_losses
        blocks.append(_references(*found, comparison.title))
    blocks += [Paragraph(sentence) for sentence in [*comparison.advice(), *_notes(comparison)]]
    return Section("Comparison", blocks)


def _methods(summary: Summary) -> Table:
    header = ["method", *MEASURES.values(), "fit, s", "a row, us"]
    rows, bold = [], set()
    for number, name in enumerate(summary.methods):
        method, runs = METHODS[name], summary.runs(TABLE, name)
        mark = " (in hindsight)" if any(map(is_oracle, runs)) else MARKS.get(method.labels, "")
        rows.append([method.title + mark, *_quality(summary, name), *_times(runs)])
        bold |= {
            (number, place)
            for place, measure in enumerate(MEASURES, 1)
            if name in summary.best(TABLE, measure)
        }
    return Table(header, rows, frozenset(bold), "Methods; times are medians, of one core")


def _budgets(summary: Summary, title: str, batch_size: int | None) -> Table:
    rows = []
    for budget in summary.methods:
        runs = summary.runs(TABLE, budget)
        if not runs:
            continue
        columns = f"{_median(runs, 'columns'):.0f}"
        cost = f"{1e6 * _median(runs, 'cost'):.3g}"
        rows.append([budget, *_quality(summary, budget), columns, cost])
    header = ["budget", *MEASURES.values(), "columns", "us a row"]
    rows_of = in_batches(batch_size)
    caption = f"{title} within budgets{rows_of}; time as priced, of one core"
    return Table(header, rows, caption=caption)


def _references(summary: Summary, losses: dict[str, Loss], title: str) -> Table:
    rows = [
        [size, *_quality(summary, size), str(losses.get(size, "-")), *_times(runs)]
        for size in summary.methods
        if (runs := summary.runs(TABLE, size))
    ]
    header = ["reference", *MEASURES.values(), "loss in AUC", "fit, s", "a row, us"]
    caption = (
        f"{title} with reference samples; loss against all rows as mean of paired differences ± "
        "its corrected error; times are medians, of one core"
    )
    return Table(header, rows, caption=caption)


def _quality(summary: Summary, name: str) -> list[str]:
    return [str(summary.cell(TABLE, name, measure) or "-") for measure in MEASURES]


def _times(runs: list[Run]) -> list[str]:
    if not runs:
        return ["-", "-"]
    fit, row = _median(runs, "fit_seconds"), _median(runs, "row_seconds")
    return [f"{fit:.2f}", f"{1e6 * row:.0f}"]


def _median(runs: list[Run], key: str) -> float:
    return float(np.median([run[key] for run in runs]))


def _draw(summary: Summary, title: str, folder: Path) -> Figure:
    """Draw quality over the budget, with the spread over splits."""
    from boreod.tool.drawing import BudgetDisplay, new_panels, save_picture

    budgets = sorted((b for b in summary.methods if b != EVERYTHING), key=read_seconds)
    curves = {}
    for measure in ("auc", "average_precision"):
        cells = [summary.cell(TABLE, budget, measure) for budget in budgets]
        means = np.array([cell.mean for cell in cells if cell])
        curves[MEASURES[measure]] = (means, np.array([cell.sd for cell in cells if cell]))
    figure, panels = new_panels(1, columns=1, size=(6.4, 4.0))
    BudgetDisplay(
        np.array([1e6 * read_seconds(budget) for budget in budgets]),
        curves,
        xlabel="budget: time per row [µs]",
        ylabel="on judged rows",
    ).plot(panels[0])
    path = save_picture(figure, folder / "budgets")
    text = f"Quality of {title} over the budget, mean and standard deviation over splits."
    return Figure(path, text)


def _notes(comparison: Comparison) -> list[str]:
    """Return what failed, and what our methods had to say."""
    named = [(METHODS[run["method"]].title, run) for run in comparison.runs]
    named += [("Budgets", run) for run in comparison.budget_runs]
    for run in comparison.reference_runs:
        sampled = run["method"] != ALL_ROWS
        with_sample = f" with reference {run['method']}" if sampled else ""
        named.append((comparison.title + with_sample, run))
    failed = {f"{who} failed: {run['error']}" for who, run in named if "error" in run}
    said = {
        f"{who} says: {text}"
        for who, run in named
        if who.startswith(OURS)  # methods of others say much about themselves
        for text in run.get("warnings", [])
    }
    return sorted(failed) + sorted(said)
