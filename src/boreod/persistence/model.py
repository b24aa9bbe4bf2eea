"""Save a fitted detector to a model file, and load a detector that predicts and explains.

A file holds the columns in use, the heads, out-of-bag probabilities, prices, and a description of
the training table. The file holds the data for learning
again only if they are small, or were asked for.
"""

import json
import platform
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.assumptions import Quantiles
from boreod.ensemble.calibration import OutOfBag
from boreod.ensemble.fitted import Fitted
from boreod.ensemble.members import UNCHANGED
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.profile import LearnedRows, TrainingProfile
from boreod.ensemble.training import Lessons
from boreod.files import __version__, typed_json
from boreod.persistence.columns import StoredLessons, build_columns, describe_columns
from boreod.persistence.container import (
    TYPES,
    Arrays,
    ModelFileError,
    Tensor,
    by_owner,
    named,
    open_model_file,
    owned,
    write_model_file,
)
from boreod.persistence.manifest import (
    FORMAT,
    Manifest,
    StoredClasses,
    StoredSelection,
    StoredTable,
    check_values,
    expected_tensors,
    read_manifest,
    write_manifest,
)
from boreod.persistence.members import build_member, describe_member
from boreod.persistence.parameters import decode_known, decode_representation, encode, encode_all
from boreod.predictor import (
    PARAMETERS,
    Predictor,
    TrainingRecord,
    known_costs,
    lessons_of,
    price_of_rows,
    restore,
    set_lessons,
    set_prices,
    settings_of,
)
from boreod.representation.array_rows import ArrayRows, upper_floor
from boreod.representation.scaling import Scaler
from boreod.selection.budgets import BudgetCurve, Selection
from boreod.selection.costs import SECONDS, Costs
from boreod.text import first_clause, shorten
from boreod.validation import check_fitted

if TYPE_CHECKING:
    from boreod.detector import Detector

# If there are more prices than this, a file stays small by holding only prices of columns in use.
MOST_PRICES = 5000
# The data for learning again are stored if they take at most this share of the file.
MOST_LESSONS = 0.2
# Errors that a manifest may cause if it contradicts itself.
MISFITS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError,
           MemoryError)  # fmt: skip


def save(
    model: Predictor,
    path: str | PathLike[str],
    *,
    extra: dict[str, Any] | None = None,
    narrowable: bool | None = None,
) -> None:
    """Write a fitted detector to a file, see :meth:`boreod.Detector.save`."""
    if isinstance(model, Predictor) and not hasattr(model, "fit"):
        raise TypeError(
            "A predictor cannot be saved, because it does not hold the whole model. Copy its file, "
            "or use boreod.load instead of load_predictor."
        )
    if not isinstance(model, Predictor):
        raise TypeError(f"`model` must be a BORE or a Detector; got {shorten(model)}.")
    check_fitted(model)
    manifest, found = _describe(model, _read_extra(model, extra))
    lessons = None if narrowable is False else lessons_of(model)
    if narrowable and lessons is None:
        raise ModelFileError(
            "narrowable=True needs all columns of the fit, and this model has a budget, or was "
            "loaded from a file without them. Save the model that `fit` returned."
        )
    if lessons is not None:
        found |= named("lessons", vars(lessons))
        facts = StoredLessons(lessons.seeds, lessons.neighbors, len(lessons.others))
        manifest = replace(manifest, lessons=facts)
    try:
        # Writing and reading the manifest replaces NumPy scalars by Python numbers. So saving a
        # loaded model gives the same bytes.
        manifest = read_manifest(write_manifest(manifest))
        tensors = expected_tensors(manifest)
        arrays = {name: _as_stored(found, name, tensor) for name, tensor in tensors.items()}
        check_values(arrays, tensors, manifest)
    except ValueError as error:
        raise ModelFileError(f"The model cannot be saved, because {error}.") from None
    rest = {name: values for name, values in arrays.items() if not name.startswith("lessons.")}
    sizes = [sum(values.nbytes for values in part.values()) for part in (rest, arrays)]
    if narrowable is None and sizes[0] < (1.0 - MOST_LESSONS) * sizes[1]:
        manifest, arrays = replace(manifest, lessons=None), rest
    stored = {name: values for name, values in arrays.items() if values.size}
    write_model_file(Path(path), write_manifest(manifest), stored)


def _as_stored(found: Arrays, name: str, tensor: Tensor) -> NDArray:
    values = () if 0 in tensor.shape else found[name]
    return np.ascontiguousarray(values, TYPES[tensor.kind]).reshape(tensor.shape)


def _describe(model: Any, extra: dict[str, Any]) -> tuple[Manifest, Arrays]:
    """Return the manifest of a detector, and a dict of arrays and other attributes by name.

    Numbers in the manifest may be NumPy scalars.
    """
    fitted = model.fitted_
    representation, arrays = describe_columns(fitted.columns)
    members = []
    for owner, member in owned("members", fitted.members):
        stored, of_member = describe_member(member)
        arrays |= named(owner, of_member)
        members.append(stored)
    arrays |= _other_arrays(model)
    is_ranking = isinstance(fitted.correction, Quantiles)
    names = list(fitted.seen.columns)
    costs = _limit_prices(known_costs(model), model.columns_)
    labels = [encode("y", label) for label in model.classes_.tolist()]
    manifest = Manifest(
        format=FORMAT,
        versions=package_versions(),
        # Groups of parameters are stored with the values of the preset.
        parameters=encode_all(model.get_params(deep=False) | vars(settings_of(model))),
        feature_names=names,
        # Columns of a preparation have names, too.
        named=hasattr(model, "feature_names_in_") or names != [f"x{i}" for i in range(len(names))],
        columns=list(fitted.columns.names),
        input_scaling=fitted.input_scaler is not None,
        scaling=fitted.scaler.kind,
        quantiles=fitted.scaler.quantiles.shape[1],
        representation=representation,
        members=members,
        correction=UNCHANGED if is_ranking else fitted.correction,
        knots=len(fitted.correction.scores) if is_ranking else 0,
        classes=StoredClasses(model.classes_.dtype.name, labels),
        threshold=model.threshold_,
        costs=costs,
        selection=_describe_selection(model, costs),
        rows=len(model.oob_.labels),
        shares=model.oob_.shares,
        assumed=model.oob_.assumed,
        left_out=model.oob_.left_out,
        table=_describe_table(model),
        extra=extra,
        alone=None if costs is None or costs.call is not None else price_of_rows(model, 1),
        lessons=None,
    )
    return manifest, arrays


def _other_arrays(model: Predictor) -> Arrays:
    """Return a dict of a detector's arrays that belong to no column and no member."""
    fitted = model.fitted_
    arrays = named("scaler", vars(fitted.scaler)) | named("ranks", vars(fitted.correction))
    arrays |= named("seen", vars(fitted.seen) | vars(model.record_.learned_rows))
    arrays |= named("oob", vars(model.oob_)) | {"base": fitted.base}
    if fitted.input_scaler is not None:
        arrays |= named("input", vars(fitted.input_scaler))
    return arrays


def _read_extra(model: Predictor, extra: Any) -> dict[str, Any]:
    """Return ``extra`` after a check; if it is None, return the extra data of a loaded model."""
    if extra is None:
        return {} if model.stored_ is None else model.stored_.extra
    try:
        same = json.loads(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        same = None
    if not isinstance(extra, dict) or same != extra:
        raise ModelFileError(
            "`extra` must be a dict that JSON can hold (keys are texts; values are texts, finite "
            f"numbers, lists, dicts, True, False or None); got {shorten(extra)}."
        )
    return same


def _limit_prices(costs: Costs | None, columns: list[str]) -> Costs | None:
    """Return the prices of all columns or, if there are very many, of the columns in use."""
    if costs is None or len(costs.own) <= MOST_PRICES:
        return costs
    return costs.only([name for name in columns if name in costs.own])


def _describe_selection(model: Predictor, costs: Costs | None) -> StoredSelection | None:
    choice = model.selection_
    if choice is None:
        return None
    # Prices may have been measured again after the choice.
    then = _limit_prices(choice.costs, model.columns_)
    if choice.batch_size is not None and costs is not None and costs.call is not None:
        costs = costs.in_batches(choice.batch_size)
    return StoredSelection(
        columns=list(choice.columns),
        frequencies={n: share for n, share in choice.frequencies.items() if n in choice.columns},
        cost=choice.cost,
        budget=choice.budget,
        costs=None if then == costs else then,
        batch_size=choice.batch_size,
    )


def package_versions() -> dict[str, str]:
    """Return the installed versions of the packages that write a model file."""
    import sklearn

    return {
        "boreod": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _describe_table(model: Predictor) -> StoredTable:
    """Return the facts about a training table that a file stores."""
    preparation = model.preparation_
    is_plain = isinstance(preparation, ArrayRows)
    profile = model.record_.profile
    curve = model.record_.curve
    return StoredTable(
        is_named=preparation.is_named,
        middle=preparation.middle.tolist() if is_plain else None,
        preparation=None if is_plain else preparation.to_dict(),
        profile=None if profile is None else asdict(profile),
        source=model.record_.source,
        curve=None if curve is None else store_curve(curve),
    )


def store_curve(curve: BudgetCurve) -> dict[str, Any]:
    """Return a budget curve as its unit and lists; lists about trees may be None."""
    parts = {name: part for name, part in vars(curve).items() if name != "unit"}
    lists = {name: part if part is None else part.tolist() for name, part in parts.items()}
    return {"unit": curve.unit, **lists}


def load_predictor(
    path: str | PathLike[str], n_jobs: int | None = None, kind: Any = Predictor
) -> Any:
    """Read a predictor, which predicts and explains without scikit-learn, from a model file.

    This is faster than :func:`boreod.load`, which imports scikit-learn. Predictions are the same.
    ``kind`` is the class of the result. The file need not be trusted: nothing in it is executed.
    """
    path = Path(path)
    try:
        with open_model_file(path) as file:
            manifest = read_manifest(file.manifest)
            tensors = expected_tensors(manifest)
            arrays = file.read_arrays(tensors)
        check_values(arrays, tensors, manifest)
        model = _put_together(manifest, arrays, kind)
    except MISFITS as error:
        raise ModelFileError(
            f"The model file {str(path)!r} cannot be used: "
            f"{first_clause(error) or 'there is not enough memory'}."
        ) from None
    model.verbose = False
    if n_jobs is not None:
        model.n_jobs = n_jobs
    return model


def load(path: str | PathLike[str], n_jobs: int | None = None) -> "Detector":
    """Read a detector from a model file, which need not be trusted.

    The detector predicts and explains as it did before it was saved, and chooses thresholds.
    Methods that need the bags (such as ``within`` and ``budget_curve``) raise an error, unless the
    file holds the columns of the training rows, see :meth:`boreod.Detector.save`. ``stored_``
    holds the metadata of the file. A BORE comes back as a Detector with the same parameters.
    ``n_jobs`` is the number of threads. If it is None, the number of threads of the fit is used.
    """
    from boreod.detector import Detector

    return load_predictor(path, n_jobs, Detector)


@dataclass(frozen=True)
class Stored:
    """Metadata of a model file: ``model.stored_`` of a loaded model.

    ``versions`` are the versions of the packages that wrote the file. ``extra`` is the user's data.
    """

    format: int
    versions: dict[str, str]
    extra: dict[str, Any] = field(repr=False)


def _put_together(manifest: Manifest, arrays: Arrays, kind: Any) -> Any:
    """Return a fitted detector without the bags and columns of its training rows."""
    parameters = dict(manifest.parameters)
    given = parameters.get("representation")
    if not hasattr(kind, "fit") and isinstance(given, dict) and list(given) == ["representation"]:
        # The representation is a scikit-learn estimator that only a fit needs. So its parameters
        # are checked, but it is not built.
        decode_representation(parameters.pop("representation")["representation"])
    labels = arrays["oob.labels"].astype(np.int64)
    model = kind(**decode_known(parameters, PARAMETERS, kind.__name__))
    oob = OutOfBag(
        arrays["oob.probabilities"], labels, manifest.shares, manifest.assumed, manifest.left_out
    )
    restore(
        model,
        _fitted(manifest, arrays, labels),
        oob,
        manifest.threshold,
        _restore_preparation(manifest.table, manifest.feature_names),
        _restore_record(manifest, arrays),
        _selection(manifest),
        Stored(manifest.format, manifest.versions, manifest.extra),
    )
    set_prices(model, manifest.costs, manifest.alone)
    if manifest.lessons is not None:
        lessons = manifest.lessons
        stored = by_owner(arrays)["lessons"]
        set_lessons(model, Lessons(lessons.seeds, lessons.neighbors, **stored))
    return model


def _fitted(manifest: Manifest, arrays: Arrays, labels: NDArray) -> Fitted:
    owners = by_owner(arrays)
    stored = owned("members", manifest.members)
    members = [build_member(member, owners[owner], owner) for owner, member in stored]
    names = manifest.feature_names
    seen = owners["seen"]
    # If no view measures isolation, the file does not hold it.
    isolation = seen["isolation"] if seen["isolation"].size else None
    return Fitted(
        Scaler("minmax", **owners["input"]) if manifest.input_scaling else None,
        build_columns(manifest.columns, names, manifest.representation, owners),
        Scaler(manifest.scaling, **owners["scaler"]),
        members,
        arrays["base"],
        Quantiles(**owners["ranks"]) if manifest.knots else manifest.correction,
        np.array(manifest.classes.values, dtype=manifest.classes.kind),
        SeenRows(names, seen["low"], seen["high"], isolation, labels, manifest.input_scaling),
    )


def _selection(manifest: Manifest) -> Selection | None:
    choice = manifest.selection
    if choice is None:
        return None
    then = choice.prices(manifest.costs)
    assert then is not None
    trees = manifest.tree_counts
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


def _restore_record(manifest: Manifest, arrays: Arrays) -> TrainingRecord:
    stored = manifest.table
    profile = None
    if stored.profile is not None:
        profile = TrainingProfile.from_dict(stored.profile, len(manifest.feature_names))
    curve = None if stored.curve is None else _restore_curve(stored.curve)
    return TrainingRecord(profile, LearnedRows(arrays["seen.hashes"]), stored.source, curve)


def _restore_curve(stored: dict[str, Any]) -> BudgetCurve:
    where = "manifest.table.curve"
    unit: Any = stored.get("unit")
    given = {name: part for name, part in stored.items() if name != "unit"}
    lists = typed_json(dict[str, list[float] | None], given, where)
    # `np.array` keeps counts as whole numbers.
    series = {name: np.array(given[name]) for name, part in lists.items() if part is not None}
    names = {field.name for field in fields(BudgetCurve)} - {"unit"}
    sizes = {len(values) for values in series.values()}
    conditions = (
        set(lists) == names,
        set(series) in (names, names - {"n_trees", "tree_costs"}),
        len(sizes) == 1 and 0 not in sizes,
        all(((values >= 0) & (values < 1e300)).all() for values in series.values()),
        all(series[name].dtype.kind == "i" for name in series if name.startswith("n_")),
        unit in ("", SECONDS),
    )
    if not all(conditions):
        raise ModelFileError(f"{where} does not fit the rest")
    return BudgetCurve(**series, unit=unit)


def _restore_preparation(stored: StoredTable, names: list[str]) -> Any:
    """Return the preparation, which makes the columns ``names``."""
    if stored.middle is not None:
        return ArrayRows(names, np.array(stored.middle), stored.is_named)
    preparation = upper_floor("tables.rows").TableRows.from_dict(stored.preparation)
    if preparation.names_ != names:
        raise ModelFileError("its preparation does not make the columns that its detector takes")
    # The columns of an array are called x0, x1 and so on; some of them may have been left out.
    are_numbered = all(n[:1] == "x" and n[1:].isdecimal() for n in preparation.inputs_)
    if not (stored.is_named or are_numbered):
        raise ModelFileError("it does not say whether its columns had names")
    preparation.is_named = stored.is_named
    return preparation
