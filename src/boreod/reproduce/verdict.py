"""How close the reproduction comes to the paper, in sentences made from the figures."""

import numpy as np

from boreod.documents import Paragraph, Table
from boreod.evaluation import MEASURES, METHODS, PAPER, Summary

# At least 20 outliers are in the test part, and the rows are the paper's: not so for higgs.
JUDGED = ("cardio", "ionosphere", "letter", "pageblocks", "spambase", "waveform", "wilt")
PRINTED = ("auc", "early_auc", "precision")
NEAR = {"bore": 0.015, "ssad": 0.04}  # in AUC, below the paper's: about the spread over splits
Figures = dict[tuple[str, str, str], float]


def judge_reproduction(summary: Summary, paper: Figures) -> list[Paragraph | Table]:
    """Return the difference to the paper's AUC on the sets with enough test outliers."""
    names = [name for name in JUDGED if name in summary.datasets]
    blocks: list[Paragraph | Table] = []
    if names:
        rows = [_differences(summary, paper, method, names) for method in NEAR]
        caption = "AUC, ours minus the paper's, on the sets with enough outliers to tell"
        blocks.append(Table(["method", *names], rows, caption=caption))
        blocks += [_count_near(summary, paper, method, names) for method in NEAR]
    rest = [name for name in summary.datasets if name not in names]
    blocks.append(_by_measure(summary, paper, {"these": names, "the others": rest}))
    order = summary.ranking("auc")
    if len(order) == len(PAPER):
        place = order.index("bore") + 1
        best = ", ".join(METHODS[name].title for name in order)
        text = f"By mean AUC over {len(summary.datasets)} sets BORE is number {place}: {best}."
        blocks.append(Paragraph(text))
    return blocks


def _differences(summary: Summary, paper: Figures, method: str, names: list[str]) -> list[str]:
    row = [METHODS[method].title]
    for name in names:
        cell = summary.cell(name, method, "auc")
        row.append(
            "-" if cell is None else f"{100 * (cell.mean - paper[name, method, 'auc']):+.1f}"
        )
    return row


def _by_measure(summary: Summary, paper: Figures, groups: dict[str, list[str]]) -> Table:
    """Return BORE's mean of each measure over groups of sets, ours and the paper's."""
    rows = []
    for group, names in groups.items():
        known = [name for name in names if (name, "bore", "auc") in paper]
        if not known:
            continue
        row = [f"{group}: {', '.join(known)}"]
        for measure in PRINTED:
            cells = [summary.cell(name, "bore", measure) for name in known]
            own = [cell.mean for cell in cells if cell]
            theirs = [paper[name, "bore", measure] for name in known]
            row += [f"{100 * np.mean(own):.1f}" if own else "-", f"{100 * np.mean(theirs):.1f}"]
        rows.append(row)
    header = ["BORE on"] + [text for m in PRINTED for text in (MEASURES[m], "paper")]
    caption = (
        "Means over sets. On the others a test part has 3 to 10 outliers (higgs 100, but of our "
        "own draw), and single splits lie 10 and more points apart"
    )
    return Table(header, rows, caption=caption)


def _count_near(summary: Summary, paper: Figures, method: str, names: list[str]) -> Paragraph:
    """Say on how many sets a method comes close, and name those where it does not."""
    cells = {name: summary.cell(name, method, "auc") for name in names}
    near = [
        name
        for name, cell in cells.items()
        if cell is not None and cell.mean >= paper[name, method, "auc"] - NEAR[method]
    ]
    far = [name for name in names if name not in near]
    text = (
        f"{METHODS[method].title} comes within {100 * NEAR[method]:.1f} points of the paper's AUC, "
        f"or above it, on {len(near)} of {len(names)} of these sets"
    )
    reasons = [_spread(summary, paper, method, name) for name in far]
    return Paragraph(text + (f"; not on {', '.join(far)}. {' '.join(reasons)}" if far else "."))


def _spread(summary: Summary, paper: Figures, method: str, name: str) -> str:
    """Say how far single repetitions lie apart, and whether the paper's figure is among them."""
    areas = [run["auc"] for run in summary.runs(name, method)]
    if not areas:
        return f"On {name} no run succeeded."
    printed = paper[name, method, "auc"]
    where = "inside" if min(areas) <= printed <= max(areas) else "outside"
    return (
        f"On {name} single repetitions range from {100 * min(areas):.1f} to "
        f"{100 * max(areas):.1f}; the paper's {100 * printed:.1f} lies {where}."
    )
