"""Detectors: a facade over what was learned, and its presets."""

from boreod.detector.facade import OutlierDetector
from boreod.detector.presets import BORE, NumericDetector

__all__ = ["BORE", "NumericDetector", "OutlierDetector"]
