"""Neighbor lists: leaving a row out of its own, sharing them among copies, turning them around."""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, unset
from boreod.neighbors.known_rows import UNKNOWN


@compiled
def leave_out(
    distances: NDArray, indices: NDArray, own: NDArray, k: int
) -> tuple[NDArray, NDArray]:
    """Cut lists to ``k`` entries without the row itself, or without the last if it is not there."""
    m = distances.shape[0]
    kept, kept_index = unset((m, k)), unset((m, k), np.int32)
    for row in range(m):
        place = 0
        for entry in range(distances.shape[1]):
            if place < k and (own[row] == UNKNOWN or indices[row, entry] != own[row]):
                kept[row, place], kept_index[row, place] = (
                    distances[row, entry],
                    indices[row, entry],
                )
                place += 1
    return kept, kept_index


@compiled
def copy_lists(distances: NDArray, indices: NDArray, first: NDArray) -> None:
    """Give copies of a row its list, in which they stand back for the row itself."""
    for row in range(first.shape[0]):
        source = first[row]
        if source == row:
            continue
        distances[row], indices[row, 0] = distances[source], source
        place = 1
        for entry in range(indices.shape[1]):
            if place < indices.shape[1] and indices[source, entry] != row:
                indices[row, place] = indices[source, entry]
                place += 1


@compiled
def pick(
    offsets: NDArray, sources: NDArray, from_source: NDArray, rows: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the reverse neighbors of some rows."""
    cut = np.zeros(rows.shape[0] + 1, np.int64)
    for place, row in enumerate(rows):
        cut[place + 1] = cut[place] + offsets[row + 1] - offsets[row]
    picked, distances = unset(cut[-1], np.int32), unset(cut[-1])
    for place, row in enumerate(rows):
        picked[cut[place] : cut[place + 1]] = sources[offsets[row] : offsets[row + 1]]
        distances[cut[place] : cut[place + 1]] = from_source[offsets[row] : offsets[row + 1]]
    return cut, picked, distances


@compiled
def without_own(
    offsets: NDArray, indices: NDArray, distances: NDArray, own: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Take the row itself out of its reverse neighbors."""
    keep = np.ones(indices.shape[0], np.bool_)
    cut = np.zeros_like(offsets)
    for row in range(own.shape[0]):
        for entry in range(offsets[row], offsets[row + 1]):
            keep[entry] = indices[entry] != own[row]
            cut[row + 1] += keep[entry]
        cut[row + 1] += cut[row]
    return cut, indices[keep], distances[keep]


@compiled
def turn_around(
    distances: NDArray, indices: NDArray, radii: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """List, for every row, the rows that have it within their radius."""
    n, k = indices.shape
    offsets = np.zeros(n + 1, np.int64)
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                offsets[indices[source, place] + 1] += 1
    for row in range(n):
        offsets[row + 1] += offsets[row]
    free = offsets[:-1].copy()
    sources, from_source = unset(offsets[-1], np.int32), unset(offsets[-1])
    for source in range(n):
        for place in range(k):
            if distances[source, place] <= radii[source]:
                entry = free[indices[source, place]]
                sources[entry], from_source[entry] = source, distances[source, place]
                free[indices[source, place]] += 1
    return offsets, sources, from_source
