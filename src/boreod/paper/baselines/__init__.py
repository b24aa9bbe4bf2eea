"""Methods to compare with, as estimators with BORE's interface."""

from boreod.paper.baselines.scores import BestScore, GreedyEnsemble, MeanScore
from boreod.paper.baselines.ssad import SSAD

__all__ = ["SSAD", "BestScore", "GreedyEnsemble", "MeanScore"]
