"""Model files of detectors with their preparation: written, read, and told what is in them.

``boreod.persistence`` does most of it. What this package adds to a file is one section of plain
JSON, checked like everything else in it.
"""

import os
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boreod.ensemble.profile import TrainingProfile
from boreod.persistence import ModelFileError, load_model
from boreod.persistence.manifest import FORMAT
from boreod.predictor import Predictor
from boreod.representation.array_rows import PlainColumns
from boreod.selection.budgets import BudgetCurve, read_budget
from boreod.selection.costs import SECONDS
from boreod.tool.scoring.table_predictor import TablePredictor
from boreod.tool.words import list_heads, name_method, tell_assumptions
from boreod.validation import LARGEST

if TYPE_CHECKING:  # estimators need scikit-learn
    from boreod.tool.scoring.model import Detector

SECTION = "boreod"  # of the free part of a model file
CURVE = ("budgets", "costs", "n_columns", "auc", "average_precision")
CURVE_OF_TREES = ("n_trees", "tree_costs")  # of detectors with tree heads


def save(model: Any, path: str | PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
    """Write a fitted :class:`boreod.Detector` or :class:`boreod.BORE` to a file.

    The file holds what predictions and explanations need: how columns become numbers, reference
    rows, statistics of the columns in use, coefficients and trees; and for thresholds the
    out-of-bag probability, the label and a hash of every training row. Bags stay behind. The same
    model gives the same bytes, and a file that is there already is replaced only when the new one
    is complete.

    Parameters
    ----------
    model
        What was fitted.
    path
        Name of the file, by custom with the ending ``.boreod``.
    extra
        Anything that JSON can hold, for your own use; ``load(path).stored_.extra`` gives it back.
        None keeps that of a loaded model.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import boreod
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.repeat([0, 1], [90, 10])
    >>> few = boreod.OutlierRepresentation(["knn"], [5])
    >>> model = boreod.BORE(few, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     boreod.save(model, f"{folder}/a.boreod", extra={"table": "payments"})
    ...     again = boreod.load(f"{folder}/a.boreod")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all()), again.stored_.extra
    (True, {'table': 'payments'})
    """
    from boreod.persistence import save_model

    if isinstance(model, TablePredictor) and not hasattr(model, "fit"):
        raise TypeError(
            "A predictor cannot be saved, as it is not all of a model. Copy its file, or take "
            "boreod.load in the place of load_predictor."
        )
    if getattr(model, "preparation_", None) is None:
        save_model(model, path, extra=extra)
        return
    if extra is None:
        extra = {} if model.stored_ is None else model.stored_.extra
    if isinstance(extra, dict) and SECTION in extra:
        raise ModelFileError(f"`extra` must not have the key {SECTION!r}, which is taken.")
    section = _section(model)
    if isinstance(extra, dict) and section:
        extra = {**extra, SECTION: section}
    save_model(model, path, extra=extra)


def load(path: str | PathLike[str], n_jobs: int | None = None) -> "Detector":
    """Read a detector from a model file, whoever wrote it: it need not be trusted.

    It predicts and explains as it did before it was saved, and chooses thresholds. What needs the
    bags (``within``, ``budget_curve``) is not there and says so; ``stored_`` tells what the file
    says of itself. A BORE comes back as a Detector with its parameters.

    Parameters
    ----------
    path
        Name of the file.
    n_jobs
        Number of threads, None for that of the fit.
    """
    from boreod.tool.scoring.model import Detector

    model = load_predictor(path, n_jobs, Detector)
    assert isinstance(model, Detector)
    return model


def load_predictor(
    path: str | PathLike[str],
    n_jobs: int | None = None,
    kind: type[TablePredictor] = TablePredictor,
) -> TablePredictor:
    """Read from a model file what predicts and explains, and is no scikit-learn estimator.

    It is there sooner than what :func:`load` gives back, which takes its time to import
    scikit-learn, and says the same of every row. ``path`` and ``n_jobs`` are as in :func:`load`.
    """
    model: TablePredictor = load_model(path, kind)
    model.verbose = False
    if n_jobs is not None:
        model.n_jobs = n_jobs
    try:
        _read_section(model)
    except ValueError as error:
        reason = str(error).partition(". ")[0].rstrip(".")
        reason = reason[0].lower() + reason[1:]
        raise ModelFileError(
            f"The model file {os.fspath(path)!r} cannot be used: {reason}."
        ) from None
    return model


def describe(model: TablePredictor) -> dict[str, Any]:
    """Return what is to be known of a model as plain data, ready for JSON.

    Prices of columns are None if nobody asked for them in the fit.
    """
    preparation, oob = model.preparation_, model.oob_proba_
    stored, costs, seen = model.stored_, model.known_costs, model.fitted_.seen
    choice = model.selection_
    novelty = None
    if model.fitted_.searches:  # distances to the 10th reference row
        novelty = {"usual_distance": seen.usual, "novel_beyond": seen.limit}
    return {
        "format": FORMAT if stored is None else stored.format,
        "versions": _versions_of(model),
        "method": name_method(model),
        "heads": [head._asdict() for head in list_heads(model)],
        "assumptions": tell_assumptions(model),
        "source": model.source_,
        "label": preparation.label_,
        "ids": list(model.ids_),
        "training": asdict(model.oob_.summarize()),
        "preparation": [row._asdict() for row in preparation.summary_],
        "notes": list(preparation.notes_),
        "columns": _columns(model),
        "unit": "" if costs is None else costs.unit,
        "cost": model.cost_,
        "budget": model.budget,
        "batch_size": None if choice is None else choice.batch_size,
        "price": _prices(model),
        "trees": _trees(model),
        "costs": _name_costs(model),
        "prices": None if costs is None else asdict(costs),
        "threshold": float(model.threshold_),
        "threshold_rule": model.threshold,
        "training_rows_above": int(np.sum(oob[np.isfinite(oob)] > model.threshold_)),
        "novelty": novelty,
        "budget_curve": _curve_to_dict(model.curve_),
        "cheapest_budget": None if model.curve_ is None else model.curve_.cheapest(),
    }


def _versions_of(model: TablePredictor) -> dict[str, str]:
    """Return the versions that wrote a model, or would write it now."""
    if model.stored_ is not None:
        return dict(model.stored_.versions)
    from boreod.persistence.saving import package_versions

    return package_versions()


def _section(model: TablePredictor) -> dict[str, Any]:
    """Return what a model file is to hold beside the detector of numbers."""
    own = model.preparation_
    profile = None if model.profile_ is None else model.profile_.to_dict()
    if isinstance(own, PlainColumns):
        return {} if own.middle is None else {"middle": own.middle.tolist(), "profile": profile}
    return {
        "profile": profile,
        "preparation": own.to_dict(),
        "named": model.is_named,
        "budget_curve": _curve_to_dict(model.curve_),
        "source": model.source_,
    }


def _read_section(model: TablePredictor) -> None:
    """Take preparation, source and curve from the free part of a model file, or refuse them."""
    extra = dict(model.stored_.extra)
    section = extra.pop(SECTION, {})
    model.stored_ = replace(model.stored_, extra=extra)
    names, named = list(model.fitted_.seen.columns), model.is_named
    if not isinstance(section, dict):
        raise ModelFileError("what it says of its table is none")
    stored = section.pop("profile", None)
    profile = None if stored is None else TrainingProfile.from_dict(stored, len(names))
    if "preparation" not in section:
        plain = PlainColumns(names, _read_middle(section, len(names)))
        model.adopt(plain, named, profile=profile)
        return
    from boreod.tables import Preparation

    preparation = Preparation.from_dict(section["preparation"])
    if preparation.names_ != names:
        raise ModelFileError("its preparation makes other columns than its detector takes")
    source, told = section.get("source"), section.get("named")
    if not isinstance(told, bool) or not (told or _are_numbered(preparation.inputs_)):
        raise ModelFileError("it does not tell whether its columns had names")
    if source is not None and not (isinstance(source, str) and source == Path(source).name):
        raise ModelFileError("the name of its training table is none")
    curve = _curve_from_dict(section.get("budget_curve"))
    model.adopt(preparation, told, source, curve, profile=profile)


def _are_numbered(names: list[str]) -> bool:
    """Tell whether names are x0, x3 and so on: those of an array, of which some may be left out."""
    return all(name[:1] == "x" and name[1:].isdecimal() for name in names)


def _read_middle(section: dict[str, Any], n_columns: int) -> Any:
    """Return the medians of plain columns, None for those of a BORE."""
    if not section:
        return None
    middle = section.get("middle")
    if not isinstance(middle, list) or len(middle) != n_columns or set(section) != {"middle"}:
        raise ModelFileError("the medians of its columns are none")
    if not all(type(value) is float and abs(value) <= LARGEST for value in middle):
        raise ModelFileError("a median of its columns is no number")
    return np.array(middle)


def _prices(detector: Predictor) -> dict[str, float] | None:
    """Return seconds per row, in large batches and of one that comes alone; None if not known."""
    many, one = detector.price_of_rows(), detector.price_of_rows(batch_size=1)
    return None if many is None or one is None else {"in_batches": many, "alone": one}


def _trees(detector: Predictor) -> dict[str, Any] | None:
    """Return how many trees of every bag a budget bought, by head, and for how much."""
    choice = detector.selection_
    if choice is None or not choice.trees:
        return None
    return {"of_every_bag": dict(choice.trees), "cost": choice.cost_of_trees}


def _name_costs(detector: Predictor) -> str:
    if detector.costs is not None:
        return detector.costs if isinstance(detector.costs, str) else "declared"
    in_seconds = detector.budget is None or read_budget(detector.budget)[1] == SECONDS
    return "measured:shared" if in_seconds else "complexity:additive"


def _columns(detector: Predictor) -> list[dict[str, Any]]:
    """Return the columns in use, the most stable first, with what each adds to the cost."""
    costs, names, choice = detector.known_costs, detector.columns_, detector.selection_
    order, stability = (names, {}) if choice is None else (choice.columns, choice.frequencies)
    added: dict[str, float] = {}
    if costs is not None:
        priced = [name for name in names if name in costs.own]
        added = {
            name: costs.marginal(name, [other for other in priced if other != name])
            for name in priced
        }
    return [
        {"name": name, "cost": added.get(name), "stability": stability.get(name)} for name in order
    ]


def _curve_to_dict(curve: BudgetCurve | None) -> dict[str, Any] | None:
    """Return a budget curve as words and lists of numbers."""
    if curve is None:
        return None
    names = CURVE if curve.n_trees is None else (*CURVE, *CURVE_OF_TREES)
    return {"unit": curve.unit, **{name: getattr(curve, name).tolist() for name in names}}


def _curve_from_dict(data: Any) -> BudgetCurve | None:
    """Return a curve from what may be anything, or refuse it."""
    if data is None:
        return None
    names: tuple[str, ...] = CURVE
    if isinstance(data, dict) and set(CURVE_OF_TREES) <= set(data):
        names = (*CURVE, *CURVE_OF_TREES)
    if isinstance(data, dict) and set(data) == {"unit", *names} and data["unit"] in ("", SECONDS):
        series = [data[name] for name in names]
        lengths = {len(values) if isinstance(values, list) else 0 for values in series}
        amounts = (value for values in series if isinstance(values, list) for value in values)
        if len(lengths) == 1 and lengths != {0} and all(map(_is_amount, amounts)):
            return BudgetCurve(**{name: np.array(data[name]) for name in names}, unit=data["unit"])
    raise ModelFileError("its budget curve is none")


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e300  # nan is neither
