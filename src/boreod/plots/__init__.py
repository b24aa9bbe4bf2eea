"""Pictures with matplotlib, which is an extra and imported only when something is drawn."""

from boreod.plots.budget import BudgetDisplay
from boreod.plots.calibration import CalibrationDisplay
from boreod.plots.ranking import Curve, PrecisionRecallDisplay, RocDisplay
from boreod.plots.style import new_panels, save_picture
from boreod.plots.tables import EmbeddingDisplay, SensitivityDisplay

__all__ = [
    "BudgetDisplay",
    "CalibrationDisplay",
    "Curve",
    "EmbeddingDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "SensitivityDisplay",
    "new_panels",
    "save_picture",
]
