"""Loading: from a checked manifest and its arrays to a detector that predicts and explains."""

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Quantiles
from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.profile import LearnedRows
from boreod.neighbors import KnownRows, NeighborGraph
from boreod.persistence.checks import (
    HASHES,
    ISOLATION,
    LABELS,
    PROBABILITIES,
    check_manifest,
    check_values,
    expected_tensors,
    ks_of_radii,
)
from boreod.persistence.manifest import (
    Arrays,
    Manifest,
    ModelFileError,
    StoredScore,
    StoredView,
    decode_parameters,
    decode_representation,
    open_model_file,
    read_manifest,
)
from boreod.persistence.members import KNOTS, build_member, unpack_trees
from boreod.persistence.training_table import restore_table
from boreod.predictor import Parts, Predictor, restore
from boreod.representation.columns import FittedColumns
from boreod.representation.scaling import Both, MinMax, Rank, Scaler
from boreod.representation.scored_view import FittedScore, ScoredView, fit_scale, search_depths
from boreod.representation.views import VIEW_METRICS, Space
from boreod.scores import IsolationTrees
from boreod.scores.foreign import ForeignDetector
from boreod.selection.budgets import Selection
from boreod.text import first_clause

if TYPE_CHECKING:
    from boreod.detector import Detector

# Errors that building from a manifest that contradicts itself may end in.
MISFITS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError,
           MemoryError)  # fmt: skip


def load_predictor(
    path: str | PathLike[str], n_jobs: int | None = None, kind: Any = Predictor
) -> Any:
    """Read from a model file what predicts and explains, and is no scikit-learn estimator.

    It is there sooner than what :func:`boreod.load` gives back, which takes its time to import
    scikit-learn, and says the same of every row. ``kind`` is the class of the result. The file need
    not be trusted: nothing in it is executed.
    """
    path = Path(path)
    try:
        with open_model_file(path) as file:
            manifest = read_manifest(file.manifest)
            check_manifest(manifest, file.arrays_size)
            arrays = file.read_arrays(expected_tensors(manifest))
        check_values(arrays, manifest)
        model = _put_together(manifest, arrays, kind)
    except MISFITS as error:
        raise ModelFileError(
            f"The model file {str(path)!r} cannot be used: {first_clause(error)}."
        ) from None
    model.verbose = False
    if n_jobs is not None:
        model.n_jobs = n_jobs
    return model


def load(path: str | PathLike[str], n_jobs: int | None = None) -> "Detector":
    """Read a detector from a model file, whoever wrote it: it need not be trusted.

    The detector predicts and explains as it did before it was saved, and chooses thresholds. What
    needs the bags (``within``, ``budget_curve``) is not there and says so; ``stored_`` holds what
    the file says about itself. A BORE comes back as a Detector with its parameters. ``n_jobs`` is
    the number of threads, None for that of the fit.
    """
    from boreod.detector import Detector

    return load_predictor(path, n_jobs, Detector)


@dataclass(frozen=True)
class Stored:
    """What a model file says about itself: ``model.stored_`` of a loaded model.

    ``versions`` are those of the packages that wrote it, ``extra`` is the free section.
    """

    format: int
    versions: dict[str, str]
    extra: dict[str, Any] = field(repr=False)


def _put_together(manifest: Manifest, arrays: Arrays, kind: Any) -> Any:
    """Return a fitted detector without the bags and columns of its training rows."""
    parameters = dict(manifest.parameters)
    given = parameters.get("representation")
    if not hasattr(kind, "fit") and isinstance(given, dict) and list(given) == ["representation"]:
        # A representation is an estimator and needed for a fit only, so it is checked, not built.
        decode_representation(parameters.pop("representation")["representation"])
    labels = arrays[LABELS].astype(np.int64)
    preparation, record = restore_table(
        manifest.table, manifest.feature_names, LearnedRows(arrays[HASHES])
    )
    parts = Parts(
        decode_parameters(kind, parameters),
        _fitted(manifest, arrays, labels),
        OutOfBag(
            arrays[PROBABILITIES], labels, manifest.shares, manifest.assumed, manifest.left_out
        ),
        manifest.threshold,
        preparation,
        record,
        manifest.costs,
        _selection(manifest),
        Stored(manifest.format, manifest.versions, manifest.extra),
        manifest.alone,
    )
    return restore(kind, parts)


def _fitted(manifest: Manifest, arrays: Arrays, labels: NDArray) -> Fitted:
    forests: list[IsolationTrees | ForeignDetector] = []
    for number, forest in enumerate(manifest.representation.forests):
        trees = unpack_trees(arrays, f"forests.{number}", len(manifest.feature_names))
        forests.append(IsolationTrees(forest.label, trees, forest.sampled))
    members = [
        build_member(stored, arrays, f"members.{place}", manifest.n_features)
        for place, stored in enumerate(manifest.members)
    ]
    correction: Any = manifest.correction
    if manifest.knots:
        correction = Quantiles(*(arrays[name] for name in KNOTS))
    return Fitted(
        _min_max(arrays, "input") if manifest.input_scaling else None,
        FittedColumns(manifest.columns, manifest.raw_names, _views(manifest, arrays), forests),
        _scaler(manifest.scaling, arrays),
        members,
        arrays["base"],
        correction,
        np.array(manifest.classes.values, dtype=manifest.classes.kind),
        SeenRows(
            manifest.feature_names,
            arrays["seen.low"],
            arrays["seen.high"],
            arrays.get(ISOLATION),
            labels,
            manifest.input_scaling,
        ),
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


def _view(stored: StoredView, known: KnownRows, arrays: Arrays, prefix: str) -> ScoredView:
    positions = arrays.get(f"{prefix}.rows")
    if positions is not None:
        positions = positions.astype(np.int64)
    space = Space(stored.name, np.array(stored.columns), stored.metric, positions)
    scores = [
        _score(score, arrays, f"{prefix}.{number}") for number, score in enumerate(stored.scores)
    ]
    # k-distances that no score in use looks up are not in the file.
    radii = arrays.get(f"{prefix}.radii", np.empty((len(known.rows), 0)))
    points = known.rows.take(space.columns, axis=1)
    scale = fit_scale(space.metric, points)
    if scale is not None:
        points = scale.transform(points)
    graph = NeighborGraph.build(
        points,
        *search_depths(scores),
        VIEW_METRICS[space.metric],
        stored.backend,
        {ks_of_radii(stored): radii},
    )
    return ScoredView(space, graph, scores, known, scale)


def _score(stored: StoredScore, arrays: Arrays, prefix: str) -> FittedScore:
    score = stored.make()
    # Descriptions that are not compared are not in the file.
    empty: NDArray = np.empty((0, len(stored.ks)))
    frozen = [arrays.get(f"{prefix}.{name}", empty) for name in score.descriptions]
    return FittedScore(stored.label, score, tuple(stored.ks), frozen, arrays[f"{prefix}.summary"])


def _scaler(kind: str, arrays: Arrays) -> Scaler:
    if kind == "minmax":
        return _min_max(arrays, "scaler")
    ranked = Rank(arrays["scaler.quantiles"])
    return Both(_min_max(arrays, "scaler"), ranked) if kind == "both" else ranked


def _min_max(arrays: Arrays, prefix: str) -> MinMax:
    # Without raw columns there are no ranges.
    empty: NDArray = np.empty(0)
    return MinMax(arrays.get(f"{prefix}.low", empty), arrays.get(f"{prefix}.factor", empty))


def _selection(manifest: Manifest) -> Selection | None:
    choice = manifest.selection
    if choice is None:
        return None
    then = choice.prices(manifest.costs)
    assert then is not None
    trees = {m.kind: m.trees.number for m in manifest.members if m.trees is not None}
    return Selection(
        choice.columns,
        choice.frequencies,
        choice.cost,
        choice.budget,
        then,
        {m.kind: trees[m.kind] // m.bags for m in manifest.members if m.kind in trees},
        then.cost_of_trees(trees),
        choice.batch_size,
    )
