"""Figure 2: ROC curves of seven methods on six sets, means over repetitions."""

from typing import Any

import numpy as np

from boreod.documents import Figure, Paragraph, Section
from boreod.evaluation import METHODS, PAPER, RATES, Summary
from boreod.plots import RocDisplay, new_panels, save_picture
from boreod.reproduce.setup import Settings, compare, write_csv

SHOWN = ("cardio", "ionosphere", "letter", "pageblocks", "waveform", "wilt")


def reproduce_roc(settings: Settings) -> Section:
    """Draw the mean curves of the runs of Table 2."""
    names = settings.only(SHOWN)
    runs = [run for run in compare(settings, PAPER, names=names) if "error" not in run]
    summary = Summary(runs)
    rows: list[dict[str, Any]] = []
    figure, panels = new_panels(len(names), columns=3, size=(4.6, 3.6))
    for name, ax in zip(names, panels, strict=True):
        curves = {
            method: _mean_curve(summary, name, method)
            for method in reversed(summary.methods)  # BORE first: its color is the first
            if summary.runs(name, method)
        }
        areas = {method: summary.cell(name, method, "auc") for method in curves}
        RocDisplay.from_rates(
            RATES,
            {METHODS[method].title: curve for method, curve in curves.items()},
            {METHODS[method].title: cell.mean for method, cell in areas.items() if cell},
            highlight=METHODS["bore"].title if "bore" in curves else None,
            ax=ax,
        )
        ax.set_title(name)
        rows += [
            {"dataset": name, "method": method, "fpr": round(float(x), 6), "tpr": round(y, 6)}
            for method, curve in curves.items()
            for x, y in zip(RATES, curve.tolist(), strict=True)
        ]
    write_csv(settings.folder / "roc.csv", rows)
    picture = save_picture(figure, settings.folder / "roc")
    text = (
        "Share of outliers found over the share of false alarms: at every false-positive rate the "
        f"mean over {settings.count} samples or splits. Numbers are mean AUCs."
    )
    caption = "ROC curves of BORE and six other methods on " + ", ".join(names) + "."
    return Section("Figure 2: ROC curves", [Paragraph(text), Figure(picture, caption)])


def _mean_curve(summary: Summary, name: str, method: str) -> np.ndarray:
    return np.mean([run["roc"] for run in summary.runs(name, method)], axis=0)
