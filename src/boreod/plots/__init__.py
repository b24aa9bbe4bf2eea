"""Pictures. The only door to matplotlib, which is an extra and imported late."""

from boreod.plots.budget import BudgetDisplay, plot_budget_curve
from boreod.plots.calibration import CalibrationDisplay
from boreod.plots.curve import Curve
from boreod.plots.embedding import EmbeddingDisplay
from boreod.plots.precision_recall import PrecisionRecallDisplay
from boreod.plots.roc import RocDisplay
from boreod.plots.saving import new_panels, save_picture
from boreod.plots.sensitivity import SensitivityDisplay

__all__ = [
    "BudgetDisplay",
    "CalibrationDisplay",
    "Curve",
    "EmbeddingDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "SensitivityDisplay",
    "new_panels",
    "plot_budget_curve",
    "save_picture",
]
