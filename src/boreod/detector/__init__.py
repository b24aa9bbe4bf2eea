"""Detectors: predictors, estimators over them that learn, and their presets."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boreod.detector.facade import OutlierDetector
    from boreod.detector.presets import BORE, NumericDetector

__all__ = ["BORE", "NumericDetector", "OutlierDetector"]


def __getattr__(name: str) -> Any:
    """Import estimators when they are first used: predictions need no scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'boreod.detector' has no attribute {name!r}")
    from boreod.detector import presets

    return getattr(presets, name)
