"""Which arrays a model file must hold, of which shapes and values: it follows from the manifest."""

import hashlib
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.neighbors import Ks
from boreod.persistence.errors import ModelFileError
from boreod.persistence.manifest import (
    Manifest,
    StoredScore,
    StoredView,
    Tensor,
    TrainingSummary,
)
from boreod.persistence.values import make_score
from boreod.scores import SCORES, Score
from boreod.validation import LARGEST

FLOAT, INTEGER, LABEL = "F64", "I32", "I8"
TYPES: dict[str, np.dtype] = {
    FLOAT: np.dtype("<f8"),
    INTEGER: np.dtype("<i4"),
    LABEL: np.dtype("i1"),
}
PROBABILITIES, LABELS = "oob.probabilities", "oob.labels"  # of the training rows
ISOLATION = "seen.isolation"  # of the training rows too
DESCRIPTIONS = {name for score in SCORES.values() for name in score.descriptions}

Arrays = dict[str, NDArray]


def expected_tensors(manifest: Manifest) -> dict[str, Tensor]:
    """Return types and shapes of all arrays."""
    shapes: dict[str, tuple[int, ...]] = {}
    rows, features = manifest.representation.reference_rows, len(manifest.feature_names)
    columns, bags = len(manifest.columns), manifest.bags.number
    if manifest.representation.views:
        shapes["reference"] = (rows, features)
        shapes[ISOLATION] = (manifest.training.rows,)
    shapes |= {"seen.low": (features,), "seen.high": (features,)}
    if manifest.input_scaling:
        shapes |= {"input.low": (features,), "input.factor": (features,)}
    if manifest.scaling == "rank":
        shapes["scaler.quantiles"] = (columns, manifest.quantiles)
    else:
        shapes |= {"scaler.low": (columns,), "scaler.factor": (columns,)}
    shapes |= {"bags.coefficients": (bags, columns), "bags.intercepts": (bags,)}
    shapes |= {"bags.gradients": (bags,), "base": (columns,)}
    shapes[PROBABILITIES] = (manifest.training.rows,)
    tensors = {name: Tensor(FLOAT, list(shape)) for name, shape in shapes.items()}
    tensors[LABELS] = Tensor(LABEL, [manifest.training.rows])
    for number, view in enumerate(manifest.representation.views):
        tensors |= _tensors_of(view, f"views.{number}", rows)
    return tensors


def _tensors_of(view: StoredView, prefix: str, rows: int) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    if view.rows is not None:
        rows = view.rows
        tensors[f"{prefix}.rows"] = Tensor(INTEGER, [rows])
    _, with_radii, _ = depths(view)
    if with_radii:
        tensors[f"{prefix}.radii"] = Tensor(FLOAT, [rows, len(with_radii)])
    for number, stored in enumerate(view.scores):
        score, n_ks = score_of(stored), len(stored.ks)
        summary = score.summarize(np.zeros((1, n_ks)))
        tensors[f"{prefix}.{number}.summary"] = Tensor(FLOAT, list(summary.shape))
        for name in score.descriptions if score.compares() else ():
            tensors[f"{prefix}.{number}.{name}"] = Tensor(FLOAT, [rows, n_ks])
    return tensors


def score_of(stored: StoredScore) -> Score:
    """Return the score that a manifest names."""
    return make_score(stored.score, stored.parameters)


def depths(view: StoredView) -> tuple[Ks, Ks, int]:
    """Return all ks, those whose k-distances are looked up, and the largest with reverse lists."""
    scores = [(score_of(stored), stored.ks) for stored in view.scores]
    ks = sorted({k for _, of_one in scores for k in of_one})
    lookups = [of_one for s, of_one in scores if s.reads_radii or s.reads == "reverse"]
    with_radii = sorted({k for of_one in lookups for k in of_one})
    reverse = max((of_one[-1] for s, of_one in scores if s.reads == "reverse"), default=0)
    return tuple(ks), tuple(with_radii), reverse


def pack(arrays: Arrays) -> bytes:
    """Return arrays as the bytes of a safetensors file."""
    from safetensors.numpy import save

    return save(arrays)


def unpack(content: bytes, manifest: Manifest) -> Arrays:
    """Return the arrays of a safetensors file after a look at its hash, types and shapes."""
    from safetensors import SafetensorError, deserialize

    if hashlib.sha256(content).hexdigest() != manifest.arrays.sha256:
        raise ModelFileError("its arrays do not have the SHA-256 that its manifest names")
    try:
        found: dict[str, Any] = dict(deserialize(content))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"its arrays cannot be read ({error})") from None
    if {name: _tensor(item) for name, item in found.items()} != manifest.arrays.tensors:
        raise ModelFileError("its arrays are not those that its manifest lists")
    arrays = {}
    for name, tensor in manifest.arrays.tensors.items():
        flat = np.frombuffer(found.pop(name)["data"], TYPES[tensor.dtype])
        # kernels are compiled for arrays that may be written to
        arrays[name] = np.require(flat.reshape(tensor.shape), requirements=["C", "A", "W"])
    return arrays


def describe_arrays(arrays: Arrays) -> dict[str, Tensor]:
    """Return types and shapes of arrays that are to be saved."""
    names = {kind: name for name, kind in TYPES.items()}
    return {name: Tensor(names[a.dtype], list(a.shape)) for name, a in arrays.items()}


def n_bytes(tensors: dict[str, Tensor]) -> int:
    """Return the size of arrays."""
    return sum(TYPES[tensor.dtype].itemsize * prod(tensor.shape) for tensor in tensors.values())


def check_values(arrays: Arrays, manifest: Manifest) -> None:
    """Raise for numbers that no model has, and for those whose products would not be finite."""
    rows = manifest.representation.reference_rows
    _check_training_rows(arrays[PROBABILITIES], arrays[LABELS], manifest.training)
    for name, values in arrays.items():
        if name in (PROBABILITIES, LABELS):
            continue
        last = name.rpartition(".")[2]
        if values.dtype == TYPES[INTEGER]:
            right = _ascends(values, strictly=True) and values[0] >= 0 and values[-1] < rows
        else:
            low, high = values.min(), values.max()  # NaN if there is any
            right = _RANGES.get(last, _is_finite)(low, high)
            if last in ("radii", "quantiles"):
                right = right and _ascends(values)
            if last == "summary" and len(values) == 1:  # a spread, by which scores are divided
                right = right and low > 0.0
        if not right:
            raise _wrong_numbers(name)
    low, high = arrays["seen.low"], arrays["seen.high"]
    if not (low <= high).all() or not _is_small(low.min(), high.max()):
        raise _wrong_numbers("seen.high")
    _check_reach(arrays, manifest)


def _check_reach(arrays: Arrays, manifest: Manifest) -> None:
    """Log-odds must be finite for all rows, of which no scaled value exceeds LARGEST."""
    coefficients, bags = arrays["bags.coefficients"], manifest.bags
    with np.errstate(over="ignore"):
        farthest = np.abs(coefficients).sum(axis=1) * LARGEST + np.abs(arrays["bags.intercepts"])
        reach = 2.0 * float(farthest.sum()) * max(1.0, bags.slope) + abs(bags.shift)
    if not np.isfinite(reach) or not np.isfinite(reach / min(1.0, bags.slope)):
        raise _wrong_numbers("bags.coefficients")


def _check_training_rows(probabilities: NDArray, labels: NDArray, summary: TrainingSummary) -> None:
    """Labels must be counted as in the manifest, and only labelled rows may lack a score."""
    counts = [int((labels == label).sum()) for label in (1, 0, -1)]
    if counts != [summary.outliers, summary.inliers, summary.unlabelled]:
        raise _wrong_numbers(LABELS)
    missing = np.isnan(probabilities)
    present = probabilities[~missing]
    right = bool(((present >= 0.0) & (present <= 1.0)).all())
    judged = int((~missing & (labels >= 0)).sum())
    if not right or judged != summary.judged or len(present) - judged != summary.unlabelled:
        raise _wrong_numbers(PROBABILITIES)


def _wrong_numbers(name: str) -> ModelFileError:
    return ModelFileError(f"its array {name!r} holds numbers that no model has")


def _ascends(values: NDArray, strictly: bool = False) -> bool:
    before, after = values[..., :-1], values[..., 1:]
    return bool((before < after).all() if strictly else (before <= after).all())


def _tensor(item: dict[str, Any]) -> Tensor:
    return Tensor(item["dtype"], list(item["shape"]))


def _is_finite(low: float, high: float) -> bool:
    return bool(np.isfinite(low) and np.isfinite(high))


def _is_not_negative(low: float, high: float) -> bool:
    return bool(low >= 0.0 and np.isfinite(high))


def _is_small(low: float, high: float) -> bool:
    return bool(low >= -LARGEST and high <= LARGEST)


def _is_bounded(low: float, high: float) -> bool:
    return bool(low >= -1e300 and high <= 1e300)


def _is_no_nan(low: float, high: float) -> bool:
    return bool(low <= high)


_RANGES: dict[str, Callable[[float, float], bool]] = {
    **dict.fromkeys(("reference", "coefficients", "intercepts", "base"), _is_small),
    # scores may be larger than rows; differences of these stay finite
    **dict.fromkeys(("low", "quantiles"), _is_bounded),
    "factor": _is_not_negative,
    "radii": _is_not_negative,
    "isolation": _is_not_negative,
    "gradients": _is_not_negative,
    # descriptions: the density of a clump of copies is infinite
    **dict.fromkeys(DESCRIPTIONS, _is_no_nan),
    "bandwidth": _is_not_negative,
    "log_kernel_density": _is_finite,  # also of copies, whose bandwidth is 0
}
