"""Loading: from a checked manifest and its arrays to a detector that predicts and explains."""

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.consensus import Quantiles
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.profile import LearnedRows
from boreod.neighbors import KnownRows, NeighborGraph
from boreod.persistence.archive import ModelFileError, open_archive
from boreod.persistence.arrays import Arrays, unpack_trees
from boreod.persistence.checks import (
    HASHES,
    ISOLATION,
    LABELS,
    PROBABILITIES,
    check_manifest,
    check_values,
    count_features,
    ks_of_radii,
    raw_names,
    unpack,
)
from boreod.persistence.manifest import (
    Manifest,
    StoredScore,
    StoredView,
    check_representation,
    decode_parameters,
    read_manifest,
)
from boreod.persistence.members import KNOTS, build_member, name_of
from boreod.predictor import Predictor
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Both, MinMax, Rank, Scaler
from boreod.representation.scored_view import FittedScore, ScoredView, fit_scale, search_depths
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores import IsolationTrees
from boreod.scores.foreign import ForeignDetector
from boreod.selection.budgets import Selection

# what building from a manifest that contradicts itself may end in
MISFITS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError,
           MemoryError)  # fmt: skip


def load_model(path: str | PathLike[str], kind: type[Predictor] | None = None) -> Any:
    """Read a detector from a file that :func:`save_model` wrote.

    The detector predicts and explains as it did before it was saved, and chooses thresholds. What
    needs the bags (``within``, ``budget_curve``) is not there and says so; ``stored_`` tells
    what the file says of itself. It need not be trusted: nothing in it is executed. ``kind`` is its
    class, None for the preset that the file names.
    """
    path = Path(path)
    try:
        with open_archive(path) as archive:
            manifest = read_manifest(archive.manifest)
            check_manifest(manifest, archive.arrays_size)
            arrays = unpack(archive.read_arrays(), manifest)
        check_values(arrays, manifest)
        return _put_together(manifest, arrays, kind or _find_preset(manifest.preset))
    except MISFITS as error:
        reason = str(error).partition(". ")[0].rstrip(".")  # remedies are for who wrote the file
        raise ModelFileError(f"The model file {str(path)!r} cannot be used: {reason}.") from None


@dataclass(frozen=True)
class Stored:
    """What a model file says about itself: ``model.stored_`` of a loaded model."""

    format: int  # of the file
    versions: dict[str, str]  # of the packages that wrote it
    extra: dict[str, Any] = field(repr=False)  # as given to ``save_model``


def _find_preset(name: str) -> type[Predictor]:
    from boreod.bore import PRESETS

    return PRESETS[name]


def _put_together(manifest: Manifest, arrays: Arrays, kind: type[Predictor]) -> Predictor:
    """Return a fitted detector without the bags and columns of its training rows."""
    labels = arrays[LABELS].astype(np.int64)
    seen = SeenRows(
        manifest.feature_names,
        arrays["seen.low"],
        arrays["seen.high"],
        arrays.get(ISOLATION),
        labels,
        manifest.input_scaling,
    )
    n_features = count_features(manifest)
    views, forests = _views(manifest, arrays), _forests(manifest, arrays)
    fitted = Fitted(
        _min_max(arrays, "input") if manifest.input_scaling else None,
        FittedColumns(manifest.columns, raw_names(manifest), views, forests),
        _scaler(manifest.scaling, arrays),
        [
            build_member(stored, arrays, name_of(place), n_features)
            for place, stored in enumerate(manifest.members)
        ],
        arrays["base"],
        Quantiles(*(arrays[name] for name in KNOTS)) if manifest.knots else manifest.correction,
        manifest.aggregation,
        np.array(manifest.classes.values, dtype=manifest.classes.kind),
        seen,
    )
    parameters = dict(manifest.parameters)
    given = parameters.get("representation")
    if not hasattr(kind, "fit") and isinstance(given, dict) and list(given) == ["representation"]:
        check_representation(parameters.pop("representation"))  # an estimator, only a fit reads it
    return kind.from_parts(
        decode_parameters(kind, parameters),
        fitted,
        OutOfBag(
            arrays[PROBABILITIES], labels, manifest.shares, manifest.assumed, manifest.left_out
        ),
        manifest.threshold,
        manifest.costs,
        _selection(manifest),
        Stored(manifest.format, manifest.versions, manifest.extra),
        named=manifest.named,
        learned=LearnedRows(arrays[HASHES]) if HASHES in arrays else None,
        alone=manifest.alone,
    )


def _views(manifest: Manifest, arrays: Arrays) -> list[ScoredView]:
    views = []
    everywhere: KnownRows | None = None
    for number, view in enumerate(manifest.representation.views):
        prefix = f"views.{number}"
        if view.rows is not None:
            known = KnownRows(arrays["reference"][arrays[f"{prefix}.rows"]])
        else:
            known = everywhere = everywhere or KnownRows(arrays["reference"])
        views.append(_view(view, known, arrays, prefix))
    return views


def _forests(manifest: Manifest, arrays: Arrays) -> list[IsolationTrees | ForeignDetector]:
    n_columns = len(manifest.feature_names)
    return [
        IsolationTrees(
            stored.label, unpack_trees(arrays, f"forests.{number}", n_columns), stored.sampled
        )
        for number, stored in enumerate(manifest.representation.forests)
    ]


def _view(stored: StoredView, known: KnownRows, arrays: Arrays, prefix: str) -> ScoredView:
    positions = arrays.get(f"{prefix}.rows")
    space = Space(
        stored.name,
        np.array(stored.columns),
        stored.metric,
        None if positions is None else positions.astype(np.int64),
    )
    scores = [
        _score(score, arrays, f"{prefix}.{number}") for number, score in enumerate(stored.scores)
    ]
    with_radii = ks_of_radii(stored)
    # k-distances that no score in use looks up are not in the file
    radii = arrays[f"{prefix}.radii"] if with_radii else np.empty((len(known.rows), 0))
    points = known.rows.take(space.columns, axis=1)
    scale = fit_scale(space.metric, points)
    points = points if scale is None else scale.transform(points)
    metric = VIEW_METRICS[space.metric]
    graph = NeighborGraph.build(
        points, *search_depths(scores), metric, stored.backend, {with_radii: radii}
    )
    return ScoredView(space, graph, scores, known, scale)


def _score(stored: StoredScore, arrays: Arrays, prefix: str) -> FittedScore:
    score = stored.make()
    nobody_looks: NDArray = np.empty((0, len(stored.ks)))
    frozen = [arrays.get(f"{prefix}.{name}", nobody_looks) for name in score.descriptions]
    return FittedScore(stored.label, score, tuple(stored.ks), frozen, arrays[f"{prefix}.summary"])


def _scaler(kind: str, arrays: Arrays) -> Scaler:
    if kind == "minmax":
        return _min_max(arrays, "scaler")
    ranked = Rank(arrays["scaler.quantiles"])
    return Both(_min_max(arrays, "scaler"), ranked) if kind == "both" else ranked


def _min_max(arrays: Arrays, prefix: str) -> MinMax:
    nothing: NDArray = np.empty(0)  # without raw columns
    return MinMax(arrays.get(f"{prefix}.low", nothing), arrays.get(f"{prefix}.factor", nothing))


def _selection(manifest: Manifest) -> Selection | None:
    choice = manifest.selection
    if choice is None:
        return None
    then = choice.prices(manifest.costs)
    assert then is not None  # as it was checked
    trees = {m.kind: m.trees.number for m in manifest.members if m.trees is not None}
    of_bag = {m.kind: trees[m.kind] // m.bags for m in manifest.members if m.kind in trees}
    bought = choice.columns, choice.frequencies, choice.cost, choice.budget
    return Selection(*bought, then, of_bag, then.cost_of_trees(trees), choice.batch_size)
