"""Whether manifest and arrays of a model file fit together, before anything is built from them.

Which arrays there must be, of which types and shapes, follows from the manifest.
"""

import hashlib
import re
from collections.abc import Callable
from math import isclose, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import count_as_inliers
from boreod.ensemble.consensus import MOST_KNOTS
from boreod.ensemble.members import KINDS, UNCHANGED
from boreod.neighbors import BACKENDS, Ks
from boreod.persistence.archive import ModelFileError
from boreod.persistence.arrays import (
    FLOAT,
    HASH,
    INTEGER,
    LABEL,
    OF_TREES,
    TYPES,
    Arrays,
    Tensor,
    fits_trees,
    tree_tensors,
    unpack_trees,
    wrong_numbers,
)
from boreod.persistence.manifest import PRESETS, Manifest, StoredView, decode
from boreod.persistence.members import (
    KNOTS,
    check_reach,
    fits_member,
    fits_together,
    member_tensors,
    name_of,
)
from boreod.representation.plan import PlannedScore, read_scores
from boreod.representation.scaling import SCALERS
from boreod.representation.views import VIEW_METRICS
from boreod.scores import DETECTORS, SCORES
from boreod.selection.costs import MAX_PRICE, Costs, kind_of_tree
from boreod.validation import INLIER, LARGEST, OUTLIER, UNLABELLED

PROBABILITIES, LABELS = "oob.probabilities", "oob.labels"  # of the training rows
ISOLATION = "seen.isolation"  # of the training rows too
HASHES = "seen.hashes"  # of the training rows; older files have none
DESCRIPTIONS = {name for score in SCORES.values() for name in score.descriptions}

CLASS_KINDS: dict[str, Callable[[object], bool]] = {
    "int64": lambda label: type(label) is int and abs(label) < 2**63,
    "float64": lambda label: type(label) in (int, float),
    "bool": lambda label: type(label) is bool,
    "object": lambda label: type(label) in (int, float, bool, str),
}


def check_manifest(manifest: Manifest, arrays_size: int) -> None:
    """Raise for a manifest that contradicts itself or the size of the file."""
    names = manifest.feature_names
    numbered = [f"x{number}" for number in range(len(names))]
    _require(len(set(names)) == len(names) > 0, "feature_names")
    _require(manifest.named or names == numbered, "feature_names")
    _require(manifest.scaling in SCALERS, "scaling")
    _require(manifest.scaling == "minmax" or manifest.quantiles >= 2, "quantiles")
    _require(0.0 <= manifest.threshold <= 1.0, "threshold")
    _require(manifest.preset in PRESETS, "preset")
    _require(manifest.aggregation in ("mean", "log-odds"), "aggregation")
    _require(manifest.correction.slope > 0.0, "correction")
    kind, labels = manifest.classes.kind, manifest.classes.values
    _require(kind in CLASS_KINDS and len(labels) == 2 and labels[0] != labels[1], "classes")
    _require(all(CLASS_KINDS[kind](label) for label in labels), "classes")
    shares = manifest.shares
    _require(shares.n_rows >= manifest.rows >= 2, "rows")
    _require(0 <= manifest.left_out < manifest.rows, "left_out")
    _require(0.0 < shares.inliers <= 1.0 and 0.0 < shares.unlabelled <= 1.0, "shares")
    _check_views(manifest)
    _check_columns(manifest)
    _check_members(manifest)
    _check_prices(manifest)
    tensors = expected_tensors(manifest).values()
    wanted = sum(TYPES[kind].itemsize * prod(shape) for kind, shape in tensors)
    if wanted > arrays_size:
        raise ModelFileError(
            f"its manifest asks for {wanted} bytes of arrays, and there are {arrays_size}"
        )


def raw_names(manifest: Manifest) -> list[str]:
    """Return the names of raw columns, which may or may not be in use."""
    return manifest.feature_names if manifest.representation.raw else []


def count_raw(manifest: Manifest) -> int:
    """Return the number of raw columns in use."""
    raw = set(raw_names(manifest))
    return sum(name in raw for name in manifest.columns)


def count_features(manifest: Manifest) -> int:
    """Return the number of features that columns become when they are scaled."""
    extra = count_raw(manifest) if manifest.scaling == "both" else 0
    return len(manifest.columns) + extra


def _check_views(manifest: Manifest) -> None:
    views, rows = manifest.representation.views, manifest.representation.reference_rows
    _require(rows >= 2 if views else rows == 0, "representation.reference_rows")
    _require(len({view.name for view in views}) == len(views), "representation.views")
    for number, view in enumerate(views):
        where = f"representation.views.{number}"
        _require(view.rows is None or 2 <= view.rows <= rows, f"{where}.rows")
        _require(view.metric in VIEW_METRICS and view.backend in BACKENDS, where)
        distinct = sorted(set(view.columns))
        _require(len(distinct) == len(view.columns) > 0, f"{where}.columns")
        inside = distinct[0] >= 0 and distinct[-1] < len(manifest.feature_names)
        _require(inside, f"{where}.columns")
        _require(len(view.scores) > 0, f"{where}.scores")
        for stored in view.scores:
            smallest, ks = stored.make().min_k, stored.ks
            _require(len(ks) > 0 and ks == sorted(set(ks)), f"{where}.scores.ks")
            _require(smallest <= ks[0] and ks[-1] < (view.rows or rows), f"{where}.scores.ks")


def _check_columns(manifest: Manifest) -> None:
    raw, columns = set(raw_names(manifest)), manifest.columns
    scores = [
        name
        for view in manifest.representation.views
        for stored in view.scores
        for name in PlannedScore(stored.label, stored.make(), tuple(stored.ks)).column_names(
            view.name
        )
    ]
    for number, forest in enumerate(manifest.representation.forests):
        right = fits_trees(forest.trees) and 1 <= forest.sampled <= manifest.rows
        _require(right, f"representation.forests.{number}")
        scores.append(forest.label)
    wanted = set(columns)
    _require(len(wanted) == len(columns) > 0, "columns")
    _require(len(set(scores)) == len(scores) and not raw & set(scores), "columns")
    _require(set(scores) <= wanted <= set(scores) | raw, "columns")
    if manifest.scaling == "both":  # raw columns come first
        _require(set(columns[: count_raw(manifest)]) <= raw, "columns")


def _check_members(manifest: Manifest) -> None:
    n_features = count_features(manifest)
    for place, stored in enumerate(manifest.members):
        _require(fits_member(stored, n_features), name_of(place))
    _require(fits_together(manifest.members, manifest.knots > 0), "members")
    _require(manifest.knots == 0 or 2 <= manifest.knots <= MOST_KNOTS, "knots")
    _require(manifest.knots == 0 or manifest.correction == UNCHANGED, "correction")


def _check_prices(manifest: Manifest) -> None:
    """Raise for prices of columns that there cannot be, and for a choice that they do not allow."""
    costs, choice = manifest.costs, manifest.selection
    _check_names(manifest, costs, "costs")
    _require(manifest.alone is None or 0.0 < manifest.alone <= MAX_PRICE, "alone")
    if choice is None:
        return
    _require(sorted(choice.columns) == sorted(manifest.columns), "selection.columns")
    shares = choice.frequencies
    _require(set(shares) <= set(manifest.columns), "selection.frequencies")
    _require(all(0.0 <= share <= 1.0 for share in shares.values()), "selection.frequencies")
    _check_names(manifest, choice.costs, "selection.costs")
    _require(choice.batch_size is None or choice.batch_size >= 1, "selection.batch_size")
    costs = choice.prices(costs)
    if costs is None:
        raise ModelFileError("manifest.selection has no prices")
    _require(set(choice.columns) <= set(costs.names), "selection.columns")
    trees = {m.kind: m.trees.number for m in manifest.members if m.trees is not None}
    _require({kind_of_tree(kind) for kind in trees} <= set(costs.trees), "selection.costs")
    total = costs.total(choice.columns) + costs.cost_of_trees(trees)
    right = isclose(choice.cost, total, rel_tol=1e-9)
    _require(right and choice.cost <= choice.budget, "selection.cost")


def _check_names(manifest: Manifest, costs: Costs | None, where: str) -> None:
    names = [] if costs is None else costs.names
    known = {*manifest.columns, *raw_names(manifest)}
    others = [n for n in names if n not in known and not _may_be_score(n, manifest.rows)]
    _require(not others or set(others) <= _possible_forests(manifest), where)
    _require(costs is None or set(costs.trees) <= set(map(kind_of_tree, KINDS)), where)


def _may_be_score(name: str, rows: int) -> bool:
    """Whether this is the name of a score column, such as lof_10@r256, of a table of so many rows.

    Those that are not in use have left nothing else in the file.
    """
    match = re.fullmatch(r"[^@]+?_([1-9][0-9]{0,15})(?:@.+)?", name, re.DOTALL)
    return match is not None and int(match[1]) < rows


def _possible_forests(manifest: Manifest) -> set[str]:
    """Return names of isolation forests, which the representation has, or had in the fit."""
    given = manifest.parameters.get("representation")
    content = given.get("representation") if isinstance(given, dict) else None
    if not isinstance(content, dict):
        return set(DETECTORS)
    return {label for label, _ in read_scores(decode(content.get("scores", "all")))[1]}


def _require(right: bool, where: str) -> None:
    if not right:
        raise ModelFileError(f"manifest.{where} does not fit the rest")


def expected_tensors(manifest: Manifest) -> dict[str, Tensor]:
    """Return types and shapes of all arrays."""
    shapes: dict[str, tuple[int, ...]] = {}
    rows, features = manifest.representation.reference_rows, len(manifest.feature_names)
    columns, scaled = len(manifest.columns), len(manifest.columns)
    if manifest.representation.views:
        shapes["reference"] = (rows, features)
    if any(view.metric != "ranked" for view in manifest.representation.views):
        shapes[ISOLATION] = (manifest.rows,)
    shapes |= {"seen.low": (features,), "seen.high": (features,)}
    if manifest.input_scaling:
        shapes |= {"input.low": (features,), "input.factor": (features,)}
    if manifest.scaling != "minmax":
        shapes["scaler.quantiles"] = (columns, manifest.quantiles)
        scaled = count_raw(manifest) if manifest.scaling == "both" else 0
    if scaled:
        shapes |= {"scaler.low": (scaled,), "scaler.factor": (scaled,)}
    shapes |= {"base": (count_features(manifest),), PROBABILITIES: (manifest.rows,)}
    tensors = {name: (FLOAT, list(shape)) for name, shape in shapes.items()}
    tensors[LABELS] = (LABEL, [manifest.rows])
    if manifest.knots:
        tensors |= dict.fromkeys(KNOTS, (FLOAT, [manifest.knots]))
    for number, view in enumerate(manifest.representation.views):
        tensors |= _tensors_of(view, f"views.{number}", rows)
    for number, forest in enumerate(manifest.representation.forests):
        tensors |= tree_tensors(forest.trees, f"forests.{number}", features)
    for place, stored in enumerate(manifest.members):
        tensors |= member_tensors(stored, name_of(place), count_features(manifest))
    return tensors


def _tensors_of(view: StoredView, prefix: str, rows: int) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    if view.rows is not None:
        rows = view.rows
        tensors[f"{prefix}.rows"] = (INTEGER, [rows])
    with_radii = ks_of_radii(view)
    if with_radii:
        tensors[f"{prefix}.radii"] = (FLOAT, [rows, len(with_radii)])
    for number, stored in enumerate(view.scores):
        score, n_ks = stored.make(), len(stored.ks)
        summary = score.summarize(np.zeros((1, n_ks)))
        tensors[f"{prefix}.{number}.summary"] = (FLOAT, list(summary.shape))
        for name in score.descriptions if score.compares() else ():
            tensors[f"{prefix}.{number}.{name}"] = (FLOAT, [rows, n_ks])
    return tensors


def ks_of_radii(view: StoredView) -> Ks:
    """Return the ks whose k-distances are looked up."""
    scores = [(stored.make(), stored.ks) for stored in view.scores]
    lookups = [ks for s, ks in scores if s.reads_radii or s.reads == "reverse"]
    return tuple(sorted({k for ks in lookups for k in ks}))


def unpack(content: bytes, manifest: Manifest) -> Arrays:
    """Return the arrays of a safetensors file after a look at its hash, types and shapes."""
    from safetensors import SafetensorError, deserialize

    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise ModelFileError("its arrays do not have the SHA-256 that its manifest names")
    try:
        found: dict[str, Any] = dict(deserialize(content))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"its arrays cannot be read ({error})") from None
    expected = expected_tensors(manifest)
    if HASHES in found:
        expected[HASHES] = (HASH, [manifest.rows])
    if {name: (item["dtype"], list(item["shape"])) for name, item in found.items()} != expected:
        raise ModelFileError("its arrays are not those that its manifest asks for")
    arrays = {}
    for name, (kind, shape) in expected.items():
        flat = np.frombuffer(found.pop(name)["data"], TYPES[kind])
        # kernels are compiled for arrays that may be written to
        arrays[name] = np.require(flat.reshape(shape), requirements=["C", "A", "W"])
    return arrays


def check_values(arrays: Arrays, manifest: Manifest) -> None:
    """Raise for numbers that no model has, and for those whose products would not be finite."""
    rows = manifest.representation.reference_rows
    _check_training_rows(arrays[PROBABILITIES], arrays[LABELS], manifest)
    for name, values in arrays.items():
        last = name.rpartition(".")[2]
        if name in (PROBABILITIES, LABELS) or last in OF_TREES:  # trees are checked below
            continue
        if values.dtype == TYPES[INTEGER]:
            right = _ascends(values, strictly=True) and values[0] >= 0 and values[-1] < rows
        else:
            low, high = values.min(), values.max()  # NaN if there is any
            least, most = _RANGES.get(last, _FINITE)
            right = least <= low and high <= most
            if last in ("radii", "quantiles"):
                right = right and _ascends(values)
            if last == "summary" and len(values) == 1:  # a spread, by which scores are divided
                right = right and low > 0.0
        if not right:
            raise wrong_numbers(name)
    low, high = arrays["seen.low"], arrays["seen.high"]
    if not (low >= -LARGEST).all() or not (low <= high).all() or not (high <= LARGEST).all():
        raise wrong_numbers("seen.high")
    for number in range(len(manifest.representation.forests)):
        splits = arrays[f"forests.{number}.value"]
        if not (splits.min() >= 0.0 and splits.max() <= LARGEST):
            raise wrong_numbers(f"forests.{number}.value")
        unpack_trees(arrays, f"forests.{number}", len(manifest.feature_names))
    check_reach(arrays, manifest, count_features(manifest))


def _check_training_rows(probabilities: NDArray, labels: NDArray, manifest: Manifest) -> None:
    """Both classes must be there, and only rows that bags hold may lack a probability.

    A model without any label ranks rows, and each of them has its place.
    """
    untaught = manifest.knots > 0
    codes = count_as_inliers(labels) if manifest.assumed else labels
    needed, found = {UNLABELLED} if untaught else {INLIER, OUTLIER}, set(np.unique(codes).tolist())
    if not needed <= found <= {UNLABELLED, *needed}:
        raise wrong_numbers(LABELS)
    missing = np.isnan(probabilities)
    inside = (probabilities >= 0.0) & (probabilities <= 1.0)
    if not (inside | missing).all() or (missing & (untaught | (codes < 0))).any():
        raise wrong_numbers(PROBABILITIES)


def _ascends(values: NDArray, strictly: bool = False) -> bool:
    before, after = values[..., :-1], values[..., 1:]
    return bool((before < after).all() if strictly else (before <= after).all())


_FINITE = (-np.finfo(np.float64).max, np.finfo(np.float64).max)
_NOT_NEGATIVE = (0.0, _FINITE[1])
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("reference", "coefficients", "intercepts", "base"), (-LARGEST, LARGEST)),
    # scores may be larger than rows; differences of these stay finite
    **dict.fromkeys(("low", "quantiles"), (-1e300, 1e300)),
    **dict.fromkeys(("factor", "radii", "isolation", "gradients"), _NOT_NEGATIVE),
    # descriptions: the density of a clump of copies is infinite
    **dict.fromkeys(DESCRIPTIONS, (-np.inf, np.inf)),
    "bandwidth": _NOT_NEGATIVE,
    "log_kernel_density": _FINITE,  # also of copies, whose bandwidth is 0
}
