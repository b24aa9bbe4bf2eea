"""Present the results of a comparison on a user's own table."""

from pathlib import Path

import numpy as np

from boreod.paper.evaluation.comparison import EVERYTHING, Comparison, is_oracle, read_seconds
from boreod.paper.evaluation.methods import METHODS
from boreod.paper.evaluation.splits import MEASURES
from boreod.paper.evaluation.summary import TABLE, Run, Summary, make_table
from boreod.selection.budgets import in_batches
from boreod.text import count_of
from boreod.tool.documents import Block, Figure, Paragraph, Section, Table


def present(comparison: Comparison, about: str, folder: Path | None = None) -> Section:
    """Return tables and advice, and a picture if there is a folder for it.

    ``about`` is a sentence about the table and its labels.
    """
    count = len({run["repetition"] for run in comparison.runs + comparison.budget_runs})
    text = (
        f"{about} Percent on judged rows, mean ± standard deviation over "
        f"{count_of(count, 'split')}; the splits share rows, so differences are judged with a "
        "corrected error."
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
    rows = []
    for name in summary.methods:
        runs = summary.runs(TABLE, name)
        mark = marks.get(METHODS[name].labels, "")
        if any(map(is_oracle, runs)):
            mark = " (in hindsight)"
        rows.append([METHODS[name].title + mark, *_quality(summary, name), *_times(runs)])
    header = ["method", *MEASURES.values(), "fit, s", "a row, us"]
    return make_table(header, rows, "Methods; times are medians, of one core")


def _budgets(comparison: Comparison, summary: Summary) -> Table:
    rows = [
        [
            budget,
            *_quality(summary, budget),
            f"{_median(runs, 'columns'):.0f}",
            f"{1e6 * _median(runs, 'cost'):.3g}",
        ]
        for budget in summary.methods
        if (runs := summary.runs(TABLE, budget))
    ]
    header = ["budget", *MEASURES.values(), "columns", "us a row"]
    batches = in_batches(comparison.plan.batch_size)
    caption = f"{comparison.title} within budgets{batches}; time as priced, of one core"
    return Table(header, rows, caption=caption)


def _quality(summary: Summary, name: str) -> list[str]:
    return [summary.show(TABLE, name, measure) for measure in MEASURES]


def _times(runs: list[Run]) -> list[str]:
    if not runs:
        return ["-", "-"]
    return [f"{_median(runs, 'fit_seconds'):.2f}", f"{1e6 * _median(runs, 'row_seconds'):.0f}"]


def _median(runs: list[Run], key: str) -> float:
    return float(np.median([run[key] for run in runs]))


def _draw(summary: Summary, title: str, folder: Path) -> Figure:
    """Draw quality over the budget, with the spread over splits."""
    from boreod.tool.drawing.charts import draw_quality
    from boreod.tool.drawing.style import new_panels, save_picture

    budgets = sorted((b for b in summary.methods if b != EVERYTHING), key=read_seconds)
    curves = {}
    spreads = {}
    for measure in ("auc", "average_precision"):
        cells = [summary.cell(TABLE, budget, measure) for budget in budgets]
        curves[MEASURES[measure]] = np.array([cell.mean for cell in cells if cell])
        spreads[MEASURES[measure]] = np.array([cell.sd for cell in cells if cell])
    figure, panels = new_panels(1, columns=1, size=(6.4, 4.0))
    costs = np.array([1e6 * read_seconds(budget) for budget in budgets])
    draw_quality(panels[0], costs, curves, spreads)
    panels[0].set(xlabel="budget: time per row [µs]", ylabel="on judged rows")
    path = save_picture(figure, folder / "budgets")
    text = f"Quality of {title} over the budget, mean and standard deviation over splits."
    return Figure(path, text)


def _notes(comparison: Comparison) -> list[str]:
    """Return failures, and warnings of our own methods; other libraries warn too often."""
    named = [(METHODS[run["method"]].title, run) for run in comparison.runs]
    named += [("Budgets", run) for run in comparison.budget_runs]
    failed = {f"{who} failed: {run['error']}" for who, run in named if "error" in run}
    said = {
        f"{who} says: {text}"
        for who, run in named
        if who.startswith(("Detector", "BORE"))
        for text in run.get("warnings", [])
    }
    return sorted(failed) + sorted(said)
