"""Figure 4: detection within a budget, three ways to choose columns."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE
from boreod.paper.evaluation import MEASURES, judge, split_rows
from boreod.paper.reproduce.setup import Settings, load_repetition, write_csv
from boreod.tool.documents import Block, Figure, Paragraph, Section, Table
from boreod.tool.drawing import BudgetDisplay, new_panels, save_picture
from boreod.validation import OUTLIER

POOL = (10, 20, 50, 100, 200, 300, 1000, 2000)  # the paper's costs of a score; raw columns cost 1
SELECTIONS = {"budget": "BORE-Budget", "omp": "BORE-OMP", "random": "BORE-random"}
SHOWN = {measure: MEASURES[measure] for measure in ("auc", "early_auc")}
DRAWS, QUICK_DRAWS = 20, 2
BUDGETS, QUICK_BUDGETS = 12, 6
CHEAP = 0.01
Draws = list[dict[str, Any]]


def reproduce_budget(settings: Settings) -> Section:
    """Draw mean quality over budgets, costs drawn anew for every split."""
    n_budgets, count = QUICK_BUDGETS if settings.quick else BUDGETS, count_draws(settings)
    plan = [(name, draw, n_budgets) for name in settings.datasets for draw in range(count)]
    found = iter(settings.run(_one_draw, plan, "budgets"))
    results = {name: [next(found) for _ in range(count)] for name in settings.datasets}
    rows = [row for name, draws in results.items() for row in _tidy(name, draws)]
    write_csv(settings.folder / "budget.csv", rows)
    text = (
        f"Every score costs one of {', '.join(map(str, POOL))} at random, raw columns cost 1. Mean "
        f"over {count} draws of costs, each with a split of its own, at budgets from 10 to the "
        "cost of all columns, with the paper's rule: columns in the order of how many bags chose "
        "them until one does not fit. Test rows are unlabelled rows of the fit."
    )
    blocks: list[Block] = [Paragraph(text), _overview(results)]
    for name, draws in results.items():
        picture = save_picture(_draw(draws, name), settings.folder / f"budget_{name}")
        caption = f"{name}: AUC and AUC 0.1 over the budget, costs log-scaled."
        blocks.append(Figure(picture, caption))
    return Section("Figure 4: budgets", blocks)


def count_draws(settings: Settings) -> int:
    """Return how often costs are drawn: as often as in the paper unless told otherwise."""
    return settings.repetitions or (QUICK_DRAWS if settings.quick else DRAWS)


def _one_draw(name: str, draw: int, seed: int, data: Path | None, n_budgets: int) -> dict[str, Any]:
    """Return measures by selection and budget, of everything, and at one percent of its cost."""
    rows, codes = load_repetition(name, draw, data)
    split = split_rows(codes, draw, "transductive", seed)
    model = BORE(costs="complexity:additive", fill=False, n_jobs=1, random_state=seed + draw)
    model.fit(rows, split.labels)
    costs, total = draw_costs(model, seed + draw)
    outliers = codes[split.test] == OUTLIER
    budgets = np.geomspace(min(POOL), total, n_budgets)

    def judged(fitted: BORE) -> list[float]:
        found = judge(outliers, fitted.oob_proba_[split.test])  # unlabelled rows: of all bags
        return [found[measure] for measure in SHOWN]

    curves = {
        selection: [judged(model.within(b, costs=costs, selection=selection)) for b in budgets]
        for selection in SELECTIONS
    }
    cheap = judged(model.within(CHEAP * total, costs=costs, selection="budget"))
    everything = judged(model)
    return {"budgets": budgets.tolist(), **curves, "cheap": cheap, "everything": everything}


def draw_costs(model: BORE, seed: int) -> tuple[dict[str, float], float]:
    """Return a cost for every score, and what all columns cost together."""
    scores = [name for name in model.columns_ if name in model.fitted_.columns.families]
    drawn = np.random.default_rng(seed).choice(POOL, len(scores)).tolist()
    costs = dict(zip(scores, drawn, strict=True))
    return costs, sum(drawn) + len(model.columns_) - len(scores)


def _mean_curves(draws: Draws, place: int) -> dict[str, NDArray]:
    """Return the mean over draws of one measure, at every budget, by title."""
    return {
        title: np.mean([np.array(draw[name])[:, place] for draw in draws], axis=0)
        for name, title in SELECTIONS.items()
    }


def _overview(results: dict[str, Draws]) -> Table:
    rows, bold = [], set()
    for number, (name, draws) in enumerate(results.items()):
        means = {title: curve.mean() for title, curve in _mean_curves(draws, 0).items()}
        full = np.mean([draw["everything"][0] for draw in draws])
        cheap = np.mean([draw["cheap"][0] for draw in draws])
        best = max(means, key=lambda title: means[title])
        bold.add((number, 4 + list(means).index(best)))
        shares = [full, cheap, cheap / full, *means.values()]
        rows.append([name, *(f"{100 * share:.1f}" for share in shares)])
    header = ["set", "all columns", "at 1 % of the cost", "% kept", *SELECTIONS.values()]
    caption = "AUC in percent; on the right the mean over all budgets, log-spaced"
    return Table(header, rows, frozenset(bold), caption)


def _draw(draws: Draws, name: str) -> Any:
    budgets = np.exp(np.mean([np.log(draw["budgets"]) for draw in draws], axis=0))
    figure, panels = new_panels(2, columns=2, size=(4.6, 3.2))
    for place, (label, ax) in enumerate(zip(SHOWN.values(), panels, strict=True)):
        BudgetDisplay(budgets, _mean_curves(draws, place), ylabel=label).plot(ax)
        ax.set_title(f"{name}: {label}")
    return figure


def _tidy(name: str, draws: Draws) -> list[dict[str, Any]]:
    return [
        {
            "dataset": name,
            "draw": draw,
            "selection": selection,
            "budget": round(budget, 3),
            **{m: round(v, 6) for m, v in zip(SHOWN, found[selection][place], strict=True)},
        }
        for draw, found in enumerate(draws)
        for selection in SELECTIONS
        for place, budget in enumerate(found["budgets"])
    ]
