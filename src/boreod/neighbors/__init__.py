"""Neighbor search, and the neighbor graph from which every score is computed."""

from boreod.neighbors.block import Block, Ks, Reverse, whole_vectors
from boreod.neighbors.graph import (
    BACKENDS,
    SEARCH_ROWS,
    NeighborGraph,
    TrainingGraph,
    blocks,
    check_neighbors,
    make_backend,
)
from boreod.neighbors.known_rows import KnownRows, distinct_rows
from boreod.neighbors.metrics import METRICS
from boreod.neighbors.part import depth_for, part_of

__all__ = ["BACKENDS", "METRICS", "SEARCH_ROWS", "Block", "KnownRows", "Ks", "NeighborGraph"]
__all__ += ["TrainingGraph", "blocks", "check_neighbors", "depth_for", "distinct_rows"]
__all__ += ["Reverse", "make_backend", "part_of", "whole_vectors"]
