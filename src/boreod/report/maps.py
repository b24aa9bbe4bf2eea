"""A map of rows: raw columns against the representation."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from boreod.documents import Figure, Paragraph, Row, Section
from boreod.plots import EmbeddingDisplay, new_panels, save_picture
from boreod.report.evidence import Evidence
from boreod.report.numbers import show_percent
from boreod.text import count_of
from boreod.validation import OUTLIER

MOST = 200  # of each class
FEWEST_INLIERS = 100  # where outliers are fewer: a map needs a background
FEWEST_ROWS = 5
NEIGHBORS = 5


def draw_maps(evidence: Evidence, folder: Path, seed: int) -> Section:
    """Return maps of the same rows in both spaces."""
    title = "A map of the rows"
    places = evidence.draw(MOST, FEWEST_INLIERS, seed)
    outliers = evidence.codes[places] == OUTLIER
    if len(places) < FEWEST_ROWS or not outliers.any():
        text = f"A map needs an outlier and {FEWEST_ROWS} labelled rows."
        return Section(title, [Paragraph(text)])
    rows = evidence.rows[places]
    tables = {
        "raw columns": evidence.model._scale_input(rows),
        "representation": evidence.model.represent(rows),
    }
    figures, told = [], []
    if evidence.model.columns_ == list(evidence.names):
        del tables["representation"]
        told.append("The model sees the raw columns and nothing else, so one map is enough.")
    for name, table in tables.items():
        if table.shape[1] < 2 or not np.ptp(table, axis=0).any():
            told.append(f"There is no map of the {name}, which is one column only.")
            continue
        figure, panels = new_panels(1, 1, (4.3, 4.0))
        with threadpool_limits(1):  # threads would wait for each other in a table this small
            EmbeddingDisplay.from_table(table, outliers, name, random_state=seed, ax=panels[0])
        path = save_picture(figure, folder / f"map_{name.split()[0]}")
        figures.append(Figure(path, f"t-SNE of the {name} ({table.shape[1]} columns)."))
        near = show_percent(_neighbors_of_outliers(table, outliers))
        told.append(f"In the {name}, {near} of the {NEIGHBORS} nearest rows of an outlier are "
                    "outliers too.")  # fmt: skip
    text = (
        f"{count_of(int(outliers.sum()), 'outlier')} and "
        f"{count_of(int((~outliers).sum()), 'inlier')}, drawn at random; rows that are alike are "
        "close. The representation is what the model sees. Distances between groups and the size "
        f"of groups mean nothing in such a map, so here is a count. {' '.join(told)} "
        f"By chance it would be {show_percent(float(outliers.mean()))}."
    )
    return Section(title, [Paragraph(text), Row(figures)])


def _neighbors_of_outliers(table: NDArray, outliers: NDArray) -> float:
    """Return the share of outliers among the nearest other rows of outliers."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    number = min(NEIGHBORS, len(table) - 1)
    search = NearestNeighbors(n_neighbors=number).fit(StandardScaler().fit_transform(table))
    nearest = search.kneighbors(return_distance=False)  # without the row itself
    return float(outliers[nearest[outliers]].mean())
