"""Reading of training rows from the arguments of ``fit``: numbers, labels and a preparation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boreod.ensemble.bags import Shares, draw_reference
from boreod.ensemble.parameters import AUTO, Settings
from boreod.parallel import Progress, for_collections, is_collection
from boreod.representation.array_rows import ArrayRows, is_table, upper_floor
from boreod.representation.memory import available_memory, check_reading
from boreod.text import suggest
from boreod.validation import OUTLIER, read_labels, read_rows, read_untidy_array


@dataclass
class TrainingRows:
    """Training rows as numbers, their labels, and the preparation that computed the numbers.

    Attributes
    ----------
    rows, later
        The rows to learn from, and the same rows as a prediction would prepare them.
    codes
        1 for outliers, 0 for inliers, -1 for unlabelled rows.
    classes
        The two labels, inlier first.
    shares
        The shares of inliers and unlabelled rows of a larger table that were drawn.
    positions
        Positions of the rows in the user's table, from 0.
    preparation
        The preparation that turned the table into numbers.
    table
        The rows as the user passed them, for a report.
    source
        Name of the file, without its folder. None if the table is not a file.
    name_of
        Function that returns the user's name of the row at a place. None for an array.
    warn_of_copies
        Function that warns if too many rows are copies; its arguments are the number of copies and
        the number of rows. None if the table is an array.
    """

    rows: NDArray
    later: NDArray
    codes: NDArray
    classes: NDArray
    shares: Shares
    positions: NDArray
    preparation: Any
    table: Any
    source: str | None = None
    name_of: Callable[[int], str] | None = None
    warn_of_copies: Callable[[int, int], None] | None = None


def read_training_rows(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    asked: dict[str, Any],
    settings: Settings,
    seed: int,
    numeric_frames_as_they_are: bool,
) -> TrainingRows:
    """Return all rows of a table, or a sample of them, with their labels and the preparation.

    ``asked`` holds the options of ``fit`` for frames and files. ``seed`` is the seed of the sample.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    if is_table(X, numeric_frames_as_they_are and not given):
        return _read_table(model, X, y, asked, settings, seed)
    for name in given:
        raise TypeError(
            f"`{name}` is an option for frames and files, whose columns have names; X is a "
            f"{type(X).__name__}. Pass a frame, or pass labels as y."
        )
    untidy = read_untidy_array(X)
    if untidy is not None:
        return _read_table(model, untidy, y, asked, settings, seed)
    return _read_numbers(model, X, y, settings, seed)


def _read_numbers(
    model: Any, X: Any, y: ArrayLike | None, settings: Settings, seed: int
) -> TrainingRows:
    """Return rows and labels of a table of numbers, which may be a Dask collection."""
    is_lazy = is_collection(X)
    rows: Any = X if is_lazy else read_rows(model, X, fitting=True)
    sizes = for_collections().count_rows(X) if is_lazy else [len(rows)]
    n_rows = sum(sizes)
    labels = for_collections().gather_rows(y) if is_collection(y) else y
    codes, classes = read_labels(labels, n_rows, model.outlier_label, settings.assumes_inliers)
    reference = settings.reference
    chosen, shares = draw_reference(codes, settings.n_learned, reference.sampling, seed)
    positions = np.arange(n_rows) if chosen is None else chosen
    if is_lazy:
        check_reading(len(positions), 8 * len(positions) * X.shape[1], available_memory())
        rows = read_rows(model, for_collections().gather_rows(X, chosen, sizes), fitting=True)
    elif chosen is not None:
        rows = rows[chosen]
    numbered = [f"x{place}" for place in range(rows.shape[1])]
    names = [str(name) for name in getattr(model, "feature_names_in_", numbered)]
    preparation = ArrayRows.fit(rows, names, hasattr(model, "feature_names_in_"))
    codes = codes[positions]
    return TrainingRows(rows, rows, codes, classes, shares, positions, preparation, table=rows)


def _read_table(
    model: Any, X: Any, y: Any, asked: dict[str, Any], settings: Settings, seed: int
) -> TrainingRows:
    """Return the rows of a frame or a file, read and prepared by :mod:`boreod.tables`."""
    floor = upper_floor("tables.training")
    reference = settings.reference
    drawn: list[Shares] = []

    def sample(codes: NDArray) -> NDArray | None:
        rows, shares = draw_reference(codes, settings.n_learned, reference.sampling, seed)
        drawn.append(shares)
        return rows

    options = dict(asked["reading"] or {})
    roles = floor.Roles(
        **{name: asked[name] for name in ("label", "ids", "drop", "keep", "labels")},
        since=options.pop("since", None),
        inlier_label=options.pop("inlier_label", None),
    )
    wishes = floor.Wishes(
        assume=settings.assumes_inliers,
        outlier_label=model.outlier_label,
        sample=None if settings.n_learned is None else sample,
        check_memory=partial(check_reading, available=available_memory()),
        progress=partial(Progress, total=None, wanted=model.verbose),
        collections=for_collections() if is_collection(X) or is_collection(y) else None,
    )
    found = floor.read_training_rows(X, y, roles, wishes, options)
    preparation, matrix, later = floor.prepare_training(
        found, roles, wishes, options.get("decimal")
    )
    preparation.is_named = not isinstance(X, np.ndarray)
    rows = read_rows(model, matrix, fitting=True, names=preparation.names_)
    return TrainingRows(
        rows,
        rows if later is matrix else later,
        found.codes,
        found.classes,
        drawn[0] if drawn else Shares(found.n_all),
        found.positions,
        preparation,
        found.table,
        source=floor.name_source(fspath(X)) if isinstance(X, str | PathLike) else None,
        name_of=partial(found.name, ids=preparation.ids_),
        warn_of_copies=floor.warn_of_copies,
    )


def representation_for(model: Any, found: TrainingRows, settings: Settings, seed: int) -> Any:
    """Return the representation to fit, given the parameters of a detector."""
    from boreod.representation.transformer import make_representation

    n_outliers = int((found.codes == OUTLIER).sum())
    n_reference = len(found.rows)
    if not settings.reference.outliers:
        n_reference -= n_outliers
    made = make_representation(
        model.representation,
        n_reference,
        model.budget is not None,
        seed,
        taught=n_outliers > 0,
        in_part=settings.reference.size == AUTO,
    )
    made.set_params(n_jobs=model.n_jobs, verbose=model.verbose)
    if settings.reference.neighbors != "auto":
        made.set_params(neighbors=settings.reference.neighbors)
    return made


def refuse_options(model: Any, unsupported: dict[str, Any]) -> None:
    """Raise for arguments that ``fit`` does not know, or that only other classifiers accept."""
    for name in unsupported:
        known = [n for n in signature(model.fit).parameters if n != "unsupported"]
        why = suggest(name, known, "parameters")
        if name == "sample_weight":
            why = "Rows have no weights in a neighbor graph. Leave `sample_weight` out."
        raise TypeError(f"{type(model).__name__}.fit does not take {name}. {why}")
