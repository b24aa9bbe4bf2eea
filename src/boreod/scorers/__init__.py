"""The registry of scores: a new one is one file and one line here."""

from boreod.scorers.abod import FastABOD
from boreod.scorers.base import Described, Scorer
from boreod.scorers.cof import COF
from boreod.scorers.inflo import INFLO
from boreod.scorers.kdeos import KDEOS
from boreod.scorers.knn import KNN
from boreod.scorers.knnw import KNNWeight
from boreod.scorers.ldf import LDF
from boreod.scorers.ldof import LDOF
from boreod.scorers.lof import LOF
from boreod.scorers.loop import LoOP
from boreod.scorers.odin import ODIN
from boreod.scorers.slof import SimplifiedLOF

SCORERS: dict[str, type[Scorer]] = {
    scorer.name: scorer
    for scorer in (
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

__all__ = [
    "COF",
    "INFLO",
    "KDEOS",
    "KNN",
    "LDF",
    "LDOF",
    "LOF",
    "ODIN",
    "SCORERS",
    "Described",
    "FastABOD",
    "KNNWeight",
    "LoOP",
    "Scorer",
    "SimplifiedLOF",
]
