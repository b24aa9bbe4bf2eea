"""Figure 1, bags as t-SNE sees them, and Figure 2, ROC curves of seven methods."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.bags import Bagging, draw_bags
from boreod.paper.evaluation import METHODS, PAPER, RATES, Summary
from boreod.paper.reproduce.setup import Settings, compare, load_repetition, write_csv
from boreod.representation.scaling import MinMax
from boreod.representation.transformer import OutlierRepresentation
from boreod.tool.documents import Figure, Paragraph, Section, Table
from boreod.tool.drawing import Curve, EmbeddingDisplay, RocDisplay, new_panels, save_picture
from boreod.validation import INLIER, OUTLIER

MAPPED = ("letter", "ionosphere", "pageblocks")
COMPARED = ("cardio", "ionosphere", "letter", "pageblocks", "waveform", "wilt")
SHARE = 0.7
NEIGHBORS = 5


def reproduce_tsne(settings: Settings) -> Section:
    """Draw one bag of each set in both spaces, and count how well neighbors tell the classes."""
    names = settings.only(MAPPED)
    figure, panels = new_panels(2 * len(names), columns=len(names), size=(3.2, 3.2))
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        raw, represented, outliers = _draw_bag(settings, name)
        row = {"dataset": name, "bag_rows": len(outliers)}
        for key, title, table, ax in (
            ("raw_percent", "raw columns", raw, panels[place]),
            ("representation_percent", "representation", represented, panels[len(names) + place]),
        ):
            EmbeddingDisplay.from_table(
                table, outliers, f"{name}: {title}", random_state=settings.seed, ax=ax
            )
            row[key] = _neighbor_agreement(table, outliers)
        rows.append(row)
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
    figures = Figure(picture, caption)
    return Section("Figure 1: bags in two spaces", [Paragraph(text), counted, figures])


def _draw_bag(settings: Settings, name: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return a bag's raw columns, its representation, and which rows are outliers."""
    rows, codes = load_repetition(name, 0, settings.data)
    points = MinMax.fit(rows).transform(rows)
    columns = OutlierRepresentation(n_jobs=settings.n_jobs, random_state=settings.seed)
    table = columns.fit_transform(points)
    outliers, inliers = np.flatnonzero(codes == OUTLIER), np.flatnonzero(codes == INLIER)
    bag = np.sort(draw_bags(outliers, inliers, len(rows), Bagging(1, SHARE), settings.seed).rows[0])
    return points[bag], table[bag], codes[bag] == OUTLIER


def _neighbor_agreement(table: NDArray, outliers: NDArray) -> float:
    """Return the percentage of rows whose neighbors mostly have their label."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    standard = StandardScaler().fit_transform(table)
    model = KNeighborsClassifier(NEIGHBORS).fit(standard, outliers)
    places = model.kneighbors(return_distance=False)  # without the row itself
    votes = outliers[places].mean(axis=1) > 0.5
    return round(100 * float(np.mean(votes == outliers)), 1)


def reproduce_roc(settings: Settings) -> Section:
    """Draw the mean curves of the runs of Table 2."""
    names = settings.only(COMPARED)
    summary = Summary(compare(settings, PAPER, names=names))
    rows: list[dict[str, Any]] = []
    figure, panels = new_panels(len(names), columns=3, size=(4.6, 3.6))
    for name, ax in zip(names, panels, strict=True):
        curves = {}
        for method in reversed(summary.methods):  # BORE first: its color is the first
            runs = summary.runs(name, method)
            if not runs:
                continue
            rates = np.mean([run["roc"] for run in runs], axis=0)
            area = float(np.mean([run["auc"] for run in runs]))
            curves[METHODS[method].title] = Curve(RATES, rates, area)
            rows += [
                {"dataset": name, "method": method, "fpr": round(float(x), 6), "tpr": round(y, 6)}
                for x, y in zip(RATES, rates.tolist(), strict=True)
            ]
        best = METHODS["bore"].title
        RocDisplay(curves, highlight=best if best in curves else None).plot(ax)
        ax.set_title(name)
    write_csv(settings.folder / "roc.csv", rows)
    picture = save_picture(figure, settings.folder / "roc")
    text = (
        "Share of outliers found over the share of false alarms: at every false-positive rate the "
        f"mean over {settings.count} samples or splits. Numbers are mean AUCs."
    )
    caption = "ROC curves of BORE and six other methods on " + ", ".join(names) + "."
    return Section("Figure 2: ROC curves", [Paragraph(text), Figure(picture, caption)])
