"""The data at a glance, the columns in use, and what they cost."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc
from boreod.scores import DETECTORS, SCORES
from boreod.selection.budgets import in_batches, show_cost
from boreod.selection.costs import SECONDS
from boreod.text import count_of, show_number, show_percent
from boreod.tool.documents import Block, Facts, Paragraph, Section, Table
from boreod.tool.drawing.charts import draw_budget_curve
from boreod.tool.drawing.style import COLORS, FAINT, INK, SMALL, TEXT, short_name, tidy
from boreod.tool.models import list_heads, name_method, price_rows
from boreod.tool.report.evidence import Evidence, draw_figure
from boreod.validation import INLIER, OUTLIER, UNLABELLED

# The largest number of prepared columns, and of notes, on the page.
MAX_PREPARED = 40
# The largest number of rows of each class from which the AUC of single columns is computed.
MAX_JUDGED = 5000
# The largest number of points of a class in a strip. More points would blur and make files large.
MAX_STRIP_POINTS = 100
# The largest number of single columns in a table. If there are more columns, a second table shows
# families.
MAX_COLUMNS = 20
# The largest number of outliers, and of inliers, whose log-odds are explained.
MAX_EXPLAINED = 200
MARKS: dict[str, dict[str, Any]] = {
    "inliers": {"marker": "o", "facecolors": "none", "edgecolors": COLORS[0], "linewidths": 0.7},
    "outliers": {"marker": "^", "color": COLORS[6], "edgecolors": "white", "linewidths": 0.3},
}


def describe_data(evidence: Evidence, folder: Path, seed: int) -> Section:
    """Return the numbers of rows, the preparation of columns, and the strongest columns."""
    preparation = evidence.model.preparation_
    prepared = preparation.summary_
    counts = [
        (f"{len(evidence.rows):,}", "rows", ""),
        (f"{evidence.count(OUTLIER):,}", "labelled outliers", ""),
        (f"{evidence.count(INLIER):,}", "labelled inliers", ""),
        (f"{evidence.count(UNLABELLED):,}", "unlabelled rows", ""),
        (f"{evidence.rows.shape[1]:,}", "columns of numbers", ""),
    ]
    blocks: list[Block] = [Facts(counts), Paragraph(_describe_missing(evidence))]
    blocks += [Paragraph(note) for note in preparation.notes_[:MAX_PREPARED]]
    rows = [
        [column, holds, done, count_of(becomes, "column") if becomes else "-"]
        for column, holds, done, becomes in prepared[:MAX_PREPARED]
    ]
    caption = "What is done to each column, as learned in the fit"
    if len(prepared) > MAX_PREPARED:
        caption += f" ({len(prepared) - MAX_PREPARED} more not shown)"
    header = ["column", "holds", "done", "becomes"]
    blocks.append(Table(header, rows, caption=caption, texts=frozenset({1, 2})))
    if len(set(evidence.counted) - {UNLABELLED}) == 2:
        blocks += _strongest(evidence, folder, seed)
    return Section("The data at a glance", blocks)


def _describe_missing(evidence: Evidence) -> str:
    prepared = evidence.model.preparation_.summary_
    done = [column for column, _, what, _ in prepared if "missing" in what or "median" in what]
    if not done:
        return "No value was missing in the columns that the model learned from."
    shown = ", ".join(done[:5]) + (f" and {len(done) - 5} more" if len(done) > 5 else "")
    return (
        f"Values were missing in {shown} when the model was fitted. They were filled or marked in "
        "columns of their own, as the table below says. The model does the same with new rows."
    )


def _strongest(evidence: Evidence, folder: Path, seed: int) -> list[Block]:
    """Return a table and a picture of the six columns that, each alone, best separate classes."""
    places = evidence.draw(MAX_JUDGED, MAX_JUDGED, seed)
    rows = evidence.rows[places]
    outliers = evidence.counted[places] == OUTLIER
    areas = auc(outliers, rows)
    names = evidence.names
    best = np.argsort(-np.abs(areas - 0.5), kind="stable")[:6]
    cells = [
        [names[place], "high" if areas[place] >= 0.5 else "low",
         f"{max(areas[place], 1.0 - areas[place]):.3f}",
         _spread(rows[outliers, place]), _spread(rows[~outliers, place])]
        for place in best
    ]  # fmt: skip
    header = ["column", "outliers are", "AUC alone", "outliers: median (5 to 95 %)",
              "inliers: median (5 to 95 %)"]  # fmt: skip
    caption = f"The best {count_of(len(best), 'column')} if each ranks rows on its own"
    text = (
        "The AUC is the chance that a column alone ranks a random outlier and a random inlier "
        "in the right order (0.5 is a coin toss). These columns are the best of "
        f"{len(names)}, picked by the same labels, so they look a little better than they are."
    )
    strips = {names[place]: rows[:, place] for place in best}
    figure = draw_figure(
        folder / "strips",
        (5.2, 0.9 + 0.68 * len(strips)),
        "The values of outliers and inliers in these columns, as distances from the median inlier.",
        lambda ax: _draw_strips(ax, strips, outliers, seed),
    )
    return [Table(header, cells, caption=caption, texts=frozenset({1})), Paragraph(text), figure]


def _spread(values: NDArray) -> str:
    low, middle, high = (show_number(float(q)) for q in np.quantile(values, [0.05, 0.5, 0.95]))
    return f"{middle} ({low} to {high})"


def _draw_strips(ax: Any, columns: Mapping[str, NDArray], outliers: NDArray, seed: int) -> None:
    """Draw two strips of points for each column.

    Columns share one axis: the distance from the median inlier in interquartile ranges of the
    inliers, linear near 0 and logarithmic far away, so that extremes stay on the page.
    """
    random = np.random.default_rng(seed)
    for place, (column, values) in enumerate(columns.items()):
        low, middle, high = np.quantile(values[~outliers], [0.25, 0.5, 0.75])
        # The quartiles of a column with few values may be equal.
        spread = high - low or np.std(values) or 1.0
        distances = np.arcsinh((values - middle) / spread)
        for name, members, lane in (("inliers", ~outliers, 0.02), ("outliers", outliers, -0.26)):
            shown = random.permutation(distances[members])[:MAX_STRIP_POINTS]
            height = lane - place + random.uniform(-0.08, 0.08, len(shown))
            ax.scatter(shown, height, s=15, label=None if place else name, **MARKS[name])
        ax.axhline(-place - 0.45, color=FAINT, linewidth=0.8)
        where = {"transform": ax.get_yaxis_transform(), "fontsize": SMALL, "color": INK}
        ax.text(0.0, 0.24 - place, short_name(column), **where)
    tidy(ax, grid=False)
    far = np.arcsinh([1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e6])
    ticks = np.concatenate([-far[::-1], [0.0], far])
    low, high = ax.get_xlim()
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    words = [f"{round(np.sinh(tick)):+,}" if tick else "0" for tick in ticks]
    ax.set_xticks(ticks, [word.replace("-", "\N{MINUS SIGN}") for word in words])
    ax.set(yticks=[], ylim=(0.55 - len(columns), 0.6))
    ax.set_xlabel("distance from the median inlier, in interquartile ranges of inliers")
    ax.spines["left"].set_visible(False)
    key = {"fontsize": TEXT, "labelcolor": INK, "frameon": False, "handletextpad": 0.1}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0, **key)


def list_columns(evidence: Evidence, seed: int) -> Section:
    """Return the columns in use: their cost, stability, and effect on the log-odds."""
    model = evidence.model
    families = model.fitted_.columns.families
    table = _ColumnTable(evidence, seed)
    wanted: Mapping[str, float] = {}
    if model.selection_ is None:
        columns = sorted(model.columns_, key=lambda name: -table.move([name]))
    else:
        columns = list(model.selection_.columns)
        wanted = model.selection_.frequencies
    header = ["column", "kind", *table.costs, *(["bags that chose it"] if wanted else [])]
    rows = []
    for name in columns[:MAX_COLUMNS]:
        cells = [name, families.get(name, "raw"), *table.prices([name])]
        if wanted:
            cells.append(show_percent(wanted[name]) if name in wanted else "-")
        rows.append([*cells, *table.moves([name])])
    left = len(columns) - len(rows)
    caption = f"Columns, {'the most stable' if wanted else 'the largest moves'} first"
    caption += f"; {left} more are not shown" if left else ""
    blocks: list[Block] = [
        Paragraph(_describe_columns(evidence, bool(wanted), bool(table.costs))),
        Table([*header, *table.last], rows, caption=caption, texts=frozenset({1})),
    ]
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
    """Return a table that explains the scores in use."""
    known: dict[str, Any] = {**SCORES, **DETECTORS}
    used = sorted(set(families.values()) & set(known))
    rows = [[name, known[name].title, known[name].formula] for name in used]
    if not rows:
        return []
    caption = "Outlier scores in use, each of them high for rows unlike their neighbors"
    return [Table(["score", "name", "formula"], rows, caption=caption, texts=frozenset({1, 2}))]


def _heads(evidence: Evidence) -> list[Block]:
    """Return a paragraph and a table about the heads, which are the classifiers of a model."""
    model = evidence.model
    heads = list_heads(model)
    text = (
        f"The method is {name_method(model)}. On each of up to {model.n_estimators} bags of rows, "
        f"{count_of(len(heads), 'head')} {'was' if len(heads) == 1 else 'were'} fitted."
    )
    if len(heads) > 1 and not evidence.ranks_only:
        text += (
            " The log-odds of the heads are averaged. The weights of heads are learned from their "
            "out-of-bag log-odds."
        )
    rows = [
        [head.kind, show_percent(head.weight), f"{head.trees:,}" if head.trees else "-"]
        for head in heads
    ]
    table = Table(["head", "weight", "trees"], rows, caption="Classifiers (heads) by weight")
    return [Paragraph(text), table]


class _ColumnTable:
    """Table cells about columns: their costs, and the mean change of the log-odds by each column.

    This change is unknown for classifiers of other libraries.
    """

    def __init__(self, evidence: Evidence, seed: int) -> None:
        self._model = evidence.model
        costs = self._model.costs_
        priced = costs is not None and set(self._model.columns_) <= set(costs.own)
        self.costs = ["cost alone", "saved without it"] if priced else []
        self._changes: dict[str, NDArray] = {}
        places = evidence.draw(MAX_EXPLAINED, 1, seed)
        found = evidence.explain(places) if len(places) else None
        if found is not None:
            self._changes = dict(zip(found.columns, found.contributions.T, strict=True))
        self.last = ["moves log-odds by"] if self._changes else []

    def move(self, columns: list[str]) -> float:
        return float(np.abs(sum(self._changes.get(name, 0.0) for name in columns)).mean())

    def moves(self, columns: list[str]) -> list[str]:
        return [f"{self.move(columns):.2f}"] if self._changes else []

    def prices(self, members: list[str]) -> list[str]:
        costs = self._model.costs_
        if costs is None or not self.costs:
            return []
        columns = self._model.columns_
        others = [name for name in columns if name not in members]
        saved = costs.total(columns) - costs.total(others)
        return [show_price(amount, costs.unit) for amount in (costs.total(members), saved)]


def _describe_columns(evidence: Evidence, with_bags: bool, with_costs: bool) -> str:
    model = evidence.model
    count = count_of(len(model.columns_), "column")
    text = f"There was no budget: all {count} are in use."
    chosen = model.selection_
    if chosen is not None:
        spent = show_price(chosen.cost, chosen.costs.unit)
        budget = show_price(chosen.budget, chosen.costs.unit)
        rows = in_batches(chosen.batch_size) or " a row"
        text = f"The budget of {budget}{rows} bought {count} for {spent}."
    price = price_rows(model)
    if price is not None:
        times = (show_price(float(f"{seconds:.2g}"), SECONDS) for seconds in price.values())
        text += " A row costs {} in large batches, and about {} if it comes alone.".format(*times)
    text += (
        " Raw columns come from the table. The other columns are outlier scores, which say how far "
        "a row is from its neighbors, or how sparse its neighborhood is. In a name such as knn_5, "
        "5 is the number of neighbors."
    )
    if with_costs:
        text += (
            " Scores share one search of neighbors, so a score alone costs more than the model "
            "would save without it."
        )
    text += (
        " The last column of the table is the mean change of the log-odds, up or down, over "
        "outliers and as many inliers."
    )
    if with_bags:
        text += " If most bags chose a column, another fit would probably choose it again."
    return text


def show_price(amount: float, unit: str) -> str:
    """Return a cost with its unit.

    Examples
    --------
    >>> show_price(1.23e-5, "s"), show_price(12.5, "")
    ('12.3 µs', '12.5')
    """
    shown = show_cost(amount, unit)
    if unit != SECONDS:
        return shown
    return re.sub(r"([a-z]+)$", r" \1", shown).replace("us", "µs")


def trace_budgets(evidence: Evidence, folder: Path) -> Section:
    """Return a section on quality over budgets, which marks the cost of this model."""
    title = "Quality over cost"
    curve = evidence.model.record_.curve
    if curve is None:
        text = (
            "The model came without a budget curve. Fit with --curve to have a curve. In Python, "
            "model.budget_curve() traces it."
        )
        if evidence.ranks_only:
            text = (
                "A curve of quality over cost needs labels, and the model was fitted without any."
            )
        return Section(title, [Paragraph(text)])
    best = int(np.argmax(curve.auc))
    cheap = curve.first_good()
    text = (
        f"The best AUC on the curve is {curve.auc[best]:.3f}, at a cost of "
        f"{show_price(curve.costs[best], curve.unit)} a row with {curve.n_columns[best]} columns. "
        f"For an AUC within 0.01 of the best, {show_price(curve.costs[cheap], curve.unit)} and "
        f"{curve.n_columns[cheap]} columns are enough."
    )
    caption = "Out-of-bag quality over the cost of the chosen columns"
    mark = None
    chosen = evidence.model.selection_
    if chosen is not None and chosen.costs.unit == curve.unit:
        price = show_price(chosen.cost, curve.unit)
        mark = (chosen.cost, f"this model: {price}")
        text += f" This model costs {price} a row."
        caption += ", with a mark at the cost of this model"
    text += " The best of many points looks a little better than it is."
    figure = draw_figure(
        folder / "budget", (5.4, 3.6), f"{caption}.", lambda ax: draw_budget_curve(ax, curve, mark)
    )
    return Section(title, [Paragraph(text), figure])
