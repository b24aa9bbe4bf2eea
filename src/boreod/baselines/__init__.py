"""Methods to compare with, as estimators with BORE's interface."""

from boreod.baselines.scores import BestScore, GreedyEnsemble, MeanScore

__all__ = ["BestScore", "GreedyEnsemble", "MeanScore"]
