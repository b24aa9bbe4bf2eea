"""What the model costs: the budget curve, and the columns in use."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boreod.documents import Block, Figure, Paragraph, Section, Table
from boreod.plots import BudgetDisplay, new_panels, save_picture
from boreod.report.evidence import Evidence
from boreod.report.numbers import show_percent, show_price
from boreod.selection import BudgetCurve
from boreod.text import count_of

MOST_COLUMNS = 20  # in a table of single columns; where there are more, families are shown too
COSTS = ["cost alone", "saved without it"]
WEIGHED = 200  # outliers, at most, and as many inliers, to see what columns do


def trace_spending(evidence: Evidence, curve: BudgetCurve | None, folder: Path) -> Section:
    """Return quality over budgets with the cost of this model."""
    title = "Quality over cost"
    if curve is None:
        text = (
            "The model came without a budget curve. In Python, a freshly fitted model traces one: "
            "model.budget_curve()."
        )
        return Section(title, [Paragraph(text)])
    cost = getattr(evidence.model, "cost_", None)
    if cost is None or evidence.model.costs_.unit != curve.unit:
        cost = None
    figure, panels = new_panels(1, 1, (5.4, 3.6))
    mark = "" if cost is None else f"this model: {show_price(cost, curve.unit)}"
    BudgetDisplay.from_budget_curve(curve, cost, mark, ax=panels[0])
    caption = "Out-of-bag quality over the cost of the chosen columns" + (
        ", with the place of this model." if cost is not None else "."
    )
    blocks: list[Block] = [Paragraph(_tell_curve(curve, cost))]
    return Section(title, [*blocks, Figure(save_picture(figure, folder / "budget"), caption)])


def _tell_curve(curve: BudgetCurve, cost: float | None) -> str:
    best, cheap = int(np.argmax(curve.auc)), curve.first_good()
    text = (
        f"The best AUC on the curve is {curve.auc[best]:.3f}, at a cost of "
        f"{show_price(curve.costs[best], curve.unit)} a row with {curve.n_columns[best]} columns. "
        f"Within 0.01 of it, {show_price(curve.costs[cheap], curve.unit)} and "
        f"{curve.n_columns[cheap]} columns are enough."
    )
    if cost is not None:
        text += f" This model costs {show_price(cost, curve.unit)} a row."
    return text + " The best of many points looks a little better than it is."


def list_columns(evidence: Evidence, seed: int) -> Section:
    """Return the columns in use: cost, stability, and how much they move."""
    model, families = evidence.model, evidence.model.representation_.families_
    chosen = getattr(model, "selection_", None)
    columns = model.columns_ if chosen is None else list(chosen.columns)
    moves = Moves(evidence, seed)
    if chosen is None:
        columns = sorted(columns, key=lambda name: -moves.of([name]))
    wanted = {} if chosen is None else chosen.frequencies
    header = ["column", "kind", *COSTS, *(["bags that want it"] if wanted else []), *moves.header]
    rows = []
    for name in columns[:MOST_COLUMNS]:
        cells = [evidence.names.get(name, name), families.get(name, "raw")]
        cells += _prices(evidence, [name])
        if wanted:
            cells.append(show_percent(wanted[name]) if name in wanted else "-")
        rows.append([*cells, *moves.show([name])])
    left = len(columns) - len(rows)
    order = "the most stable first" if wanted else "those that move most first"
    caption = f"Columns, {order}" + (f"; {left} more are not shown" if left else "")
    blocks: list[Block] = [Paragraph(_tell_columns(evidence, bool(wanted)))]
    blocks.append(Table(header, rows, caption=caption, texts=frozenset({1})))
    if left and families:
        blocks.append(_families(evidence, moves))
    return Section("The columns in use", blocks)


def _families(evidence: Evidence, moves: "Moves") -> Table:
    """Return the same by family, where single columns are too many."""
    families = evidence.model.representation_.families_
    groups: dict[str, list[str]] = {}
    for name in evidence.model.columns_:
        groups.setdefault(families.get(name, "raw columns"), []).append(name)
    rows = [
        [name, str(len(members)), *_prices(evidence, members), *moves.show(members)]
        for name, members in sorted(groups.items(), key=lambda group: -moves.of(group[1]))
    ]
    header = ["family", "columns", *COSTS, *moves.header]
    return Table(header, rows, caption="All columns by family")


def _tell_columns(evidence: Evidence, with_bags: bool) -> str:
    model = evidence.model
    count, unit = len(model.columns_), model.costs_.unit
    if hasattr(model, "selection_"):
        spent, budget = (show_price(a, unit) for a in (model.cost_, model.selection_.budget))
        text = f"The budget of {budget} a row bought {count_of(count, 'column')} for {spent}."
    else:
        text = f"There was no budget: all {count_of(count, 'column')} are in use."
    text += (
        " Raw columns are those of the table; the others are outlier scores, which say how far a "
        "row is from its neighbors or how thin its neighborhood is, with the number of neighbors "
        "in their name. Scores share one search of neighbors, so a column alone costs more than "
        "leaving it out saves. The last number is the mean change of the log-odds, up or down, "
        "over outliers and as many inliers."
    )
    if with_bags:
        text += " A column that most bags want on their own would be chosen again."
    return text


class Moves:
    """By how much columns change log-odds in the mean; unknown for foreign classifiers."""

    def __init__(self, evidence: Evidence, seed: int) -> None:
        places = evidence.draw(WEIGHED, 1, seed)
        found = evidence.explain(places, grouped=False) if len(places) else None
        self.header = [] if found is None else ["moves log-odds by"]
        self._changes: dict[str, NDArray] = {}
        if found is not None:
            self._changes = dict(zip(found.columns, found.contributions.T, strict=True))

    def of(self, columns: list[str]) -> float:
        """Return the mean size of what columns change together, 0 if that is unknown."""
        if not self._changes:
            return 0.0
        return float(np.abs(sum(self._changes[name] for name in columns)).mean())

    def show(self, columns: list[str]) -> list[str]:
        """Return the cells of a table."""
        return [f"{self.of(columns):.2f}"] if self._changes else []


def _prices(evidence: Evidence, members: list[str]) -> list[str]:
    """Return the cost of some columns alone, and what is saved without them."""
    costs, columns = evidence.model.costs_, evidence.model.columns_
    if not all(name in costs.own for name in columns):
        return ["-", "-"]
    others = [name for name in columns if name not in members]
    saved = costs.total(columns) - costs.total(others)
    return [show_price(amount, costs.unit) for amount in (costs.total(members), saved)]
