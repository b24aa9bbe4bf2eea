"""The registries: neighbor-based scores, and detectors of boreod that search no neighbors.

A new one is one class and one line here.
"""

from boreod.scores.abod import FastABOD
from boreod.scores.base import Described, Score
from boreod.scores.cof import COF
from boreod.scores.iforest import IsolationTrees
from boreod.scores.inflo import INFLO
from boreod.scores.kdeos import KDEOS
from boreod.scores.knn import KNN, ODIN, KNNWeight
from boreod.scores.ldf import LDF
from boreod.scores.ldof import LDOF
from boreod.scores.lof import LOF, SimplifiedLOF
from boreod.scores.loop import LoOP
from boreod.scores.together import Together

SCORES: dict[str, type[Score]] = {
    score.name: score
    for score in (
        KNN,
        KNNWeight,
        ODIN,
        LOF,
        SimplifiedLOF,
        COF,
        INFLO,
        LoOP,
        LDOF,
        LDF,
        KDEOS,
        FastABOD,
    )
}

DETECTORS: dict[str, type[IsolationTrees]] = {IsolationTrees.name: IsolationTrees}

__all__ = [
    "COF",
    "DETECTORS",
    "INFLO",
    "KDEOS",
    "KNN",
    "LDF",
    "LDOF",
    "LOF",
    "ODIN",
    "SCORES",
    "Described",
    "FastABOD",
    "IsolationTrees",
    "KNNWeight",
    "LoOP",
    "Score",
    "SimplifiedLOF",
    "Together",
]
