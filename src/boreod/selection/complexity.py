"""Costs by complexity: operations per row, the same on every machine.

For a view of n reference rows and d columns, and a score at k:

===============  ==========  ================================================================
work             operations  paid
===============  ==========  ================================================================
neighbor search  n d         once per view
reverse lists    n           once per view, by scores that read reverse neighbors
geometry         k k d / 2   once per view at the largest k, by scores that read geometry
own              k           per column, for every step of its definition (k k for geometry)
===============  ==========  ================================================================

In units of the paper: a search through the whole training table is of its cheapest class, 10, and
a raw column costs 1. A foreign detector counts as one search.
"""

from boreod.representation.columns import FittedColumns
from boreod.representation.scored_view import FittedScore, ScoredView
from boreod.selection.costs import RAW, Costs, Needs

SEARCH = 10.0


def complexity_costs(fitted: FittedColumns, n_rows: int, n_columns: int) -> Costs:
    """Return costs by complexity, with shared parts, for a training table of this size."""
    unit = SEARCH / (n_rows * n_columns)
    own = dict.fromkeys(fitted.names, RAW)
    own |= dict.fromkeys((detector.label for detector in fitted.detectors), SEARCH)
    needs: dict[str, Needs] = {}
    for view in fitted.views:
        for s in view.scored.scores:
            for k, name in zip(s.ks, s.column_names(view.scored.space.name), strict=True):
                own[name], needs[name] = _price(view.scored, s, k, unit)
    return Costs({name: own[name] for name in fitted.names}, needs)


def _price(view: ScoredView, s: FittedScore, k: int, unit: float) -> tuple[float, Needs]:
    name, (n, _), d = view.space.name, view.graph.reference.shape, len(view.space.columns)
    steps = len(s.definition.descriptions) + 1
    needs = {f"search@{name}": n * d * unit}
    if s.definition.reads == "reverse":
        needs[f"reverse@{name}"] = n * unit
    if s.definition.reads == "geometry":
        needs[f"geometry@{name}"] = k * k * d / 2 * unit
        return steps * k * k * unit, needs
    return steps * k * unit, needs
