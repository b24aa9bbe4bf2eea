"""Figure 1: three bags as t-SNE sees them, raw columns above, representation below."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.documents import Figure, Paragraph, Section, Table
from boreod.ensemble.bags import draw_bags
from boreod.plots import EmbeddingDisplay, new_panels, save_picture
from boreod.representation.scaling import MinMax
from boreod.representation.transformer import OutlierRepresentation
from boreod.reproduce.setup import Settings, load_repetition, write_csv
from boreod.validation import INLIER, OUTLIER

SHOWN = ("letter", "ionosphere", "pageblocks")
SHARE = 0.7
NEIGHBORS = 5


def reproduce_tsne(settings: Settings) -> Section:
    """Draw one bag of each set in both spaces, and count how well neighbors tell the classes."""
    names = settings.only(SHOWN)
    figure, panels = new_panels(2 * len(names), columns=len(names), size=(3.2, 3.2))
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        raw, represented, outliers = _draw_bag(settings, name)
        agreement = []
        for table, below in ((raw, 0), (represented, 1)):
            EmbeddingDisplay.from_table(
                table,
                outliers,
                random_state=settings.seed,
                title=f"{name}: {'representation' if below else 'raw columns'}",
                ax=panels[below * len(names) + place],
            )
            agreement.append(_neighbor_agreement(table, outliers))
        rows.append({"dataset": name, "bag_rows": len(outliers), "raw_percent": agreement[0],
                     "representation_percent": agreement[1]})  # fmt: skip
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
    bag = np.sort(draw_bags(outliers, inliers, len(rows), 1, SHARE, settings.seed).rows[0])
    return points[bag], table[bag], codes[bag] == OUTLIER


def _neighbor_agreement(table: NDArray, outliers: NDArray) -> float:
    """Return the percentage of rows whose neighbors mostly have their label."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    standard = StandardScaler().fit_transform(table)
    model = KNeighborsClassifier(NEIGHBORS).fit(standard, outliers)
    places = model.kneighbors(return_distance=False)  # without the row itself
    said = outliers[places].mean(axis=1) > 0.5
    return round(100 * float(np.mean(said == outliers)), 1)
