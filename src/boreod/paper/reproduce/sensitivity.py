"""Figure 3: how much the parameters of BORE and of SSAD matter."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE
from boreod.metrics import auc
from boreod.paper.baselines import SSAD
from boreod.paper.baselines.ssad_tuning import KAPPAS, SIGMAS
from boreod.paper.evaluation import LabelledRows, split_rows
from boreod.paper.reproduce.setup import Settings, load_repetition, write_csv
from boreod.tool.documents import Block, Figure, Paragraph, Section
from boreod.tool.drawing import SensitivityDisplay, new_panels, save_picture
from boreod.validation import OUTLIER

SHOWN = ("ionosphere",)
BAGS, SHARES = (1, 2, 5, 10, 20, 50, 100), (0.1, 0.3, 0.5, 0.7, 0.9)
QUICK_BAGS, QUICK_SHARES = (1, 5, 50), (0.3, 0.7)
LABELS = {"share": "share of outliers in a bag", "bags": "number of bags"}
Axes = dict[str, list[float]]  # values of the two parameters of a method


def reproduce_sensitivity(settings: Settings) -> Section:
    """Draw the mean test AUC over grids of parameters, both on one scale."""
    shares, bags = (QUICK_SHARES, QUICK_BAGS) if settings.quick else (SHARES, BAGS)
    step = 3 if settings.quick else 1
    axes: dict[str, Axes] = {
        "bore": {"share": list(shares), "bags": [float(number) for number in bags]},
        "ssad": {"kappa": KAPPAS[::step].tolist(), "sigma": SIGMAS[::step].tolist()},
    }
    blocks: list[Block] = []
    rows: list[dict[str, Any]] = []
    for name in settings.only(SHOWN):
        grids = {method: _mean_grid(settings, name, method, axes[method]) for method in axes}
        rows += [row for method in axes for row in _tidy(name, method, grids[method], axes[method])]
        spreads = {method: 100 * float(np.ptp(grid)) for method, grid in grids.items()}
        text = (
            f"{name}: mean AUC on test rows over {settings.count} splits. Between its best and "
            f"its worst setting BORE loses {spreads['bore']:.1f} points and SSAD "
            f"{spreads['ssad']:.1f}."
        )
        caption = (
            f"AUC of BORE over number and size of bags, of SSAD over kappa and sigma ({name})."
        )
        picture = save_picture(_draw(grids, axes), settings.folder / f"sensitivity_{name}")
        blocks += [Paragraph(text), Figure(picture, caption)]
    write_csv(settings.folder / "sensitivity.csv", rows)
    return Section("Figure 3: sensitivity to parameters", blocks)


def _mean_grid(settings: Settings, name: str, method: str, axes: Axes) -> NDArray:
    """Return the mean AUC, one row a value of the first parameter."""
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
    areas = []
    for a, b in product(*axes):
        model: BORE | LabelledRows
        if method == "bore":
            model = BORE(share=a, n_estimators=int(b), costs="complexity:additive", **fixed)
        else:
            model = LabelledRows(partial(SSAD, kappa=a, sigma=b, **fixed))
        scores = model.fit(rows[split.fitted], split.labels).decision_function(rows[split.test])
        areas.append(float(auc(codes[split.test] == OUTLIER, scores)))
    return {"auc": areas}


def _draw(grids: dict[str, NDArray], axes: dict[str, Axes]) -> Any:
    limits = (min(map(np.min, grids.values())), max(map(np.max, grids.values())))
    figure, panels = new_panels(2, columns=2, size=(4.8, 3.6))
    for (method, grid), ax in zip(grids.items(), panels, strict=True):
        rows, columns = ([f"{value:.3g}" for value in axis] for axis in axes[method].values())
        first, second = (LABELS.get(parameter, parameter) for parameter in axes[method])
        title = method.upper()
        SensitivityDisplay(grid, rows, columns, first, second, title, limits).plot(ax)
    return figure


def _tidy(name: str, method: str, grid: NDArray, axes: Axes) -> list[dict[str, Any]]:
    text = "{}={{:.6g}} {}={{:.6g}}".format(*axes)
    facts = {"dataset": name, "method": method}
    return [
        facts | {"parameters": text.format(*setting), "auc": round(float(area), 6)}
        for setting, area in zip(product(*axes.values()), grid.flat, strict=True)
    ]
