"""Registries of scores, which need neighbors, and of boreod's detectors, which need no neighbors.

To add a score or a detector, write its class and list the class here.
"""

from boreod.scores.base import Score
from boreod.scores.densities import KDEOS, LDF, LoOP
from boreod.scores.detectors import IsolationTrees
from boreod.scores.geometry import COF, LDOF, FastABOD
from boreod.scores.knn import INFLO, KNN, ODIN, KNNWeight
from boreod.scores.lof import LOF, SimplifiedLOF

__all__ = ["DETECTORS", "SCORES", "Score"]
__all__ += ["COF", "INFLO", "KDEOS", "KNN", "LDF", "LDOF", "LOF", "ODIN", "FastABOD"]
__all__ += ["IsolationTrees", "KNNWeight", "LoOP", "SimplifiedLOF"]

_ALL = [KNN, KNNWeight, ODIN, LOF, SimplifiedLOF, COF, INFLO, LoOP, LDOF, LDF, KDEOS, FastABOD]
SCORES: dict[str, type[Score]] = {score.name: score for score in _ALL}
DETECTORS: dict[str, type[IsolationTrees]] = {IsolationTrees.name: IsolationTrees}
