"""The paper's Figures 1 to 3: bags in two spaces, ROC curves, and sensitivity to parameters."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE
from boreod.ensemble.bags import BagPlan, draw_bags
from boreod.ensemble.parameters import Bagging
from boreod.metrics import auc
from boreod.paper.baselines import SSAD
from boreod.paper.baselines.ssad import KAPPAS, SIGMAS
from boreod.paper.evaluation.methods import METHODS, PAPER, LabelledRows
from boreod.paper.evaluation.splits import RATES, split_rows
from boreod.paper.evaluation.summary import Cell, Summary
from boreod.paper.reproduce.setup import Settings, compare, load_repetition, paragraphs, write_csv
from boreod.representation.scaling import fit_scaler
from boreod.representation.transformer import OutlierRepresentation
from boreod.tool.documents import Block, Figure, Section, Table
from boreod.tool.drawing import charts
from boreod.tool.drawing.style import new_panels, save_picture
from boreod.validation import INLIER, OUTLIER

# The data sets of Figures 1 to 3 of the paper.
MAPPED = ("letter", "ionosphere", "pageblocks")
CURVES = ("cardio", "ionosphere", "letter", "pageblocks", "waveform", "wilt")
SENSITIVITY = ("ionosphere",)
NEIGHBORS = 5
N_BAGS = 10
# A representation counts as better if it is better in more than this share of the bags.
MANY = 0.75
# The raw columns of a bag, its representation, and which rows are outliers.
Bag = tuple[NDArray, NDArray, NDArray]
# Values of the two parameters of a method by their names.
Axes = dict[str, list[float]]
GRIDS: dict[str, Axes] = {
    "bore": {"share": [0.1, 0.3, 0.5, 0.7, 0.9], "bags": [1, 2, 5, 10, 20, 50, 100]},
    "ssad": {"kappa": KAPPAS.tolist(), "sigma": SIGMAS.tolist()},
}


def reproduce_tsne(settings: Settings) -> Section:
    """Draw a bag of each set in both spaces, and count how often neighbors share a label."""
    names = settings.only(MAPPED)
    figure, panels = new_panels(2 * len(names), columns=len(names), size=(3.2, 3.2))
    rows: list[dict[str, Any]] = []
    table: list[list[str]] = []
    gains: dict[bool, list[str]] = {True: [], False: []}
    for place, name in enumerate(names):
        shares, drawn = compare_spaces(settings, name)
        difference = shares[:, 1] - shares[:, 0]
        # The picture shows neither a lucky bag nor an unlucky one.
        median = int(np.argsort(difference, kind="stable")[len(drawn) // 2])
        raw, represented, outliers = drawn[median]
        spaces = {"raw columns": raw, "representation": represented}
        for (title, points), ax in zip(spaces.items(), panels[place :: len(names)], strict=True):
            charts.draw_embedding(ax, points, outliers, f"{name}: {title}", settings.seed)
        better = int((difference > 0.0).sum())
        means = [str(Cell.of(values)) for values in (*shares.T, difference)]
        table.append([name, str(len(outliers)), *means, f"{better} of {len(drawn)}"])
        gains[is_better(shares)].append(name)
        rows += [
            {"dataset": name, "bag": bag, "raw": own, "representation": other}
            for bag, (own, other) in enumerate(shares.tolist())
        ]
    write_csv(settings.folder / "tsne.csv", rows)
    text = paragraphs(
        "tsne",
        n_bags=N_BAGS,
        neighbors=NEIGHBORS,
        better=", ".join(gains[True]) or "none",
        not_better=", ".join(gains[False]) or "none",
    )
    header = ["set", "rows in a bag", "raw columns", "representation", "difference", "better"]
    picture = Figure(
        save_picture(figure, settings.folder / "tsne"),
        f"t-SNE of bags of {', '.join(names)}: raw columns above, representation below.",
    )
    return Section("Figure 1: bags in two spaces", [*text, Table(header, table), picture])


def compare_spaces(settings: Settings, name: str) -> tuple[NDArray, list[Bag]]:
    """Return the agreement of neighbors in both spaces by bag, and the bags."""
    drawn = _draw_bags(settings, name)
    shares = [[agreement(space, outliers) for space in spaces] for *spaces, outliers in drawn]
    return np.array(shares), drawn


def is_better(shares: NDArray) -> bool:
    """Return whether neighbors agree more in the representation, in more than MANY of the bags."""
    return bool((shares[:, 1] > shares[:, 0]).mean() > MANY)


def _draw_bags(settings: Settings, name: str) -> list[Bag]:
    """Return the raw columns of every bag, its representation, and which rows are outliers."""
    rows, codes = load_repetition(name, 0, settings.data)
    points = fit_scaler("minmax", rows).transform(rows)
    columns = OutlierRepresentation(n_jobs=settings.n_jobs, random_state=settings.seed)
    table = columns.fit_transform(points)
    outliers = np.flatnonzero(codes == OUTLIER)
    inliers = np.flatnonzero(codes == INLIER)
    bags = draw_bags(outliers, inliers, len(rows), BagPlan(N_BAGS, 0.7), settings.seed)
    return [(points[bag], table[bag], codes[bag] == OUTLIER) for bag in np.sort(bags.rows)]


def agreement(table: NDArray, outliers: NDArray) -> float:
    """Return the share of rows whose neighbors mostly have the same label."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    model = KNeighborsClassifier(NEIGHBORS).fit(StandardScaler().fit_transform(table), outliers)
    # If `kneighbors` gets no rows, it leaves each row out of its own neighbors.
    places = model.kneighbors(return_distance=False)
    return float(np.mean((outliers[places].mean(axis=1) > 0.5) == outliers))


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
            found = np.array([run["roc"] for run in runs])
            rates = found.mean(axis=0)
            spread = found.std(axis=0, ddof=len(found) > 1)
            band = np.array(
                [np.interp(charts.GRID, RATES, end) for end in [rates - spread, rates + spread]]
            )
            curve = charts.Curve(
                RATES, rates, float(np.mean([run["auc"] for run in runs])), band=band.clip(0.0, 1.0)
            )
            curves[METHODS[method].title] = curve
            points = zip(RATES.tolist(), rates.tolist(), spread.tolist(), strict=True)
            fact = {"dataset": name, "method": method}
            rows += [{**fact, "fpr": x, "tpr": y, "sd": sd} for x, y, sd in points]
        best = METHODS["bore"].title
        charts.draw_roc(ax, curves, best if best in curves else None)
        ax.set_title(name)
    write_csv(settings.folder / "roc.csv", rows)
    picture = Figure(
        save_picture(figure, settings.folder / "roc"),
        f"ROC curves of BORE and six other methods on {', '.join(names)}.",
    )
    return Section("Figure 2: ROC curves", [*paragraphs("roc", count=settings.count), picture])


def reproduce_sensitivity(settings: Settings) -> Section:
    """Draw the mean AUC on test rows over grids of parameters of BORE and SSAD."""
    blocks: list[Block] = []
    rows: list[dict[str, Any]] = []
    for name in settings.only(SENSITIVITY):
        grids = {method: judge_grids(settings, name, method) for method in GRIDS}
        means = {method: found.mean(axis=0) for method, found in grids.items()}
        for method, found in grids.items():
            rows += _grid_rows(
                {"dataset": name, "method": method}, found, axes_of(settings, method)
            )
        loss = {method: 100 * np.ptp(mean) for method, mean in means.items()}
        spread = {
            method: 100 * found.std(axis=0, ddof=len(found) > 1).mean()
            for method, found in grids.items()
        }
        blocks += paragraphs(
            "sensitivity",
            name=name,
            count=settings.count,
            few=f"{100 * np.ptp(enough_bags(settings, means['bore'])):.1f}",
            **{method: f"{loss[method]:.1f}" for method in GRIDS},
            **{f"{method}_sd": f"{spread[method]:.1f}" for method in GRIDS},
        )
        figure = _draw_grids(settings, means)
        blocks.append(
            Figure(
                save_picture(figure, settings.folder / f"sensitivity_{name}"),
                f"AUC of BORE over number and size of bags, of SSAD over kappa and sigma ({name}).",
            )
        )
    write_csv(settings.folder / "sensitivity.csv", rows)
    return Section("Figure 3: sensitivity to parameters", blocks)


def axes_of(settings: Settings, method: str) -> Axes:
    """Return the values of both parameters; with ``quick``, only every third value."""
    step = 3 if settings.quick else 1
    return {name: values[::step] for name, values in GRIDS[method].items()}


def judge_grids(settings: Settings, name: str, method: str) -> NDArray:
    """Return the test AUC by repetition and by the values of both parameters."""
    axes = axes_of(settings, method)
    plan = [(name, repetition, method, *axes.values()) for repetition in range(settings.count)]
    results = settings.run(_judge_grid, plan, f"sensitivity of {method.upper()}")
    return np.array([result["auc"] for result in results]).reshape(-1, *map(len, axes.values()))


def enough_bags(settings: Settings, means: NDArray) -> NDArray:
    """Return the mean AUCs of BORE with at least 5 bags and at least 30 % of the outliers."""
    shares, bags = map(np.array, axes_of(settings, "bore").values())
    return means[np.ix_(shares >= 0.3, bags >= 5)]


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
            model = BORE(n_estimators=int(b), bagging=Bagging(max_samples=a), **fixed)
        else:
            model = LabelledRows(SSAD(kappa=a, sigma=b, **fixed))
        scores = model.fit(rows[split.fitted], split.labels).decision_function(rows[split.test])
        areas.append(float(auc(codes[split.test] == OUTLIER, scores)))
    return {"auc": areas}


def _draw_grids(settings: Settings, means: dict[str, NDArray]) -> Any:
    labels = {"share": "share of outliers in a bag", "bags": "number of bags"}
    limits = (min(map(np.min, means.values())), max(map(np.max, means.values())))
    figure, panels = new_panels(2, columns=2, size=(4.8, 3.6))
    for (method, grid), ax in zip(means.items(), panels, strict=True):
        axes = axes_of(settings, method)
        rows, columns = ([f"{value:.3g}" for value in axis] for axis in axes.values())
        first, second = (labels.get(parameter, parameter) for parameter in axes)
        ax.set(xlabel=second, ylabel=first, title=METHODS[method].title)
        charts.draw_heat_map(ax, grid, rows, columns, limits)
    return figure


def _grid_rows(facts: dict[str, str], found: NDArray, axes: Axes) -> list[dict[str, Any]]:
    """Return one row of the CSV file for every setting."""
    text = "{}={{:.6g}} {}={{:.6g}}".format(*axes)
    cells = [Cell.of(values) for values in found.reshape(len(found), -1).T]
    return [
        {**facts, "parameters": text.format(*setting), "auc": cell.mean, "sd": cell.sd}
        for setting, cell in zip(product(*axes.values()), cells, strict=True)
    ]
