"""Figure 3: how much the parameters of BORE and of SSAD matter."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.baselines import SSAD
from boreod.baselines.ssad_tuning import KAPPAS, SIGMAS
from boreod.detector import BORE
from boreod.documents import Block, Figure, Paragraph, Section
from boreod.evaluation import LabelledRows, split_rows
from boreod.metrics import auc
from boreod.plots import SensitivityDisplay, new_panels, save_picture
from boreod.reproduce.setup import Settings, load_repetition, write_csv
from boreod.validation import OUTLIER

SHOWN = ("ionosphere",)
BAGS, SHARES = (1, 2, 5, 10, 20, 50, 100), (0.1, 0.3, 0.5, 0.7, 0.9)
QUICK_BAGS, QUICK_SHARES = (1, 5, 50), (0.3, 0.7)
Grid = list[tuple[float, float]]


def reproduce_sensitivity(settings: Settings) -> Section:
    """Draw the mean test AUC over grids of parameters, both on one scale."""
    bags, shares = (QUICK_BAGS, QUICK_SHARES) if settings.quick else (BAGS, SHARES)
    step = 3 if settings.quick else 1
    axes = {
        "bore": (np.array(shares, float), np.array(bags, float)),
        "ssad": (KAPPAS[::step], SIGMAS[::step]),
    }
    blocks: list[Block] = []
    rows: list[dict[str, Any]] = []
    for name in settings.only(SHOWN):
        grids = {method: _mean_grid(settings, name, method, *axes[method]) for method in axes}
        rows += [
            row for method in axes for row in _tidy(name, method, grids[method], *axes[method])
        ]
        picture = _draw(settings, name, grids, axes)
        spreads = {method: 100 * float(np.ptp(grid)) for method, grid in grids.items()}
        blocks.append(
            Paragraph(
                f"{name}: mean AUC on test rows over {settings.count} splits. Between its best and "
                f"its worst setting BORE loses {spreads['bore']:.1f} points and SSAD "
                f"{spreads['ssad']:.1f}."
            )
        )
        caption = (
            f"AUC of BORE over number and size of bags, of SSAD over kappa and sigma ({name})."
        )
        blocks.append(Figure(picture, caption))
    write_csv(settings.folder / "sensitivity.csv", rows)
    return Section("Figure 3: sensitivity to parameters", blocks)


def _mean_grid(
    settings: Settings, name: str, method: str, first: NDArray, second: NDArray
) -> NDArray:
    """Return the mean AUC, one row a value of the first parameter."""
    grid = [(float(a), float(b)) for a in first for b in second]
    tasks = {
        f"sensitivity/{settings.key(name, repetition)}/{method}/{len(grid)}": (
            name, method, grid, repetition, settings.seed, settings.data,
        )
        for repetition in range(settings.count)
    }  # fmt: skip
    results = settings.run(_judge_grid, tasks, f"sensitivity of {method.upper()}")
    return np.mean([result["auc"] for result in results], axis=0).reshape(len(first), len(second))


def _judge_grid(
    name: str, method: str, grid: Grid, repetition: int, seed: int, data: Path | None
) -> dict[str, Any]:
    """Return the test AUC of every setting."""
    rows, codes = load_repetition(name, repetition, data)
    split = split_rows(codes, repetition, "transductive", seed)
    areas = []
    for first, second in grid:
        make = _make_bore if method == "bore" else _make_ssad
        model = make(first, second, seed + repetition)
        scores = model.fit(rows[split.fitted], split.labels).decision_function(rows[split.test])
        areas.append(float(auc(codes[split.test] == OUTLIER, scores)))
    return {"auc": areas}


def _make_bore(share: float, bags: float, seed: int) -> BORE:
    return BORE(
        share=share,
        n_estimators=int(bags),
        costs="complexity:additive",
        n_jobs=1,
        random_state=seed,
    )


def _make_ssad(kappa: float, sigma: float, seed: int) -> LabelledRows:
    return LabelledRows(lambda: SSAD(kappa=kappa, sigma=sigma, n_jobs=1, random_state=seed))


def _draw(
    settings: Settings,
    name: str,
    grids: dict[str, NDArray],
    axes: dict[str, tuple[NDArray, NDArray]],
) -> Path:
    limits = (min(map(np.min, grids.values())), max(map(np.max, grids.values())))
    words = {
        "bore": ("BORE", "share of outliers in a bag", "number of bags"),
        "ssad": ("SSAD", "kappa", "sigma"),
    }
    figure, panels = new_panels(2, columns=2, size=(4.8, 3.6))
    for (method, grid), ax in zip(grids.items(), panels, strict=True):
        label, first, second = words[method]
        ticks = [[f"{value:.3g}" for value in values] for values in axes[method]]
        SensitivityDisplay.from_grid(
            grid, ticks[0], ticks[1], first, second, title=label, limits=limits, ax=ax
        )
    return save_picture(figure, settings.folder / f"sensitivity_{name}")


def _tidy(
    name: str, method: str, grid: NDArray, first: NDArray, second: NDArray
) -> list[dict[str, Any]]:
    names = ("share", "bags") if method == "bore" else ("kappa", "sigma")
    return [
        {
            "dataset": name,
            "method": method,
            "parameters": f"{names[0]}={a:.6g} {names[1]}={b:.6g}",
            "auc": round(float(grid[i, j]), 6),
        }
        for i, a in enumerate(first)
        for j, b in enumerate(second)
    ]
