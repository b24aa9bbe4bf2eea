"""Pictures. The only door to matplotlib, which is an extra and imported late."""

from typing import Any


def plot_budget_curve(curve: Any, marked: int, label: str, ax: Any = None) -> Any:
    """Draw quality over cost with one point marked; return the axes."""
    ax = ax or _new_axes()
    scale = 1e6 if curve.unit == "s" else 1.0
    for values, name, color in (
        (curve.auc, "AUC", "tab:blue"),
        (curve.average_precision, "average precision", "tab:orange"),
    ):
        ax.plot(curve.costs * scale, values, "o-", ms=4, color=color, label=name)
    ax.axvline(curve.costs[marked] * scale, color="0.5", ls=":", label=label)
    ax.set_xscale("log")
    ax.set_xlabel("prediction time per row [µs]" if curve.unit == "s" else "cost [units]")
    ax.set_ylabel("out-of-bag quality")
    ax.legend(loc="lower right")
    return ax


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Pictures need matplotlib, which is not installed: pip install boreod[report]"
        ) from None
    return plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
