"""The paper's figures: bags in two spaces, ROC curves, sensitivity to parameters, and budgets."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE
from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.ensemble.parameters import Bagging, ColumnSelection
from boreod.metrics import auc
from boreod.paper.baselines import SSAD
from boreod.paper.baselines.ssad import KAPPAS, SIGMAS
from boreod.paper.evaluation.methods import METHODS, PAPER, LabelledRows
from boreod.paper.evaluation.splits import MEASURES, RATES, judge, split_rows
from boreod.paper.evaluation.summary import Best, Summary, make_table
from boreod.paper.reproduce.setup import Settings, compare, load_repetition, write_csv
from boreod.representation.scaling import MinMax
from boreod.representation.transformer import OutlierRepresentation
from boreod.tool.documents import Block, Figure, Paragraph, Section, Table
from boreod.tool.drawing import charts
from boreod.tool.drawing.style import new_panels, save_picture
from boreod.validation import INLIER, OUTLIER

# The data sets of Figures 1 to 3 of the paper.
MAPPED = ("letter", "ionosphere", "pageblocks")
CURVES = ("cardio", "ionosphere", "letter", "pageblocks", "waveform", "wilt")
SENSITIVITY = ("ionosphere",)
NEIGHBORS = 5
# The paper's costs of a score; raw columns cost 1.
SCORE_COSTS = (10, 20, 50, 100, 200, 300, 1000, 2000)
SELECTIONS = {"budget": "BORE-Budget", "omp": "BORE-OMP", "random": "BORE-random"}
BUDGET_MEASURES = ("auc", "early_auc")
# Values of the two parameters of a method by their names.
Axes = dict[str, list[float]]
Draws = list[dict[str, Any]]


def reproduce_tsne(settings: Settings) -> Section:
    """Draw one bag of each set in both spaces, and count how often neighbors share a label."""
    names = settings.only(MAPPED)
    figure, panels = new_panels(2 * len(names), columns=len(names), size=(3.2, 3.2))
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        raw, represented, outliers = _draw_bag(settings, name)
        spaces = {"raw columns": raw, "representation": represented}
        for (title, table), ax in zip(spaces.items(), panels[place :: len(names)], strict=True):
            charts.draw_embedding(ax, table, outliers, f"{name}: {title}", settings.seed)
        rows.append(
            {
                "dataset": name,
                "bag_rows": len(outliers),
                "raw_percent": _neighbor_agreement(raw, outliers),
                "representation_percent": _neighbor_agreement(represented, outliers),
            }
        )
    write_csv(settings.folder / "tsne.csv", rows)
    picture = save_picture(figure, settings.folder / "tsne")
    text = (
        "One balanced bag of each set: 70 % of the outliers, as many inliers. A map can deceive, "
        f"so the table counts: how often most of a row's {NEIGHBORS} nearest neighbors within the "
        "bag (standardized columns) have its label."
    )
    cells = [[str(value) for value in row.values()] for row in rows]
    counted = Table(["set", "rows in the bag", "raw columns, %", "representation, %"], cells)
    caption = "t-SNE of bags of " + ", ".join(names) + ": raw columns above, representation below."
    return Section(
        "Figure 1: bags in two spaces", [Paragraph(text), counted, Figure(picture, caption)]
    )


def _draw_bag(settings: Settings, name: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return the raw columns of a bag, its representation, and which rows are outliers."""
    rows, codes = load_repetition(name, 0, settings.data)
    points = MinMax.fit(rows).transform(rows)
    columns = OutlierRepresentation(n_jobs=settings.n_jobs, random_state=settings.seed)
    table = columns.fit_transform(points)
    outliers = np.flatnonzero(codes == OUTLIER)
    inliers = np.flatnonzero(codes == INLIER)
    bags = draw_bags(outliers, inliers, len(rows), BagPlan(1, 0.7), settings.seed)
    bag = np.sort(bags.rows[0])
    return points[bag], table[bag], codes[bag] == OUTLIER


def _neighbor_agreement(table: NDArray, outliers: NDArray) -> float:
    """Return the percentage of rows whose neighbors mostly have the same label."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    standard = StandardScaler().fit_transform(table)
    model = KNeighborsClassifier(NEIGHBORS).fit(standard, outliers)
    # If it gets no rows, kneighbors leaves each row out of its own neighbors.
    places = model.kneighbors(return_distance=False)
    votes = outliers[places].mean(axis=1) > 0.5
    return round(100 * float(np.mean(votes == outliers)), 1)


def reproduce_roc(settings: Settings) -> Section:
    """Draw the mean ROC curves of the runs of Table 2."""
    names = settings.only(CURVES)
    summary = Summary(compare(settings, PAPER, names=names))
    rows: list[dict[str, Any]] = []
    figure, panels = new_panels(len(names), columns=3, size=(4.6, 3.6))
    for name, ax in zip(names, panels, strict=True):
        curves = {}
        # BORE comes first and gets the first color.
        for method in reversed(summary.methods):
            runs = summary.runs(name, method)
            if not runs:
                continue
            rates = np.mean([run["roc"] for run in runs], axis=0)
            area = float(np.mean([run["auc"] for run in runs]))
            curves[METHODS[method].title] = charts.Curve(RATES, rates, area)
            rows += [
                {"dataset": name, "method": method, "fpr": x, "tpr": y}
                for x, y in zip(RATES.tolist(), rates.tolist(), strict=True)
            ]
        best = METHODS["bore"].title
        charts.draw_roc(ax, curves, best if best in curves else None)
        ax.set_title(name)
    write_csv(settings.folder / "roc.csv", rows)
    picture = save_picture(figure, settings.folder / "roc")
    text = (
        "Share of outliers found over the share of false alarms: at every false-positive rate the "
        f"mean over {settings.count} samples or splits. Numbers are mean AUCs."
    )
    caption = "ROC curves of BORE and six other methods on " + ", ".join(names) + "."
    return Section("Figure 2: ROC curves", [Paragraph(text), Figure(picture, caption)])


def reproduce_sensitivity(settings: Settings) -> Section:
    """Draw the mean AUC on test rows over grids of parameters of BORE and SSAD."""
    step = 3 if settings.quick else 1
    axes: dict[str, Axes] = {
        "bore": {"share": [0.1, 0.3, 0.5, 0.7, 0.9], "bags": [1, 2, 5, 10, 20, 50, 100]},
        "ssad": {"kappa": KAPPAS[::step].tolist(), "sigma": SIGMAS[::step].tolist()},
    }
    if settings.quick:
        axes["bore"] = {"share": [0.3, 0.7], "bags": [1, 5, 50]}
    blocks: list[Block] = []
    rows: list[dict[str, Any]] = []
    for name in settings.only(SENSITIVITY):
        grids = {method: _mean_grid(settings, name, method, axes[method]) for method in axes}
        for method, grid in grids.items():
            rows += _grid_rows({"dataset": name, "method": method}, grid, axes[method])
        spreads = {method: 100 * float(np.ptp(grid)) for method, grid in grids.items()}
        text = (
            f"{name}: mean AUC on test rows over {settings.count} splits. Between its best and "
            f"its worst setting BORE loses {spreads['bore']:.1f} points and SSAD "
            f"{spreads['ssad']:.1f}."
        )
        caption = (
            f"AUC of BORE over number and size of bags, of SSAD over kappa and sigma ({name})."
        )
        picture = save_picture(_draw_grids(grids, axes), settings.folder / f"sensitivity_{name}")
        blocks += [Paragraph(text), Figure(picture, caption)]
    write_csv(settings.folder / "sensitivity.csv", rows)
    return Section("Figure 3: sensitivity to parameters", blocks)


def _mean_grid(settings: Settings, name: str, method: str, axes: Axes) -> NDArray:
    """Return the mean AUC of every setting, one row for each value of the first parameter."""
    plan = [(name, repetition, method, *axes.values()) for repetition in range(settings.count)]
    results = settings.run(_judge_grid, plan, f"sensitivity of {method.upper()}")
    return np.mean([result["auc"] for result in results], axis=0).reshape(*map(len, axes.values()))


def _judge_grid(
    name: str, repetition: int, seed: int, data: Path | None, method: str, *axes: list[float]
) -> dict[str, Any]:
    """Return the test AUC of every setting."""
    rows, codes = load_repetition(name, repetition, data)
    split = split_rows(codes, repetition, "transductive", seed)
    fixed: dict[str, Any] = {"n_jobs": 1, "random_state": seed + repetition}
    additive = ColumnSelection(costs="complexity:additive")
    areas = []
    for a, b in product(*axes):
        model: BORE | LabelledRows
        if method == "bore":
            bagging = Bagging(max_samples=a)
            model = BORE(n_estimators=int(b), bagging=bagging, selection=additive, **fixed)
        else:
            model = LabelledRows(SSAD(kappa=a, sigma=b, **fixed))
        scores = model.fit(rows[split.fitted], split.labels).decision_function(rows[split.test])
        areas.append(float(auc(codes[split.test] == OUTLIER, scores)))
    return {"auc": areas}


def _draw_grids(grids: dict[str, NDArray], axes: dict[str, Axes]) -> Any:
    labels = {"share": "share of outliers in a bag", "bags": "number of bags"}
    limits = (min(map(np.min, grids.values())), max(map(np.max, grids.values())))
    figure, panels = new_panels(2, columns=2, size=(4.8, 3.6))
    for (method, grid), ax in zip(grids.items(), panels, strict=True):
        rows, columns = ([f"{value:.3g}" for value in axis] for axis in axes[method].values())
        first, second = (labels.get(parameter, parameter) for parameter in axes[method])
        ax.set(xlabel=second, ylabel=first, title=method.upper())
        charts.draw_heat_map(ax, grid, rows, columns, limits)
    return figure


def _grid_rows(facts: dict[str, str], grid: NDArray, axes: Axes) -> list[dict[str, Any]]:
    """Return one row of the CSV file for every setting."""
    text = "{}={{:.6g}} {}={{:.6g}}".format(*axes)
    return [
        {**facts, "parameters": text.format(*setting), "auc": area}
        for setting, area in zip(product(*axes.values()), grid.ravel().tolist(), strict=True)
    ]


def reproduce_budget(settings: Settings) -> Section:
    """Draw mean quality over budgets for three ways to choose columns."""
    count = settings.repetitions or (2 if settings.quick else 20)
    n_budgets = 6 if settings.quick else 12
    plan = [(name, draw, n_budgets) for name in settings.datasets for draw in range(count)]
    found = iter(settings.run(_one_draw, plan, "budgets"))
    results = {name: [next(found) for _ in range(count)] for name in settings.datasets}
    rows = [row for name, draws in results.items() for row in _budget_rows(name, draws)]
    write_csv(settings.folder / "budget.csv", rows)
    costs = ", ".join(map(str, SCORE_COSTS))
    text = (
        f"Every score costs one of {costs} at random, raw columns cost 1. Mean "
        f"over {count} draws of costs, each with a split of its own, at budgets from 10 to the "
        "cost of all columns, with the paper's rule: columns in the order of how many bags chose "
        "them until one does not fit. Test rows are unlabelled rows of the fit."
    )
    figures = [
        Figure(
            save_picture(_draw_budgets(draws, name), settings.folder / f"budget_{name}"),
            f"{name}: AUC and AUC 0.1 over the budget, costs log-scaled.",
        )
        for name, draws in results.items()
    ]
    return Section("Figure 4: budgets", [Paragraph(text), _overview(results), *figures])


def _one_draw(name: str, draw: int, seed: int, data: Path | None, n_budgets: int) -> dict[str, Any]:
    """Return measures by selection and budget, with all columns, and at 1 % of their cost."""
    rows, codes = load_repetition(name, draw, data)
    split = split_rows(codes, draw, "transductive", seed)
    printed = ColumnSelection(costs="complexity:additive", skip_unaffordable=False)
    model = BORE(selection=printed, n_jobs=1, random_state=seed + draw)
    model.fit(rows, split.labels)
    costs, total = draw_costs(model, seed + draw)
    outliers = codes[split.test] == OUTLIER
    budgets = np.geomspace(min(SCORE_COSTS), total, n_budgets)

    def judged(fitted: BORE) -> list[float]:
        # No bag holds unlabelled rows, so all bags score them.
        found = judge(outliers, fitted.oob_proba_[split.test])
        return [found[measure] for measure in BUDGET_MEASURES]

    curves = {
        selection: [judged(model.within(b, costs=costs, method=selection)) for b in budgets]
        for selection in SELECTIONS
    }
    cheap = model.within(0.01 * total, costs=costs, method="budget")
    whole = {"cheap": judged(cheap), "everything": judged(model)}
    return {"budgets": budgets.tolist(), **curves, **whole}


def draw_costs(model: BORE, seed: int) -> tuple[dict[str, float], float]:
    """Return a random cost for every score, and the cost of all columns together."""
    scores = [name for name in model.columns_ if name in model.fitted_.columns.families]
    drawn = np.random.default_rng(seed).choice(SCORE_COSTS, len(scores)).tolist()
    costs = dict(zip(scores, drawn, strict=True))
    return costs, sum(drawn) + len(model.columns_) - len(scores)


def _mean_curves(draws: Draws, place: int) -> dict[str, NDArray]:
    """Return the mean of one measure over draws, at every budget, by title of the selection."""
    return {
        title: np.mean([draw[name] for draw in draws], axis=0)[:, place]
        for name, title in SELECTIONS.items()
    }


def _overview(results: dict[str, Draws]) -> Table:
    rows = []
    for name, draws in results.items():
        means = [curve.mean() for curve in _mean_curves(draws, 0).values()]
        full = np.mean([draw["everything"][0] for draw in draws])
        cheap = np.mean([draw["cheap"][0] for draw in draws])
        row = [name, *(f"{100 * v:.1f}" for v in (full, cheap, cheap / full, *means))]
        best = 4 + int(np.argmax(means))
        row[best] = Best(row[best])
        rows.append(row)
    header = ["set", "all columns", "at 1 % of the cost", "% kept", *SELECTIONS.values()]
    caption = "AUC in percent; on the right the mean over all budgets, log-spaced"
    return make_table(header, rows, caption)


def _draw_budgets(draws: Draws, name: str) -> Any:
    budgets = np.exp(np.mean([np.log(draw["budgets"]) for draw in draws], axis=0))
    figure, panels = new_panels(2, columns=2, size=(4.6, 3.2))
    for place, (measure, ax) in enumerate(zip(BUDGET_MEASURES, panels, strict=True)):
        label = MEASURES[measure]
        charts.draw_quality(ax, budgets, _mean_curves(draws, place))
        ax.set(xlabel="budget", ylabel=label, title=f"{name}: {label}")
    return figure


def _budget_rows(name: str, draws: Draws) -> list[dict[str, Any]]:
    """Return one row of the CSV file for every draw, selection and budget."""
    rows = []
    for (draw, found), selection in product(enumerate(draws), SELECTIONS):
        for budget, values in zip(found["budgets"], found[selection], strict=True):
            fact = {"dataset": name, "draw": draw, "selection": selection}
            measured = dict(zip(BUDGET_MEASURES, values, strict=True))
            rows.append({**fact, "budget": round(budget, 3), **measured})
    return rows
