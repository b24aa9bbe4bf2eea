"""A comparison on an own table, for readers."""

from pathlib import Path

import numpy as np

from boreod.evaluation.budgets import EVERYTHING, read_seconds
from boreod.evaluation.comparison import TABLE, Comparison, is_oracle
from boreod.evaluation.judging import MEASURES
from boreod.evaluation.methods import METHODS
from boreod.evaluation.summary import Summary
from boreod.report import Block, Figure, Paragraph, Section, Table

MARKS = {"hindsight": " (by labels)", "none": " (no labels)", "number": " (no labels)"}


def present(comparison: Comparison, about: str, folder: Path | None = None) -> Section:
    """Return tables and advice, and a picture if there is a folder for it.

    Parameters
    ----------
    comparison
        What was found.
    about
        The table, the labels and the splits, in a sentence.
    folder
        Where the picture goes, None for no picture.
    """
    count = len({run["repetition"] for run in comparison.runs + comparison.budget_runs})
    text = (
        f"{about} Percent on judged rows, mean ± standard deviation over {count} splits; the "
        "splits share rows, so differences are judged with a corrected error."
    )
    blocks: list[Block] = [Paragraph(text)]
    if comparison.runs:
        blocks.append(_methods(comparison.methods))
    if comparison.budget_runs:
        blocks.append(_budgets(comparison.budgets))
        if folder is not None and len(comparison.budgets.methods) > 2:
            blocks.append(_draw(comparison.budgets, folder))
    blocks += [Paragraph(sentence) for sentence in [*comparison.advice(), *_notes(comparison)]]
    return Section("Comparison", blocks)


def _methods(summary: Summary) -> Table:
    header = ["method", *MEASURES.values(), "fit, s", "a row, us"]
    rows, bold = [], set()
    for number, name in enumerate(summary.methods):
        method = METHODS[name]
        cells = [str(summary.cell(TABLE, name, measure) or "-") for measure in MEASURES]
        runs = summary.runs(TABLE, name)
        times = [
            f"{np.median([run['fit_seconds'] for run in runs]):.2f}" if runs else "-",
            f"{1e6 * np.median([run['row_seconds'] for run in runs]):.0f}" if runs else "-",
        ]
        mark = " (in hindsight)" if any(map(is_oracle, runs)) else MARKS.get(method.labels, "")
        rows.append([method.title + mark, *cells, *times])
        bold |= {
            (number, place)
            for place, measure in enumerate(MEASURES, 1)
            if name in summary.best(TABLE, measure)
        }
    return Table(header, rows, frozenset(bold), "Methods; times are medians, of one core")


def _budgets(summary: Summary) -> Table:
    rows = []
    for budget in summary.methods:
        runs = summary.runs(TABLE, budget)
        if not runs:
            continue
        cells = [str(summary.cell(TABLE, budget, measure) or "-") for measure in MEASURES]
        columns = f"{np.median([run['columns'] for run in runs]):.0f}"
        cost = f"{1e6 * np.median([run['cost'] for run in runs]):.3g}"
        rows.append([budget, *cells, columns, cost])
    header = ["budget", *MEASURES.values(), "columns", "us a row"]
    return Table(header, rows, caption="BORE within budgets; time as priced, of one core")


def _draw(summary: Summary, folder: Path) -> Figure:
    """Draw quality over the budget, with the spread over splits."""
    from boreod.plots import BudgetDisplay, new_panels, save_picture

    budgets = sorted((b for b in summary.methods if b != EVERYTHING), key=read_seconds)
    curves = {}
    for measure in ("auc", "average_precision"):
        cells = [summary.cell(TABLE, budget, measure) for budget in budgets]
        means = np.array([cell.mean for cell in cells if cell])
        curves[MEASURES[measure]] = (means, np.array([cell.sd for cell in cells if cell]))
    figure, panels = new_panels(1, columns=1, size=(6.4, 4.0))
    BudgetDisplay.from_curves(
        np.array([1e6 * read_seconds(budget) for budget in budgets]),
        curves,
        xlabel="budget: time per row [µs]",
        ylabel="on judged rows",
        ax=panels[0],
    )
    path = save_picture(figure, folder / "budgets")
    return Figure(path, "Quality of BORE over the budget, mean and standard deviation over splits.")


def _notes(comparison: Comparison) -> list[str]:
    """Return what failed, and what BORE had to say."""
    failed = {
        f"{METHODS[run['method']].title} failed: {run['error']}"
        for run in comparison.runs
        if "error" in run
    } | {f"Budgets failed: {run['error']}" for run in comparison.budget_runs if "error" in run}
    said = {
        f"BORE says: {text}"
        for run in comparison.runs
        if run["method"] == "bore"
        for text in run.get("warnings", [])
    }
    return sorted(failed) + sorted(said)
