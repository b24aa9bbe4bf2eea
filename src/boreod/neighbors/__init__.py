"""Neighbor search and the neighbor graph: the ground on which every score stands."""

from boreod.neighbors.backends import BACKENDS, make_backend, read_neighbors
from boreod.neighbors.block import Block, Ks, Reverse, whole_vectors
from boreod.neighbors.foreign import ForeignNeighbors, Recall, RecallError
from boreod.neighbors.graph import SEARCH_ROWS, NeighborGraph, TrainingGraph, blocks
from boreod.neighbors.known_rows import KnownRows, distinct_rows
from boreod.neighbors.metrics import METRICS
from boreod.neighbors.part import depth_for, part_of

__all__ = [
    "BACKENDS",
    "METRICS",
    "SEARCH_ROWS",
    "Block",
    "ForeignNeighbors",
    "KnownRows",
    "Ks",
    "NeighborGraph",
    "Recall",
    "RecallError",
    "Reverse",
    "TrainingGraph",
    "blocks",
    "depth_for",
    "distinct_rows",
    "make_backend",
    "part_of",
    "read_neighbors",
    "whole_vectors",
]
