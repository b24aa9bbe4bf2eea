"""Methods to compare with, as estimators with BORE's interface."""

from boreod.baselines.scores import BestScore, GreedyEnsemble, MeanScore
from boreod.baselines.ssad import SSAD

__all__ = ["SSAD", "BestScore", "GreedyEnsemble", "MeanScore"]
