"""The data at a glance, the columns in use, and what they cost."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc
from boreod.scores import DETECTORS, SCORES
from boreod.selection.budgets import BudgetCurve, in_batches, show_cost
from boreod.selection.costs import SECONDS
from boreod.text import count_of, show_number, show_percent
from boreod.tool.documents import Block, Facts, Figure, Paragraph, Section, Table
from boreod.tool.drawing import BudgetDisplay, new_panels, save_picture
from boreod.tool.drawing.style import COLORS, FAINT, INK, SMALL, TEXT, tidy
from boreod.tool.report.evidence import Evidence
from boreod.tool.words import list_heads, name_method
from boreod.validation import INLIER, OUTLIER, UNLABELLED

Prepared = Sequence[tuple[str, str, str, int]]
MAX_PREPARED = 40
MAX_STRONGEST = 6
MAX_JUDGED = 5000  # rows of each class, to judge single columns by
MAX_POINTS = 100  # of each class in a strip; more would be a blur and a large file
MAX_COLUMNS = 20  # in a table of single columns; where there are more, families are shown too
MAX_EXPLAINED = 200  # outliers, and as many inliers, to see what columns do
TICKS = np.array([1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e6])
MARKS: dict[str, dict[str, Any]] = {
    "inliers": {"marker": "o", "facecolors": "none", "edgecolors": COLORS[0], "linewidths": 0.7},
    "outliers": {"marker": "^", "color": COLORS[6], "edgecolors": "white", "linewidths": 0.3},
}


def describe_data(
    evidence: Evidence, prepared: Prepared, notes: Sequence[str], folder: Path, seed: int
) -> Section:
    """Return numbers of rows, what was done to columns and is told, and the strongest columns."""
    counts = [
        (f"{len(evidence.rows):,}", "rows", ""),
        (f"{evidence.count(OUTLIER):,}", "labelled outliers", ""),
        (f"{evidence.count(INLIER):,}", "labelled inliers", ""),
        (f"{evidence.count(UNLABELLED):,}", "unlabelled rows", ""),
        (f"{evidence.rows.shape[1]:,}", "columns of numbers", ""),
    ]
    blocks: list[Block] = [Facts(counts), Paragraph(_tell_missing(prepared))]
    blocks += [Paragraph(note) for note in notes[:MAX_PREPARED]]
    if prepared:
        shown = prepared[:MAX_PREPARED]
        rows = [[*row[:3], count_of(row[3], "column") if row[3] else "-"] for row in shown]
        left = len(prepared) - len(rows)
        caption = "What is done to each column, as learned in the fit"
        caption += f" ({left} more not shown)" if left else ""
        header = ["column", "holds", "done", "becomes"]
        blocks.append(Table(header, rows, caption=caption, texts=frozenset({1, 2})))
    if len(set(evidence.counted) - {UNLABELLED}) == 2:
        blocks += _strongest(evidence, folder, seed)
    return Section("The data at a glance", blocks)


def _tell_missing(prepared: Prepared) -> str:
    if not prepared:
        return "The table came as numbers, and none is missing."
    done = [column for column, _, what, _ in prepared if "missing" in what or "median" in what]
    if not done:
        return "No value was missing in the columns that the model learned from."
    shown = ", ".join(done[:5]) + (f" and {len(done) - 5} more" if len(done) > 5 else "")
    return (
        f"Values were missing in {shown} when the model was fitted. They were filled, or have a "
        "column that says so: the table below tells which. The model does the same with new rows."
    )


def _strongest(evidence: Evidence, folder: Path, seed: int) -> list[Block]:
    """Return table and picture of the columns that tell most when alone."""
    places = evidence.draw(MAX_JUDGED, MAX_JUDGED, seed)
    rows, outliers = evidence.rows[places], evidence.counted[places] == OUTLIER
    areas, names = auc(outliers, rows), list(evidence.names.values())
    best = np.argsort(-np.abs(areas - 0.5), kind="stable")[:MAX_STRONGEST]
    cells = [
        [names[place], "high" if areas[place] >= 0.5 else "low",
         f"{max(areas[place], 1.0 - areas[place]):.3f}",
         _spread(rows[outliers, place]), _spread(rows[~outliers, place])]
        for place in best
    ]  # fmt: skip
    header = ["column", "outliers are", "AUC alone", "outliers: median (5 to 95 %)",
              "inliers: median (5 to 95 %)"]  # fmt: skip
    caption = f"The {count_of(len(best), 'column')} that tell most on their own"
    told = (
        "The AUC is the chance that a random outlier and a random inlier are told apart by this "
        "column alone (0.5 is a coin). These are the best of "
        f"{len(names)}, picked by the same labels, so they look a little better than they are."
    )
    strips = {names[place]: rows[:, place] for place in best}
    picture = _draw_strips(strips, outliers, folder / "strips", seed)
    shown = "Where outliers and inliers are in these columns, as distance from the median inlier."
    table = Table(header, cells, caption=caption, texts=frozenset({1}))
    return [table, Paragraph(told), Figure(picture, shown)]


def _spread(values: NDArray) -> str:
    low, middle, high = (show_number(float(q)) for q in np.quantile(values, [0.05, 0.5, 0.95]))
    return f"{middle} ({low} to {high})"


def _draw_strips(columns: Mapping[str, NDArray], outliers: NDArray, path: Path, seed: int) -> Path:
    """Draw two strips of points a column and return the path of the picture.

    Columns share one axis: the distance from the median inlier in interquartile ranges of the
    inliers, even near 0 and logarithmic far away, so that extremes stay on the page.
    """
    figure, panels = new_panels(1, 1, (5.2, 0.9 + 0.68 * len(columns)))
    ax, random = panels[0], np.random.default_rng(seed)
    for place, (column, values) in enumerate(columns.items()):
        low, middle, high = np.quantile(values[~outliers], [0.25, 0.5, 0.75])
        spread = high - low or np.std(values) or 1.0  # columns of few values have no range
        distances = np.arcsinh((values - middle) / spread)
        for name, members, lane in (("inliers", ~outliers, 0.02), ("outliers", outliers, -0.26)):
            shown = random.permutation(distances[members])[:MAX_POINTS]
            height = lane - place + random.uniform(-0.08, 0.08, len(shown))
            ax.scatter(shown, height, s=15, label=None if place else name, **MARKS[name])
        ax.axhline(-place - 0.45, color=FAINT, linewidth=0.8)
        above = column if len(column) <= 40 else column[:39] + "\N{HORIZONTAL ELLIPSIS}"
        where = {"transform": ax.get_yaxis_transform(), "fontsize": SMALL, "color": INK}
        ax.text(0.0, 0.24 - place, above, **where)
    tidy(ax, grid=False)
    ends = np.concatenate([-np.arcsinh(TICKS[::-1]), [0.0], np.arcsinh(TICKS)])
    low, high = ax.get_xlim()
    ticks = ends[(ends >= low) & (ends <= high)]
    words = [f"{round(np.sinh(tick)):+,}" if tick else "0" for tick in ticks]
    ax.set_xticks(ticks, [word.replace("-", "\N{MINUS SIGN}") for word in words])
    ax.set(yticks=[], ylim=(0.55 - len(columns), 0.6))
    ax.set_xlabel("distance from the median inlier, in quartile ranges of inliers")
    ax.spines["left"].set_visible(False)
    key = {"fontsize": TEXT, "labelcolor": INK, "frameon": False, "handletextpad": 0.1}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0, **key)
    return save_picture(figure, path)


def list_columns(evidence: Evidence, seed: int) -> Section:
    """Return the columns in use: cost, stability, and how much they move."""
    model, families = evidence.model, evidence.model.fitted_.columns.families
    chosen, table = model.selection_, _ColumnTable(evidence, seed)
    columns = model.columns_ if chosen is None else list(chosen.columns)
    if chosen is None:
        columns = sorted(columns, key=lambda name: -table.move([name]))
    wanted = {} if chosen is None else chosen.frequencies
    header = ["column", "kind", *table.costs, *(["bags that want it"] if wanted else [])]
    rows = []
    for name in columns[:MAX_COLUMNS]:
        cells = [evidence.names.get(name, name), families.get(name, "raw"), *table.prices([name])]
        if wanted:
            cells.append(show_percent(wanted[name]) if name in wanted else "-")
        rows.append([*cells, *table.moves([name])])
    left = len(columns) - len(rows)
    order = "the most stable first" if wanted else "those that move most first"
    caption = f"Columns, {order}" + (f"; {left} more are not shown" if left else "")
    told = _tell_columns(evidence, bool(wanted), bool(table.costs))
    blocks: list[Block] = [Paragraph(told)]
    texts = frozenset({1})
    blocks.append(Table([*header, *table.last], rows, caption=caption, texts=texts))
    if left and families:
        groups: dict[str, list[str]] = {}
        for name in model.columns_:
            groups.setdefault(families.get(name, "raw columns"), []).append(name)
        rows = [
            [name, str(len(members)), *table.prices(members), *table.moves(members)]
            for name, members in sorted(groups.items(), key=lambda group: -table.move(group[1]))
        ]
        header = ["family", "columns", *table.costs, *table.last]
        blocks.append(Table(header, rows, caption="All columns by family"))
    return Section("The columns in use", [*blocks, *_scores(families), *_heads(evidence)])


def _scores(families: Mapping[str, str]) -> list[Block]:
    """Return what the scores in use say."""
    known: dict[str, Any] = {**SCORES, **DETECTORS}
    used = sorted(set(families.values()) & set(known))
    rows = [[name, known[name].title, known[name].formula] for name in used]
    if not rows:
        return []
    caption = "What the scores in use say; all are high for rows unlike their neighbors"
    return [Table(["score", "called", "is"], rows, caption=caption, texts=frozenset({1, 2}))]


def _heads(evidence: Evidence) -> list[Block]:
    """Return what reads the columns."""
    heads, n_bags = list_heads(evidence.model), evidence.model.n_estimators
    text = (
        f"The model is a {name_method(evidence.model)}: on each of up to {n_bags} bags of rows "
        f"{count_of(len(heads), 'head')} {'was' if len(heads) == 1 else 'were'} fitted."
    )
    if len(heads) > 1 and not evidence.ranks_only:
        text += (
            " Their log-odds are averaged; a head weighs as much as its out-of-bag average "
            "precision, which is the better the more of the first alerts are right."
        )
    rows = [
        [head.kind, show_percent(head.weight), f"{head.trees:,}" if head.trees else "-"]
        for head in heads
    ]
    table = Table(["head", "weight", "trees"], rows, caption="Heads, the heaviest first")
    return [Paragraph(text), table]


class _ColumnTable:
    """Cells about columns: what they cost, and by how much they change log-odds in the mean.

    The latter is unknown for foreign classifiers.
    """

    def __init__(self, evidence: Evidence, seed: int) -> None:
        self._model, costs = evidence.model, evidence.model.costs_
        priced = costs is not None and set(evidence.model.columns_) <= set(costs.own)
        self.costs = ["cost alone", "saved without it"] if priced else []
        places = evidence.draw(MAX_EXPLAINED, 1, seed)
        found = evidence.explain(places) if len(places) else None
        self._changes: dict[str, NDArray] = {}
        if found is not None:
            self._changes = dict(zip(found.columns, found.contributions.T, strict=True))
        self.last = ["moves log-odds by"] if self._changes else []

    def move(self, columns: list[str]) -> float:
        if not self._changes:
            return 0.0
        return float(np.abs(sum(self._changes[name] for name in columns)).mean())

    def moves(self, columns: list[str]) -> list[str]:
        return [f"{self.move(columns):.2f}"] if self._changes else []

    def prices(self, members: list[str]) -> list[str]:
        costs, columns = self._model.costs_, self._model.columns_
        if costs is None or not self.costs:
            return []
        others = [name for name in columns if name not in members]
        saved = costs.total(columns) - costs.total(others)
        return [show_price(amount, costs.unit) for amount in (costs.total(members), saved)]


def _tell_columns(evidence: Evidence, with_bags: bool, with_costs: bool) -> str:
    model = evidence.model
    count, chosen = len(model.columns_), model.selection_
    if chosen is not None:
        spent, budget = (show_price(a, chosen.costs.unit) for a in (chosen.cost, chosen.budget))
        rows = in_batches(chosen.batch_size) or " a row"
        text = f"The budget of {budget}{rows} bought {count_of(count, 'column')} for {spent}."
    else:
        text = f"There was no budget: all {count_of(count, 'column')} are in use."
    often, alone = model.price_of_rows(), model.price_of_rows(batch_size=1)
    if often is not None and alone is not None:
        times = (show_price(float(f"{seconds:.2g}"), SECONDS) for seconds in (often, alone))
        text += " Priced at {} a row in large batches, and about {} for a row alone.".format(*times)
    text += (
        " Raw columns are those of the table; the others are outlier scores, which say how far a "
        "row is from its neighbors or how thin its neighborhood is, with the number of neighbors "
        "in their name."
    )
    if with_costs:
        text += (
            " Scores share one search of neighbors, so a column alone costs more than leaving it "
            "out saves."
        )
    text += (
        " The last number is the mean change of the log-odds, up or down, over outliers and as "
        "many inliers."
    )
    if with_bags:
        text += " A column that most bags want on their own would be chosen again."
    return text


def show_price(amount: float, unit: str) -> str:
    """Return a cost with its unit.

    Examples
    --------
    >>> show_price(1.23e-5, "s"), show_price(12.5, "")
    ('12.3 µs', '12.5')
    """
    shown = show_cost(amount, unit)
    return re.sub(r"([a-z]+)$", r" \1", shown).replace("us", "µs") if unit == SECONDS else shown


def trace_budgets(evidence: Evidence, curve: BudgetCurve | None, folder: Path) -> Section:
    """Return quality over budgets with the cost of this model."""
    title = "Quality over cost"
    if curve is None:
        text = (
            "A curve of quality over cost needs labels, and the model was fitted without any."
            if evidence.ranks_only
            else "The model came without a budget curve. Fit with --curve to have one; in Python, "
            "model.budget_curve() traces it."
        )
        return Section(title, [Paragraph(text)])
    best, cheap = int(np.argmax(curve.auc)), curve.first_good()
    text = (
        f"The best AUC on the curve is {curve.auc[best]:.3f}, at a cost of "
        f"{show_price(curve.costs[best], curve.unit)} a row with {curve.n_columns[best]} columns. "
        f"Within 0.01 of it, {show_price(curve.costs[cheap], curve.unit)} and "
        f"{curve.n_columns[cheap]} columns are enough."
    )
    caption, mark = "Out-of-bag quality over the cost of the chosen columns", ""
    chosen = evidence.model.selection_
    cost = None if chosen is None or chosen.costs.unit != curve.unit else chosen.cost
    if cost is not None:
        mark = f"this model: {show_price(cost, curve.unit)}"
        text += f" This model costs {show_price(cost, curve.unit)} a row."
        caption += ", with the place of this model"
    text += " The best of many points looks a little better than it is."
    figure, panels = new_panels(1, 1, (5.4, 3.6))
    BudgetDisplay.from_budget_curve(curve, cost, mark, ax=panels[0])
    picture = Figure(save_picture(figure, folder / "budget"), caption + ".")
    return Section(title, [Paragraph(text), picture])
