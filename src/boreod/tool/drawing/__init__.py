"""Pictures with matplotlib, which is an extra and imported only when something is drawn."""

from boreod.tool.drawing.budget import BudgetDisplay
from boreod.tool.drawing.calibration import CalibrationDisplay
from boreod.tool.drawing.ranking import Curve, PrecisionRecallDisplay, RocDisplay
from boreod.tool.drawing.style import new_panels, save_picture
from boreod.tool.drawing.tables import EmbeddingDisplay, SensitivityDisplay

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
