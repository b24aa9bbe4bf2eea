"""The most suspicious rows, those unlike all training rows, and why they are."""

import numpy as np

from boreod.documents import Bars, Block, Paragraph, Section, Table
from boreod.ensemble.explanation import Explanation
from boreod.report.evidence import Evidence
from boreod.report.numbers import show_change, show_number, show_probability
from boreod.text import count_of
from boreod.validation import INLIER, OUTLIER, UNLABELLED

SHOWN = 15
REASONS = 4
NEGLIGIBLE = 0.05  # of a row's largest reason
CERTAIN = 0.9999
LABELS = {OUTLIER: "outlier", INLIER: "inlier", UNLABELLED: "unlabelled"}


def name_suspects(evidence: Evidence) -> Section:
    """Return the rows with the highest probabilities and their reasons."""
    there = np.flatnonzero(np.isfinite(evidence.probabilities))
    order = np.argsort(-evidence.probabilities[there], kind="stable")[:SHOWN]
    places = there[order]
    found = evidence.explain(places, grouped=True) if len(places) else None
    header = ["row" if evidence.ids is None else "id", "label", "probability"]
    rows: list[list[str | Bars]] = [
        [
            evidence.name_row(place),
            LABELS[int(evidence.codes[place])],
            _show(float(evidence.probabilities[place])),
        ]
        for place in places
    ]
    if found is not None:
        header.append("reasons: change of the log-odds")
        longest = float(np.abs(found.contributions).max(initial=1e-300))
        for number, place in enumerate(places):
            rows[number].append(_reasons(evidence, found, number, int(place), longest))
    caption = f"The {len(rows)} rows with the highest {evidence.kind} probabilities"
    blocks: list[Block] = [Paragraph(_tell(found is not None, evidence))]
    return Section(
        "The most suspicious rows",
        [*blocks, Table(header, rows, caption=caption, texts=frozenset({1, 3}))],
    )


def _show(probability: float) -> str:
    """Return a probability; nobody tells nearly certain ones apart, and some rows have none."""
    if np.isnan(probability):
        return "in every bag"
    return f"> {CERTAIN}" if probability > CERTAIN else show_probability(probability)


def _tell(explained: bool, evidence: Evidence) -> str:
    text = "A row labelled inlier up here is worth a second look, and so is its label."
    if not explained:
        return text + " The model's classifier gives no reasons."
    text += (
        " Reasons add up to the log-odds above those of the mean inlier: +0.7 doubles the odds of "
        "being an outlier, +2.3 makes them ten times as high. A raw column is shown with the "
        "row's value; the scores of a family, such as lof, are taken together. Reasons tell what "
        "the model saw, not what caused it."
    )
    if not evidence.doubt:
        text += " They are those of the whole model, which has seen the labels of these rows."
    return text


def _reasons(
    evidence: Evidence, found: Explanation, number: int, place: int, longest: float
) -> Bars:
    """Return the columns that moved a row most, with values of raw columns."""
    values = dict(zip(evidence.names, evidence.rows[place].tolist(), strict=True))
    top = found.top(REASONS)[number]
    largest = abs(top[0][1])
    items = []
    for name, change in top:
        if abs(change) > NEGLIGIBLE * largest:
            raw = f"{evidence.names[name]} = {show_number(values[name])}" if name in values else ""
            items.append((raw or name, show_change(change), change / longest))
    return Bars(items)


def name_novel(evidence: Evidence) -> Section:
    """Return the rows that are unlike all training rows, the farthest first."""
    title, found = "Rows unlike the training rows", evidence.novelty
    if found.distances is None:
        text = (
            "The model uses raw columns only and searches no neighbors, so it cannot tell how far "
            "a row is from all training rows. Scored tables name the columns that are outside "
            "their range (outside)."
        )
        return Section(title, [Paragraph(text)])
    novel = np.flatnonzero(found.novel)
    text = (
        "Labels teach a model only what they show. So every row is also compared with the "
        "training rows themselves, by its distance to the 10th nearest of them, in ranges of the "
        f"columns. For 99 % of the training rows it is at most {show_number(found.usual)}; a row "
        f"beyond {show_number(evidence.model.seen_.limit)} is novel: an alert whatever its "
        "probability, to be looked at before all others. "
        f"{count_of(len(novel), 'row')} of {len(found.novel):,} here "
        f"{'is' if len(novel) == 1 else 'are'} novel."
    )
    if not len(novel):
        return Section(title, [Paragraph(text)])
    places = novel[np.argsort(-found.distances[novel], kind="stable")][:SHOWN]
    times, outside = found.times_usual, found.outside()
    rows = [
        [
            evidence.name_row(place),
            LABELS[int(evidence.codes[place])],
            _show(float(evidence.probabilities[place])),
            show_number(float(times[place])),
            outside[place] or "none alone",
        ]
        for place in places
    ]
    header = ["row" if evidence.ids is None else "id", "label", "probability"]
    header += ["times the usual distance", "columns outside their range"]
    caption = f"The {count_of(len(rows), 'novel row')} that {'is' if len(rows) == 1 else 'are'} "
    table = Table(header, rows, caption=caption + "farthest away", texts=frozenset({1, 4}))
    return Section(title, [Paragraph(text), table])
