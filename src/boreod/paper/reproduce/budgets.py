"""The paper's Figure 4: quality over budgets, for several ways to choose columns.

As in the paper, every choice takes columns in some order until a column does not fit into the
budget. The order is that of cost-aware pursuit (BORE-Budget) or of plain pursuit (BORE-OMP), or it
is random. The paper's words on random subsets can be read in a second way: a column that does not
fit is skipped, and the next column is tried. A control that uses no labels takes the cheapest
columns first.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp

from boreod.bore import BORE
from boreod.ensemble.bags import Bags
from boreod.ensemble.heads import LogisticHead
from boreod.ensemble.training import Training
from boreod.metrics import auc, early_auc
from boreod.paper.evaluation.splits import MEASURES, split_rows
from boreod.paper.evaluation.summary import Cell
from boreod.paper.reproduce.setup import Settings, load_repetition, paragraphs, write_csv
from boreod.parallel import Threads
from boreod.selection.costs import Costs
from boreod.selection.pursuit import Paths, Rules, stable_set
from boreod.tool.documents import Bold, Figure, Section, Table
from boreod.tool.drawing import charts
from boreod.tool.drawing.style import new_panels, save_picture
from boreod.validation import OUTLIER

# The paper's costs of a score; raw columns cost 1.
SCORE_COSTS = (10, 20, 50, 100, 200, 300, 1000, 2000)
N_SUBSETS = 20
CURVES = {
    "budget": "BORE-Budget",
    "omp": "BORE-OMP",
    "random": "random, stops",
    "filled": "random, fills",
    "cheapest": "cheapest first",
}
VARIANTS = {
    "one_bag": "BORE-Budget, one bag",
    "budget_weighted": "BORE-Budget, weighted bags",
    "omp_weighted": "BORE-OMP, weighted bags",
}
SHOWN = ("auc", "early_auc")
Draws = list[dict[str, Any]]


def reproduce_budget(settings: Settings) -> Section:
    """Draw mean quality over budgets for all ways to choose columns."""
    results = draw_budgets(settings)
    rows = [row for name, draws in results.items() for row in _csv_rows(name, draws)]
    write_csv(settings.folder / "budget.csv", rows)
    draws = next(iter(results.values()))
    text = paragraphs(
        "budget",
        costs=", ".join(map(str, SCORE_COSTS)),
        count=len(draws),
        subsets=draws[0]["subsets"],
    )
    tables = [_overview(results, place, CURVES) for place in range(len(SHOWN))]
    tables += [_overview(results, 0, VARIANTS), _roughness(results)]
    figures = [
        Figure(
            save_picture(_draw(draws, name), settings.folder / f"budget_{name}"),
            f"{name}: AUC and AUC 0.1 over the budget, costs log-scaled; bands are one standard "
            "deviation over draws.",
        )
        for name, draws in results.items()
    ]
    return Section("Figure 4: budgets", [*text, *tables, *figures])


def draw_budgets(settings: Settings) -> dict[str, Draws]:
    """Return the results of all draws of costs by data set."""
    count = settings.repetitions or (2 if settings.quick else 20)
    options = (6, 3) if settings.quick else (12, N_SUBSETS)
    plan = [(name, draw, *options) for name in settings.datasets for draw in range(count)]
    found = iter(settings.run(_one_draw, plan, "budgets"))
    return {name: [next(found) for _ in range(count)] for name in settings.datasets}


def _one_draw(
    name: str, draw: int, seed: int, data: Path | None, n_budgets: int, n_subsets: int
) -> dict[str, Any]:
    """Return AUC and AUC 0.1 by curve and budget.

    The result also has both measures with all columns, and at 1 % of the cost of all columns.
    """
    rows, codes = load_repetition(name, draw, data)
    split = split_rows(codes, draw, "transductive", seed)
    training = train(rows, split.labels, seed + draw)
    outliers = codes[split.test] == OUTLIER
    costs = draw_costs(training, seed + draw)
    bags = training.bags
    pursuits = {key: follow(training, bags, costs, key == "budget") for key in ("budget", "omp")}
    one_bag = follow(training, bags.first(1), costs, True)
    cheapest = np.argsort(costs.alone, kind="stable")
    random = np.random.default_rng([seed + draw, 1])

    def measure(
        places: list[int], bags: Bags = bags, weights: NDArray | None = None
    ) -> list[float]:
        scores = average_bags(learn_odds(training, places, bags)[split.test], weights)
        return [float(auc(outliers, scores)), early_auc(outliers, scores)]

    def measure_all(orders: list[NDArray], budget: float, fill: bool) -> list[float]:
        subsets = [stable_set(order, costs, budget, fill) for order in orders]
        return np.mean([measure(chosen) for chosen in subsets], axis=0).tolist()

    total = costs.total()
    everything = measure(list(range(len(costs.names))))
    budgets = np.geomspace(min(SCORE_COSTS), total, n_budgets)
    curves: dict[str, list[list[float]]] = {key: [] for key in (*CURVES, *VARIANTS)}
    similar: dict[str, list[float]] = {key: [] for key in pursuits}
    for budget in budgets[:-1]:
        for key, paths in pursuits.items():
            chosen = choose(paths, budget)
            similarity = compare_with_bags(paths, budget, chosen)
            similar[key].append(float(similarity.mean()))
            curves[key].append(measure(chosen))
            curves[f"{key}_weighted"].append(measure(chosen, weights=similarity**2))
        one_bag.rank(budget, Threads(1), False)
        bought = one_bag.paths[0].buy(costs, budget)[0].tolist()
        curves["one_bag"].append(measure(bought, bags.first(1)))
        curves["cheapest"].append(measure(stable_set(cheapest, costs, budget, False)))
        orders = [random.permutation(len(costs.names)) for _ in range(n_subsets)]
        curves["random"].append(measure_all(orders, budget, fill=False))
        curves["filled"].append(measure_all(orders, budget, fill=True))
    # The last budget buys all columns in any order.
    for curve in curves.values():
        curve.append(everything)
    curves["one_bag"][-1] = measure(list(range(len(costs.names))), bags.first(1))
    return {
        "budgets": budgets.tolist(),
        "subsets": n_subsets,
        "curves": curves,
        "similar": {key: float(np.mean(values)) for key, values in similar.items()},
        "cheap": measure(choose(pursuits["budget"], 0.01 * total)),
        "everything": everything,
    }


def train(rows: NDArray, labels: NDArray, seed: int) -> Training:
    """Return the scaled columns, labels and bags of BORE."""
    training = BORE(n_jobs=1, random_state=seed).fit(rows, labels).training_
    assert training is not None
    return training


def learn_odds(training: Training, places: list[int], bags: Bags) -> NDArray:
    """Return the log-odds of all rows by every bag, learned from some columns.

    Without columns, all log-odds are 0.
    """
    if not places:
        return np.zeros((len(training.table), len(bags.rows)))
    recipe = training.options.recipe
    table = np.ascontiguousarray(training.table[:, sorted(places)])
    head = LogisticHead.fit(table, bags, float(recipe.penalty), Threads(1), recipe.fit_intercept)
    return head.log_odds(table)


def average_bags(odds: NDArray, weights: NDArray | None = None) -> NDArray:
    """Return the log-odds of the mean probability of all bags.

    ``odds`` are the log-odds of each bag, (rows, bags). Weights of bags need not have the sum 1. If
    all weights are 0, all bags have the same weight.

    Examples
    --------
    >>> average_bags(np.array([[0.0, 0.0], [50.0, -50.0]])).round(6).tolist()
    [0.0, 0.0]
    """
    if weights is None or not weights.any():
        weights = np.ones(odds.shape[1])
    for_outlier = logsumexp(log_expit(odds), axis=1, b=weights)
    return np.asarray(for_outlier - logsumexp(log_expit(-odds), axis=1, b=weights))


def follow(training: Training, bags: Bags, costs: Costs, cost_aware: bool) -> Paths:
    """Return the paths on which the pursuit of each bag adds columns."""
    recipe = training.options.recipe
    rules = Rules(float(recipe.penalty), cost_aware, recipe.fit_intercept)
    return Paths(training.table, np.arange(len(costs.names)), bags, costs, rules)


def choose(paths: Paths, budget: float) -> list[int]:
    """Return the indices of the columns in the paper's stable set."""
    return stable_set(paths.rank(budget, Threads(1), False)[0], paths.costs, budget, False)


def compare_with_bags(paths: Paths, budget: float, chosen: list[int]) -> NDArray:
    """Return, for every bag, the Jaccard similarity of its columns with the stable set."""
    bought = [set(path.buy(paths.costs, budget)[0].tolist()) for path in paths.paths]
    stable = set(chosen)
    return np.array([len(own & stable) / max(1, len(own | stable)) for own in bought])


def draw_costs(training: Training, seed: int) -> Costs:
    """Return a random cost for every score, and 1 for raw columns."""
    columns = training.columns
    scores = [name for name in columns.names if name in columns.families]
    drawn = np.random.default_rng(seed).choice(SCORE_COSTS, len(scores)).tolist()
    return Costs(dict.fromkeys(columns.names, 1.0) | dict(zip(scores, drawn, strict=True)))


def curve_of(draws: Draws, key: str, place: int = 0) -> NDArray:
    """Return one measure by draw and budget."""
    return np.array([draw["curves"][key] for draw in draws])[:, :, place]


def falls_of(draws: Draws, key: str) -> NDArray:
    """Return the sum of all falls of AUC along the curve of each draw."""
    return np.maximum(0.0, -np.diff(curve_of(draws, key), axis=1)).sum(axis=1)


def _overview(results: dict[str, Draws], place: int, curves: dict[str, str]) -> Table:
    rows = []
    for name, draws in results.items():
        full = np.array([draw["everything"][place] for draw in draws])
        cheap = np.array([draw["cheap"][place] for draw in draws])
        means = {key: curve_of(draws, key, place).mean(axis=1) for key in curves}
        best = max(means, key=lambda key: float(means[key].mean()))
        row = [name, str(Cell.of(full)), str(Cell.of(cheap))]
        for key, values in means.items():
            text = str(Cell.of(values))
            row.append(Bold(text) if key == best else text)
        rows.append(row)
    header = ["set", "all columns", "at 1 % of the cost", *curves.values()]
    caption = f"{MEASURES[SHOWN[place]]}; curves: mean over all budgets, log-spaced"
    return Table(header, rows, caption)


def _roughness(results: dict[str, Draws]) -> Table:
    shown = [*CURVES, *VARIANTS]
    rows = []
    for name, draws in results.items():
        similar = [np.mean([draw["similar"][key] for draw in draws]) for key in ("budget", "omp")]
        falls = [str(Cell.of(falls_of(draws, key))) for key in shown]
        rows.append([name, *falls, *(f"{value:.2f}" for value in similar)])
    header = ["set", *(CURVES | VARIANTS).values(), "Jaccard: Budget", "OMP"]
    return Table(header, rows, caption="Falls of AUC along a curve, in points; similarity of bags")


def _draw(draws: Draws, name: str) -> Any:
    budgets = np.exp(np.mean([np.log(draw["budgets"]) for draw in draws], axis=0))
    figure, panels = new_panels(2, columns=2, size=(4.6, 3.2))
    for place, (measure, ax) in enumerate(zip(SHOWN, panels, strict=True)):
        found = {title: curve_of(draws, key, place) for key, title in CURVES.items()}
        means = {title: values.mean(axis=0) for title, values in found.items()}
        charts.draw_quality(
            ax,
            budgets,
            means,
            {title: values.std(axis=0, ddof=len(draws) > 1) for title, values in found.items()},
        )
        label = MEASURES[measure]
        ax.set(xlabel="budget", ylabel=label, title=f"{name}: {label}")
    return figure


def _csv_rows(name: str, draws: Draws) -> list[dict[str, Any]]:
    """Return one row of the CSV file for every draw, curve and budget."""
    rows = []
    for (draw, found), curve in product(enumerate(draws), [*CURVES, *VARIANTS]):
        for budget, values in zip(found["budgets"], found["curves"][curve], strict=True):
            fact = {"dataset": name, "draw": draw, "selection": curve, "budget": round(budget, 3)}
            rows.append({**fact, **dict(zip(SHOWN, values, strict=True))})
    return rows
