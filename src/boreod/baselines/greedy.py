"""The greedy ensemble: few diverse scores whose mean agrees with what most scores call outlying.

No labels are used beyond their number. The union of the top-ranked rows of all scores, at least as
many as there are outliers, is the target. Starting with the score closest to it, the score least
like the current ensemble is tried next and kept if the mean comes closer to the target; every score
is tried once. Closeness is one minus the Pearson correlation, with half of the weight on the target
rows.

After Schubert, Wojdanowski, Zimek, Kriegel: On evaluation of outlier rankings and outlier scores.
SDM 2012.
"""

import numpy as np
from numpy.typing import NDArray


def choose_members(scores: NDArray, n_outliers: int) -> list[int]:
    """Return the places of the chosen scores, the first one first.

    Parameters
    ----------
    scores
        One row per score, one column per object; high means outlying, on comparable scales.
    n_outliers
        Smallest size of the target.

    Examples
    --------
    >>> scores = np.array([[9.0, 2.0, 1.0, 0.0], [9.0, 0.0, 1.0, 2.0]])
    >>> choose_members(scores, n_outliers=1)
    [0, 1]
    """
    target = union_of_top(scores, n_outliers)
    weights = balance(target)
    distances = [distance(row, target, weights) for row in scores]
    members = [int(np.argmin(distances))]
    ensemble, best = scores[members[0]], distances[members[0]]
    left = [place for place in range(len(scores)) if place != members[0]]
    while left:
        unlike = [distance(scores[place], ensemble, weights) for place in left]
        place = left.pop(int(np.argmax(unlike)))
        candidate = scores[[*members, place]].mean(axis=0)
        closer = distance(candidate, target, weights)
        if closer < best:
            members.append(place)
            ensemble, best = candidate, closer
    return members


def union_of_top(scores: NDArray, wanted: int) -> NDArray:
    """Return 1.0 for the top rows of all scores, rank by rank until there are enough of them."""
    order = np.argsort(-scores, axis=1, kind="stable")
    target = np.zeros(scores.shape[1])
    for rank in range(scores.shape[1]):
        target[order[:, rank]] = 1.0
        if target.sum() >= wanted:
            break
    return target


def balance(target: NDArray) -> NDArray:
    """Return weights that give half to the target rows and half to the others."""
    inside = target.sum()
    outside = len(target) - inside
    if outside == 0:
        return np.full(len(target), 1.0 / len(target))
    return np.where(target == 1.0, 0.5 / inside, 0.5 / outside)


def distance(one: NDArray, other: NDArray, weights: NDArray) -> float:
    """Return one minus the weighted correlation; a constant is like another constant only."""
    first, second = one - weights @ one, other - weights @ other
    spread, other_spread = weights @ first**2, weights @ second**2
    if spread == 0.0 or other_spread == 0.0:
        return 0.0 if spread == other_spread else 1.0
    return float(1.0 - (weights * first) @ second / np.sqrt(spread * other_spread))
