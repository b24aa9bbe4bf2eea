"""Neighbor search and the neighbor graph: the ground on which every score stands."""

from boreod.neighbors.backends import BACKENDS, check_backend, is_exact, make_backend
from boreod.neighbors.block import Block, Ks, Reverse
from boreod.neighbors.foreign_search import ForeignNeighbors
from boreod.neighbors.graph import SEARCH_ROWS, NeighborGraph, blocks
from boreod.neighbors.inverted_lists import InvertedLists
from boreod.neighbors.known_rows import KnownRows, distinct_rows
from boreod.neighbors.metrics import METRICS
from boreod.neighbors.recall import Recall, RecallError, check_recall, measure_recall

__all__ = [
    "BACKENDS",
    "METRICS",
    "SEARCH_ROWS",
    "Block",
    "ForeignNeighbors",
    "InvertedLists",
    "KnownRows",
    "Ks",
    "NeighborGraph",
    "Recall",
    "RecallError",
    "Reverse",
    "blocks",
    "check_backend",
    "check_recall",
    "distinct_rows",
    "is_exact",
    "make_backend",
    "measure_recall",
]
