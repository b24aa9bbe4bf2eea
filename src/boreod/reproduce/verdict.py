"""How close the reproduction comes to the paper, in sentences made from the figures."""

from boreod.evaluation import METHODS, PAPER, Summary
from boreod.report import Paragraph, Table

JUDGED = ("cardio", "ionosphere", "letter", "pageblocks", "spambase", "waveform", "wilt")
NEAR = {"bore": 0.015, "ssad": 0.04}  # in AUC, below the paper's
ABOVE = {"pima": 0.70}


def judge_reproduction(
    summary: Summary, paper: dict[tuple[str, str, str], float]
) -> list[Paragraph | Table]:
    """Return the difference to the paper's AUC on the sets with enough test outliers."""
    names = [name for name in JUDGED if name in summary.datasets]
    blocks: list[Paragraph | Table] = []
    if names:
        rows = [_differences(summary, paper, method, names) for method in NEAR]
        caption = "AUC, ours minus the paper's, on the sets with enough outliers to tell"
        blocks.append(Table(["method", *names], rows, caption=caption))
        blocks += [_count_near(summary, paper, method, names) for method in NEAR]
    for name, least in ABOVE.items():
        if name in summary.datasets and (cell := summary.cell(name, "bore", "auc")):
            verdict = "above" if cell.mean > least else "NOT above"
            text = f"BORE on {name}: AUC {cell}, {verdict} {100 * least:.0f}."
            blocks.append(Paragraph(text))
    order = summary.ranking("auc")
    if len(order) == len(PAPER):
        place = order.index("bore") + 1
        best = ", ".join(METHODS[name].title for name in order)
        text = f"By mean AUC over {len(summary.datasets)} sets BORE is number {place}: {best}."
        blocks.append(Paragraph(text))
    return blocks


def _differences(
    summary: Summary, paper: dict[tuple[str, str, str], float], method: str, names: list[str]
) -> list[str]:
    row = [METHODS[method].title]
    for name in names:
        cell = summary.cell(name, method, "auc")
        row.append(
            "-" if cell is None else f"{100 * (cell.mean - paper[name, method, 'auc']):+.1f}"
        )
    return row


def _count_near(
    summary: Summary, paper: dict[tuple[str, str, str], float], method: str, names: list[str]
) -> Paragraph:
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


def _spread(
    summary: Summary, paper: dict[tuple[str, str, str], float], method: str, name: str
) -> str:
    """Say how far single repetitions lie apart, and whether the paper's figure is among them."""
    areas = [run["auc"] for run in summary.runs(name, method)]
    if not areas:
        return f"On {name} no run succeeded."
    printed = paper[name, method, "auc"]
    where = "inside" if min(areas) <= printed <= max(areas) else "outside"
    return (
        f"On {name} single repetitions range from {100 * min(areas):.1f} to "
        f"{100 * max(areas):.1f}; the paper's {100 * printed:.1f}, of one split, lies {where}."
    )
