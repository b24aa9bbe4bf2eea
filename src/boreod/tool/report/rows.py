"""The most suspicious rows, the rows unlike all training rows, and a map of rows."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from boreod.text import count_of, show_number, show_percent, show_probability
from boreod.tool.documents import Bars, Paragraph, Row, Section, Table
from boreod.tool.drawing.charts import draw_embedding
from boreod.tool.reasons import Reason
from boreod.tool.report.evidence import Evidence, draw_figure
from boreod.validation import INLIER, OUTLIER, UNLABELLED

MAX_ROWS = 15
# The largest number of points of each class in a map.
MAX_MAP_POINTS = 200
# A map shows at least this many inliers as a background, even if there are fewer outliers.
MIN_MAP_INLIERS = 100
MIN_MAP_POINTS = 5
NEIGHBORS = 5
LABELS = {OUTLIER: "outlier", INLIER: "inlier", UNLABELLED: "unlabelled"}


def name_suspects(evidence: Evidence) -> Section:
    """Return the rows with the highest probabilities and their reasons."""
    there = np.flatnonzero(np.isfinite(evidence.probabilities))
    places = there[np.argsort(-evidence.probabilities[there], kind="stable")[:MAX_ROWS]]
    header, rows = _begin_table(evidence, places)
    found = evidence.reason(places, 4) if len(places) else None
    text = "If a row in this table is not labelled an outlier, it is worth a second look."
    if found is None:
        text += " There are no reasons, because the model's classifier cannot be explained."
    else:
        header.append("reasons")
        changes = [reason.contribution or 0.0 for row in found for reason in row]
        longest = float(np.abs(changes).max(initial=1e-300))
        for number, place in enumerate(places):
            rows[number].append(_reasons(evidence, found[number], int(place), longest))
        text += f" {_describe_reasons(evidence)}"
    caption = f"The {len(rows)} rows with the highest {evidence.kind} probabilities"
    table = Table(header, rows, caption=caption, texts=frozenset({1, 3}))
    return Section("The most suspicious rows", [Paragraph(text), table])


def _begin_table(evidence: Evidence, places: NDArray) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the first cells of a table of rows: name, label and probability."""
    ids = evidence.ids
    rows = []
    for place in places:
        probability = float(evidence.probabilities[place])
        if np.isnan(probability):
            shown = "none (in every bag)"
        elif probability > 0.9999:
            shown = "> 0.9999"
        else:
            shown = show_probability(probability)
        name = str(place + 1) if ids is None else str(ids[place])
        rows.append([name, LABELS[int(evidence.codes[place])], shown])
    return ["row" if ids is None else "id", "label", "probability"], rows


def _describe_reasons(evidence: Evidence) -> str:
    """Say what reasons are, and what they are not."""
    who = "training rows" if evidence.ranks_only else "training rows that are not labelled outlier"
    meaning = "looking like an outlier" if evidence.ranks_only else "being an outlier"
    text = (
        f"A reason compares a value with the values of normal rows, which are {who}. Or it says "
        "what outlier scores see in the neighborhood of a row (see \N{LEFT DOUBLE QUOTATION MARK}"
        "The columns in use\N{RIGHT DOUBLE QUOTATION MARK}). The number after a reason is what it "
        f"adds to the log-odds of the mean inlier: +0.7 doubles the odds of {meaning}, +2.3 makes "
        "them ten times as high. Reasons show what the model saw, not what caused an outlier."
    )
    if evidence.is_own and not evidence.ranks_only:
        text += " Reasons come from the whole model, which has seen the labels of these rows."
    return text


def _reasons(evidence: Evidence, reasons: list[Reason], place: int, longest: float) -> Bars:
    """Return reasons with their contributions.

    A known outlier gets no reason that compares it with known outliers.
    """
    is_known = evidence.codes[place] == OUTLIER
    items = []
    for reason in reasons:
        if reason.about == "known case" and is_known:
            continue
        change = reason.contribution
        amount = "" if change is None else f"{change:+.1f}".replace("-", "\N{MINUS SIGN}")
        items.append((reason.shown, amount, (change or 0.0) / longest))
    return Bars(items)


def name_novel(evidence: Evidence) -> Section:
    """Return the rows that are unlike all training rows, the farthest first."""
    title = "Rows unlike the training rows"
    found = evidence.novelty
    if found.distances is None:
        text = (
            "The model searches no neighbors, so it does not know how far a row is from all "
            "training rows. But the column 'outside' of scored tables names values out of range."
        )
        return Section(title, [Paragraph(text)])
    novel = np.flatnonzero(found.novel)
    text = (
        "Labels show a model only kinds of outliers that are known. So every row is also compared "
        "with the training rows themselves, by its distance to the 10th nearest training row. For "
        "99 % of the training rows that are not labelled outliers, this distance is at most "
        f"{show_number(found.usual)} (the usual distance). A row with a distance above "
        f"{show_number(evidence.model.fitted_.seen.limit)} is novel. It is an alert whatever its "
        f"probability, and should be looked at first. Here, {count_of(len(novel), 'row')} of "
        f"{len(found.novel):,} {'is' if len(novel) == 1 else 'are'} novel."
    )
    if not len(novel):
        return Section(title, [Paragraph(text)])
    places = novel[np.argsort(-found.distances[novel], kind="stable")][:MAX_ROWS]
    header, rows = _begin_table(evidence, places)
    header += ["times the usual distance", "columns outside their range"]
    outside = found.outside()
    for row, place in zip(rows, places, strict=True):
        row += [show_number(float(found.times_usual[place])), outside[place] or "none"]
    caption = f"The {count_of(len(rows), 'novel row')} that {'is' if len(rows) == 1 else 'are'} "
    table = Table(header, rows, caption=caption + "farthest away", texts=frozenset({1, 4}))
    return Section(title, [Paragraph(text), table])


def draw_maps(evidence: Evidence, folder: Path, seed: int) -> Section:
    """Return two maps of the same rows: one of the raw columns, one of the representation."""
    title = "A map of the rows"
    places = evidence.draw(MAX_MAP_POINTS, MIN_MAP_INLIERS, seed)
    outliers = evidence.counted[places] == OUTLIER
    if len(places) < MIN_MAP_POINTS or not outliers.any():
        text = f"A map needs at least {MIN_MAP_POINTS} labelled rows, one of them an outlier."
        return Section(title, [Paragraph(text)])
    rows = evidence.rows[places]
    model = evidence.model
    figures = []
    remarks = []
    tables = {"raw columns": model.fitted_.scale_input(rows)}
    if model.columns_ == evidence.names:
        remarks.append("The model sees the raw columns and nothing else, so one map is enough.")
    else:
        tables["representation"] = model.fitted_.represent(rows, evidence.engine)
    for name, table in tables.items():
        if table.shape[1] < 2 or not np.ptp(table, axis=0).any():
            remarks.append(f"There is no map of the {name}: it needs two columns and unequal rows.")
            continue
        draw = partial(draw_embedding, table=table, outliers=outliers, title=name, seed=seed)
        columns = evidence.names if name == "raw columns" else model.columns_
        caption = f"t-SNE of the {name} ({count_of(len(columns), 'column')})."
        # In a small table, threads would mostly wait for each other.
        with threadpool_limits(1):
            path = folder / f"map_{name.split()[0]}"
            figures.append(draw_figure(path, (4.3, 4.0), caption, draw))
        near = show_percent(_outliers_near_outliers(table, outliers))
        remarks.append(f"In the {name}, {near} of the {NEIGHBORS} nearest rows of an outlier are "
                       "outliers too.")  # fmt: skip
    text = (
        f"{count_of(int(outliers.sum()), 'outlier')} and "
        f"{count_of(int((~outliers).sum()), 'inlier')} were drawn at random. Rows that are alike "
        "are close. The representation is what the model sees. Distances between groups and the "
        f"size of groups mean nothing, so the nearest rows are counted. {' '.join(remarks)} "
        f"By chance, {show_percent(float(outliers.mean()))} would be outliers."
    )
    return Section(title, [Paragraph(text), Row(figures)])


def _outliers_near_outliers(table: NDArray, outliers: NDArray) -> float:
    """Return the share of outliers among the nearest neighbors of outliers."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    number = min(NEIGHBORS, len(table) - 1)
    search = NearestNeighbors(n_neighbors=number).fit(StandardScaler().fit_transform(table))
    # If `kneighbors` gets no rows, it leaves each row out of its own neighbors.
    return float(outliers[search.kneighbors(return_distance=False)[outliers]].mean())
