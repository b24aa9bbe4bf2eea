"""Boosted trees of one bag: small trees, each fitted to the errors of the trees before it.

This is gradient boosting (Friedman, Greedy function approximation, 2001). Bags are small and have
few outliers, so regularization matters most. Three parts follow CatBoost (Prokhorenkova and others,
2018; Dorogush and others, 2018):

- The score of a cut is the root of the sum of G^2 / (n + l2) over both sides, where G is the sum of
  the gradients y - p of the n rows of a side. Random noise is added to the score. Its standard
  deviation is the root mean square of the gradients, because the score of a cut is about as large
  if labels are random.
- The value of a leaf comes from several Newton steps G / (H + l2), where H is the sum of p (1 - p).
  Steps are limited, so that no step raises the loss. The value is a tenth of the sum of the steps.
- Classes have no weights. Boosting starts at the log-odds of the bag, and the leaves add up to the
  difference from this start. So the sum of the leaves is the log-odds for classes of equal weight.

As in random forests, every level of a tree considers a few random columns, drawn from the columns
that are not constant in the bag. Cuts lie between different values, at quantiles of the bag. Bags
of hundreds of rows need no more than MAX_BINS - 1 cuts per column.
"""

import numpy as np
from numpy.typing import NDArray

from boreod.compiled import compiled, inner, unset
from boreod.scores.trees import Trees, round_down

DEPTH = 4
N_LEAVES = 2**DEPTH
N_NODES = 2 * N_LEAVES - 1
LEARNING_RATE = 0.1
# Share of the rows that choose the cuts of a tree. All rows determine the values of its leaves.
ROW_SHARE = 0.8
L2 = 3.0
NOISE = 1.0
NEWTON_STEPS = 10
# The longest Newton step, in log-odds. If a leaf moves by s, the second derivative of the loss
# changes at most by a factor of exp(s) (Bach, Self-concordant analysis, 2010). So a Newton step
# that is shorter than 1.79, the solution of exp(s) - s - 1 = s^2, does not raise the loss.
LONGEST_STEP = 1.5
MAX_BINS = 64
# Mean and standard deviation of the sum of four random numbers of 16 bits.
MEAN_OF_FOUR = 2.0 * (2.0**16 - 1.0)
SPREAD_OF_FOUR = 2.0**16 / np.sqrt(3.0)


def grow_boosted(
    part: NDArray, targets: NDArray, n_trees: int, seed: int, n_tried: int | None = None
) -> Trees:
    """Fit trees to the rows of a bag; a fit of fewer trees gives the first of these trees.

    ``part`` is float32. ``targets`` are 1.0 for outliers and 0.0 for inliers; both must occur.
    Every level of a tree considers ``n_tried`` columns, by default the square root of the number of
    columns that are not constant.

    Examples
    --------
    >>> part = np.array([[0.0], [1.0], [2.0], [8.0]], dtype=np.float32)
    >>> trees = grow_boosted(part, np.array([0.0, 0.0, 0.0, 1.0]), n_trees=20, seed=0)
    >>> odds = trees.add_up(part.astype(float))[:, 0]
    >>> bool(odds[3] > 0.0 > odds[:3].max())
    True
    """
    edges = [find_edges(column) for column in np.sort(part, axis=0).T]
    n_bins = np.array([len(cuts) + 1 for cuts in edges])
    useful = np.flatnonzero(n_bins > 1)
    bins = np.empty(part.T.shape, np.uint8)
    for column, cuts in enumerate(edges):
        bins[column] = np.searchsorted(cuts, part[:, column])
    n_tried = min(n_tried or max(1, int(np.sqrt(len(useful)))), len(useful))
    state = np.array([seed], dtype=np.uint64)
    nodes = _boost(bins, n_bins, targets, n_trees, useful, n_tried, NOISE, ROW_SHARE, state)
    return _to_trees(*nodes, edges)


def find_edges(column: NDArray) -> NDArray:
    """Return the edges at which a sorted column may be cut; values at or below an edge go left.

    Examples
    --------
    >>> find_edges(np.array([1, 1, 2, 4], dtype=np.float32)).tolist()
    [1.5, 3.0]
    """
    # Each step is the last place of a run of equal values.
    steps = np.flatnonzero(column[1:] > column[:-1])
    if len(steps) >= MAX_BINS:
        quantiles = np.arange(1, MAX_BINS) * len(column) // MAX_BINS - 1
        steps = steps[np.unique(np.minimum(np.searchsorted(steps, quantiles), len(steps) - 1))]
    below = column[steps].astype(np.float64)
    above = column[steps + 1].astype(np.float64)
    return round_down(below + 0.5 * (above - below))


def _to_trees(feature: NDArray, cut: NDArray, value: NDArray, edges: list[NDArray]) -> Trees:
    """Reorder the nodes of trees from levels, with children 2 i + 1 and 2 i + 2, to preorder."""
    first = np.concatenate([[0], np.cumsum([len(cuts) for cuts in edges])])
    inside = feature >= 0
    threshold = np.zeros(feature.shape, dtype=np.float32)
    threshold[inside] = np.concatenate(edges)[first[feature[inside]] + cut[inside]]
    exists = np.ones(feature.shape, dtype=bool)
    for node in range(1, N_NODES):
        exists[:, node] = inside[:, (node - 1) // 2]
    order = _preorder(0)
    kept = exists[:, order]
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    return Trees(starts, feature[:, order][kept], threshold[:, order][kept], value[:, order][kept])


def _preorder(node: int) -> list[int]:
    """Return a node and all nodes below it, each before its children."""
    if node >= N_NODES:
        return []
    return [node, *_preorder(2 * node + 1), *_preorder(2 * node + 2)]


@compiled
def _boost(
    bins: NDArray,
    n_bins: NDArray,
    targets: NDArray,
    n_trees: int,
    useful: NDArray,
    n_tried: int,
    noise: float,
    row_share: float,
    state: NDArray,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return columns, cuts and values of the nodes of all trees, level by level.

    ``bins`` has one line per column. Columns are drawn from ``useful``, whose order changes. In the
    result, the column -1 marks a leaf or a missing node.
    """
    n_rows = bins.shape[1]
    shape = (n_trees, N_NODES)
    feature = unset(shape, np.int32)
    cut = unset(shape, np.int32)
    value = unset(shape)
    inverse = unset(n_rows)
    gradient = unset(n_rows)
    weight = unset(n_rows)
    node = unset(n_rows, np.int64)
    sums = unset(N_LEAVES // 2 * MAX_BINS)
    counts = unset(N_LEAVES // 2 * MAX_BINS)
    worth = unset(N_LEAVES // 2)
    n_outliers = targets.sum()
    inverse[:] = (n_rows - n_outliers) / n_outliers
    for tree in range(n_trees):
        columns = feature[tree]
        cuts = cut[tree]
        columns[:] = -1
        cuts[:] = 0
        added = noise * _start(targets, inverse, row_share, state, gradient, weight, node)
        for level in range(DEPTH):
            first = 2**level - 1
            worth[:] = -np.inf
            for number in range(n_tried):
                column = _draw_column(useful, number, state)
                size = n_bins[column]
                _add_up(bins[column], size, gradient, weight, node, first, sums, counts)
                for place in range(first + 1):
                    found, best = _best_cut(sums, counts, place * size, size, added, state)
                    if found >= 0 and best > worth[place]:
                        worth[place] = best
                        columns[first + place] = column
                        cuts[first + place] = found
            _move(bins, columns, cuts, node, first)
        _fill(targets, inverse, node, value[tree])
    return feature, cut, value


@inner
def _random(state: NDArray) -> int:
    """Return 64 random bits: SplitMix64 (Steele, Lea, Flood, 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@inner
def _almost_normal(state: NDArray) -> float:
    """Return a nearly normal random number with mean 0 and standard deviation 1.

    It is computed from the sum of four uniform numbers.
    """
    bits = _random(state)
    total = 0.0
    for shift in range(0, 64, 16):
        total += float((bits >> np.uint64(shift)) & np.uint64(0xFFFF))
    return (total - MEAN_OF_FOUR) / SPREAD_OF_FOUR


@inner
def _start(
    targets: NDArray,
    inverse: NDArray,
    row_share: float,
    state: NDArray,
    gradient: NDArray,
    weight: NDArray,
    node: NDArray,
) -> float:
    """Move all rows to the root, and sample rows for cuts; return the root mean square gradient.

    ``inverse`` holds 1 / odds of every row. Rows outside the sample get the weight 0.
    """
    squares = 0.0
    for row in range(targets.shape[0]):
        difference = targets[row] - 1.0 / (1.0 + inverse[row])
        squares += difference * difference
        taken = float(_random(state) >> np.uint64(11)) < row_share * 2.0**53
        weight[row] = 1.0 if taken else 0.0
        gradient[row] = difference if taken else 0.0
        node[row] = 0
    return np.sqrt(squares / targets.shape[0])


@inner
def _draw_column(order: NDArray, number: int, state: NDArray) -> int:
    """Draw one of the columns that were not drawn before; the first ``number`` were drawn."""
    left = order.shape[0] - number
    other = number + int(_random(state) >> np.uint64(11)) % left
    order[number], order[other] = order[other], order[number]
    return order[number]


@inner
def _add_up(
    bins: NDArray,
    n_bins: int,
    gradient: NDArray,
    weight: NDArray,
    node: NDArray,
    first: int,
    sums: NDArray,
    counts: NDArray,
) -> None:
    """Add up gradients and weights in the bins of one column, for every node of a level."""
    n_sums = (first + 1) * n_bins
    sums[:n_sums] = 0.0
    counts[:n_sums] = 0.0
    for row in range(bins.shape[0]):
        if node[row] >= first:
            place = (node[row] - first) * n_bins + int(bins[row])
            sums[place] += gradient[row]
            counts[place] += weight[row]


@inner
def _best_cut(
    sums: NDArray, counts: NDArray, start: int, n_bins: int, noise: float, state: NDArray
) -> tuple[int, float]:
    """Return the last bin on the left of a node's best cut (-1 if none), and its noisy score."""
    total = 0.0
    rows = 0.0
    for place in range(start, start + n_bins):
        total += sums[place]
        rows += counts[place]
    best = -1
    highest = -np.inf
    without_noise = 0.0
    left = 0.0
    on_left = 0.0
    for place in range(start, start + n_bins - 1):
        if counts[place] == 0.0:
            continue
        left += sums[place]
        on_left += counts[place]
        if on_left >= rows:
            break
        right = total - left
        on_right = rows - on_left
        worth = np.sqrt(left * left / (on_left + L2) + right * right / (on_right + L2))
        noisy = worth + noise * _almost_normal(state)
        if noisy > highest:
            best = place - start
            highest = noisy
            without_noise = worth
    return best, without_noise + noise * _almost_normal(state)


@inner
def _move(bins: NDArray, columns: NDArray, cuts: NDArray, node: NDArray, first: int) -> None:
    """Move the rows of a level to the children of their nodes."""
    for row in range(node.shape[0]):
        at = node[row]
        if at >= first and columns[at] >= 0:
            node[row] = 2 * at + (1 if bins[columns[at], row] <= cuts[at] else 2)


@inner
def _fill(targets: NDArray, inverse: NDArray, node: NDArray, value: NDArray) -> None:
    """Compute the values of a tree's leaves, and update the odds of all rows."""
    slopes = unset(N_NODES)
    bends = unset(N_NODES)
    factors = unset(N_NODES)
    value[:] = 0.0
    for _ in range(NEWTON_STEPS):
        slopes[:] = 0.0
        bends[:] = 0.0
        for place in range(N_NODES):
            factors[place] = np.exp(-value[place])
        for row in range(node.shape[0]):
            at = node[row]
            p = 1.0 / (1.0 + inverse[row] * factors[at])
            slopes[at] += targets[row] - p
            bends[at] += p * (1.0 - p)
        for place in range(N_NODES):
            step = slopes[place] / (bends[place] + L2)
            value[place] += min(max(step, -LONGEST_STEP), LONGEST_STEP)
    for place in range(N_NODES):
        value[place] *= LEARNING_RATE
        factors[place] = np.exp(-value[place])
    for row in range(node.shape[0]):
        inverse[row] *= factors[node[row]]
