"""From a training table to a detector with everything that scoring will need.

A table that is larger than memory is read twice: labels first and alone, one byte a row, which tell
the rows that are wanted; then these. They are the same as if the table had been read at once.
"""

import os
import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.bore import BORE, find_method
from boreod.detector import OutlierDetector
from boreod.ensemble.bags import Shares
from boreod.neighbors.known_rows import distinct_rows
from boreod.parallel import Progress
from boreod.parallel.dask_tables import count_rows, gather_rows, is_collection
from boreod.representation.array_rows import names_of, take_columns
from boreod.representation.memory import available_memory, check_reading
from boreod.tables import Preparation, TableError, as_arrow, open_table, read_label_column
from boreod.tables.arrow import Names, pa, pc
from boreod.tables.bad_cells import ROWS, row_numbers
from boreod.tables.preparing.since import add_to_table
from boreod.tables.reader import settle_labels
from boreod.tables.reading.blocks import Options
from boreod.tables.reading.locations import BETWEEN, STANDARD, can_read_again, show_place
from boreod.text import count_of, listed, shorten, suggest
from boreod.tool.scoring.model import Detector
from boreod.validation import INLIER, OUTLIER, UNLABELLED, read_labels

MANY_COPIES = 0.05  # share of rows
MAX_LABELS = 10_000  # different ones; an id column is not labels


class TrainingRows(NamedTuple):
    """The rows that a detector wants: their codes, where they are, and which part of a table."""

    table: Any
    codes: NDArray
    classes: NDArray
    rows: NDArray | None  # None for all
    shares: Shares
    numbers: NDArray | None = None  # of the rows in their file, from 1; None if all were read

    @property
    def positions(self) -> NDArray:
        """Where the rows are in the table of the user, from 0."""
        if self.numbers is not None:
            return self.numbers - 1
        return np.arange(len(self.codes)) if self.rows is None else self.rows


def fit_table(
    source: Any,
    *,
    label: str | None = None,
    method: str = "detector",
    ids: Names | None = None,
    drop: Names | None = None,
    keep: Names | None = None,
    since: Names | None = None,
    labels: Any = None,
    inlier_label: Any = None,
    name: str | None = None,
    curve: bool = False,
    reading: dict[str, Any] | None = None,
    **parameters: Any,
) -> Detector:
    """Return a detector that is fitted to a file, as ``boreod fit`` does.

    Parameters
    ----------
    source
        A file name; also a frame.
    label, ids, drop, keep, since, labels, inlier_label, reading
        As in :meth:`boreod.Detector.fit`.
    method
        ``"detector"``, or ``"bore"`` for the parameters of :class:`boreod.BORE`.
    name
        Of the table, to be remembered; None for the file name.
    curve
        Trace what budgets would buy. Without trees that is quick, and done with a ``budget`` too.
    **parameters
        Of the detector, such as ``budget``, ``threshold``, ``prior`` and ``reference_size``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> random = np.random.default_rng(0)
    >>> fraud = np.arange(100) < 10
    >>> table = pa.table({"amount": random.normal(3 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> options = {"method": "bore", "representation": few, "random_state": 0}
    >>> fit_table(table, label="fraud", **options).columns_
    ['amount', 'knn_5']
    """
    if find_method(method) is BORE:
        parameters = {**BORE().get_params(deep=False), **parameters}
    detector = Detector(**parameters)
    roles: dict[str, Any] = {"ids": ids, "drop": drop, "keep": keep, "since": since}
    roles |= {"labels": labels, "inlier_label": inlier_label}
    detector.fit(source, label=label, reading=reading, **roles)
    # prices are taken when they are read first, and known ones are saved with the model
    costs = detector.costs_ if curve or detector.budget is not None else None
    if costs is not None and (curve or not costs.trees):  # with trees a curve is many fits
        outliers, _ = detector.oob_.judged()
        if 0 < outliers.sum() < len(outliers):
            detector.curve_ = detector.budget_curve()
        elif curve:
            warnings.warn(
                "There is no budget curve: it needs labelled outliers and inliers with out-of-bag "
                "scores.",
                UserWarning,
                stacklevel=2,
            )
    detector.source_ = name_source(name) if name else detector.source_
    # what is shown now is not to be shown at every scoring
    return detector.set_params(verbose=False)


def read_training_rows(
    source: Any,
    detector: OutlierDetector,
    y: Any,
    label: str | None,
    seeds: list[int],
    reading: dict[str, Any] | None,
) -> TrainingRows:
    """Return the rows that a detector wants of a table, with labels from a column, or apart.

    A file is opened once; twice if ``reference_size`` asks for a sample.
    """
    assume, outlier_label = detector.inliers == "assumed", detector.outlier_label
    path = os.fspath(source) if isinstance(source, str | PathLike) else None
    options, verbose = reading or {}, detector.verbose
    again = path is not None and can_read_again(path)
    classes = np.array([INLIER, OUTLIER])
    if path is not None and again and detector.reference_size is not None:
        codes = _read_codes(path, label, outlier_label, assume, options, verbose)
        rows, shares = detector.draw_reference(codes, seeds)
        table, numbers = _read_rows(path, rows, len(codes), options, verbose)
        codes = codes if rows is None else codes[rows]
        return TrainingRows(table, codes, classes, rows, shares, numbers)
    numbers = None
    if path is not None:  # a pipe cannot be read twice
        table, numbers = _read_rows(path, None, None, options, verbose)
        _check_label(label, table.column_names)
    else:
        table = _read_frame(source, label, options)
    sizes = count_rows(table) if is_collection(table) else [table.num_rows]
    if not sum(sizes):
        raise TableError("The table has no rows to learn from.")
    if label is not None:
        cells = gather_rows(table[label]) if is_collection(table) else table[label]
        codes = read_label_column(cells, outlier_label, name=label, assume=assume)
    else:
        labels = gather_rows(y) if is_collection(y) else y
        codes, classes = read_labels(labels, sum(sizes), outlier_label, assume)
    rows, shares = detector.draw_reference(codes, seeds)
    if is_collection(table):
        table = _to_arrow(gather_rows(table, rows, sizes))
    elif rows is not None:
        table = table.take(pa.array(rows))
    if rows is None:
        return TrainingRows(table, codes, classes, rows, shares, numbers)
    numbers = None if numbers is None else numbers[rows]
    return TrainingRows(table, codes[rows], classes, rows, shares, numbers)


def _check_label(label: str | None, known: list[str]) -> None:
    if label is not None and label not in known:
        raise TableError(f"There is no column {shorten(label)} of labels. {suggest(label, known)}")


def _read_frame(frame: Any, label: str | None, options: dict[str, Any]) -> Any:
    """Return the columns of a frame that are wanted, as Arrow, with what is to be added to them."""
    since, told = options.get("since", ()), options.get("labels")
    if is_collection(frame) and (since or told):
        raise TableError(
            "The time since the last row of an id (`since`) and labels of a second table "
            "(`labels`, `inlier_label`) need a whole table, and the rows of a Dask collection come "
            "in parts. Pass X.compute(), sorted by time."
        )
    known = names_of(frame)
    if known:  # else an array, or no table
        _check_label(None if told else label, known)
        optional = () if told is None else (told.label,)
        wanted = Options(
            columns=options.get("columns"), drop=options.get("drop", ()), optional=optional
        )
        places = wanted.chosen(known, "the table")
        if is_collection(frame):
            return frame[[frame.columns[place] for place in places]]
        frame = take_columns(frame, places)
    if is_collection(frame):
        return frame
    return settle_labels(add_to_table(_to_arrow(frame), since), told)


def read_only(
    reading: dict[str, Any] | None,
    label: str | None,
    ids: Names = (),
    drop: Names = (),
    keep: Names | None = None,
) -> dict[str, Any]:
    """Return options of ``open_table`` that leave out what is not wanted, before it is parsed.

    Labels and ids are read as they are written.
    """
    wanted = tuple(() if label is None else (label,)) + _listed(ids)
    for name in set(wanted) & set(_listed(drop)):
        raise TableError(
            f"A column can have one role; {shorten(name)} is named in both `drop` (--drop) and "
            "`label` or `ids` (--label, --id). Take it out of one."
        )
    given = dict(reading or {})
    if given.get("columns") is not None or given.get("drop"):
        raise TableError(
            "Which columns are learned from is not said in `reading`: take `columns` and `drop` "
            "out of it, and name them as `keep` (--keep) or `drop` (--drop)."
        )
    parts = (part.strip() for name in wanted for part in name.split(","))
    as_text = dict.fromkeys((*wanted, *parts), "text")
    columns = None if keep is None or given.get("since") else (*wanted, *_listed(keep))
    types = {**as_text, **given.get("types", {})}
    chosen = {"columns": columns, "drop": _listed(drop), "computed": None}
    return {**given, "types": types, **chosen}


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def prepare_training(
    found: TrainingRows,
    detector: OutlierDetector,
    label: str | None,
    ids: Names,
    drop: Names,
    keep: Names | None,
    reading: dict[str, Any] | None = None,
) -> tuple[Preparation, NDArray]:
    """Return what makes numbers of the columns, and what it makes of the training rows."""
    assume, preparation = detector.inliers == "assumed", Preparation()
    if label is not None:
        _check_labels(found.codes, label, assume)
    matrix = preparation.fit_transform(
        found.table,
        found.codes,
        label=label,
        ids=ids,
        drop=drop,
        keep=keep,
        decimal=(reading or {}).get("decimal"),
        assume=assume,
    )
    _warn_of_copies(preparation, found.table, matrix)
    return preparation, matrix


def name_rows(found: TrainingRows, ids: tuple[str, ...]) -> Callable[[int], str]:
    """Return a function that says what users call the training row at a place."""

    def name(place: int) -> str:
        if ids:
            return ", ".join(str(found.table[column][place].as_py()) for column in ids)
        return f"row {positions[place] + 1}"

    positions = found.positions
    return name


def name_source(path: str) -> str:
    """Return what a model remembers of where its table was: no folders, and no secrets.

    Examples
    --------
    >>> name_source("s3://key:secret@bucket/payments?region=eu"), name_source("-")
    ('payments', 'standard input')
    """
    if path == STANDARD:
        return "standard input"
    first, *more = path.split(BETWEEN)
    name = Path(show_place(first)).name
    return f"{name} and {len(more)} more" if more else name


def _read_codes(
    path: str,
    label: str | None,
    outlier_label: Any,
    assume: bool,
    reading: dict[str, Any],
    verbose: bool,
) -> NDArray:
    """Return the codes of all rows; distinct labels are few, so their numbers are remembered."""
    if label is None:
        with open_table(path, **reading) as reader:
            return np.full(sum(batch.num_rows for batch in reader), UNLABELLED)
    known: dict[Any, int] = {}
    numbers: list[NDArray] = []
    alone = {**reading, "columns": [label], "drop": ()}
    if reading.get("bad_cells") == "drop":
        alone = reading  # which rows are left out, all columns tell
    with (
        open_table(path, **alone) as reader,
        Progress("reading labels", None, verbose) as progress,
    ):
        kind = reader.schema.field(label).type
        for batch in reader:
            encoded = pc.dictionary_encode(batch.column(label), null_encoding="encode")
            new = [known.setdefault(v, len(known)) for v in encoded.dictionary.to_pylist()]
            if len(known) > MAX_LABELS:
                raise TableError(
                    f"Column {shorten(label)} holds more than {MAX_LABELS} different values, "
                    "which cannot be labels. Name the column of labels (--label)."
                )
            small = np.uint8 if len(known) <= 256 else np.uint16
            numbers.append(np.array(new, small)[encoded.indices.to_numpy()])
            progress.advance()
    values = pa.array(list(known), kind)
    codes = read_label_column(values, outlier_label, name=label, assume=assume)
    return np.concatenate([codes.astype(np.int8)[some] for some in numbers])


def _read_rows(
    path: str,
    positions: NDArray | None,
    expected: int | None,
    reading: dict[str, Any],
    verbose: bool,
) -> tuple[Any, NDArray | None]:
    """Return rows of a table by ascending positions, None for all.

    If rows were left out, the numbers of the others in the file come with them. It stops as
    soon as it is seen that they do not fit into memory.
    """
    available, seen, kept_rows, kept_bytes, kept = available_memory(), 0, 0, 0, []
    numbers: list[NDArray] = []
    with (
        open_table(path, **reading) as reader,
        Progress("reading", None, verbose) as progress,
    ):
        for batch in reader:
            found = batch
            if ROWS in (batch.schema.metadata or {}):
                numbers.append(row_numbers(batch, seen + 1))
            if positions is not None:
                first, last = np.searchsorted(positions, [seen, seen + batch.num_rows])
                found = batch.take(pa.array(positions[first:last] - seen))
            kept.append(found)
            kept_rows, kept_bytes = kept_rows + found.num_rows, kept_bytes + found.nbytes
            check_reading(kept_rows, kept_bytes, available)
            seen += batch.num_rows
            progress.advance()
        schema = reader.schema
    if not seen:
        raise TableError(
            f"{show_place(path)} has columns but no rows: {listed(schema.names, 3)}. A table needs "
            "rows; if these are no names, say what the file is: `format` (--format)."
        )
    if expected is not None and seen != expected:
        raise TableError(
            f"{path} had {expected} rows when its labels were read and has {seen} now. Fit again "
            "when nobody writes to it."
        )
    table = pa.Table.from_batches(kept, schema=schema)
    told = np.concatenate(numbers) if numbers else None
    if positions is None:
        return table, told
    return table.combine_chunks(), None if told is None else told[positions]


def check_source(source: Any, y: Any, label: str | None, detector: OutlierDetector) -> None:
    """Refuse labels that come twice, or not at all where there must be some."""
    unlabelled, outlier_label = y is None and label is None, detector.outlier_label
    if isinstance(y, str) or not isinstance(label, str | None):
        raise TypeError(
            f"`label` is the name of the column of labels, `y` are labels; got "
            f"label={shorten(label)} and y={shorten(y)}. A name goes to `label`, labels to `y`."
        )
    if y is not None and label is not None:
        raise TableError("Labels come as `y` or in the column `label`, not both. Leave one out.")
    if y is not None and isinstance(source, str | PathLike):
        raise TableError("Labels of a file are in one of its columns: name it (`label`).")
    if unlabelled and outlier_label is not None:
        raise TableError(
            f"`outlier_label` (--outlier-label) is {shorten(outlier_label)}, and no column of "
            "labels is named. Name it: `label` (--label)."
        )
    if unlabelled and detector.inliers != "assumed":
        raise TableError(
            "This method learns from labels, and no column of labels is named. Name it: "
            "`label` (--label), or leave `method` (--method) out to rank rows without labels."
        )


def _to_arrow(frame: Any) -> Any:
    """Return a frame as an Arrow table; columns of arrays are called as scikit-learn does."""
    table = as_arrow(frame)
    if isinstance(frame, np.ndarray):
        return table.rename_columns([f"x{place}" for place in range(table.num_columns)])
    return table


def _check_labels(codes: NDArray, label: str, assume: bool) -> None:
    n_outliers, n_inliers = int((codes == OUTLIER).sum()), int((codes == INLIER).sum())
    n_others = len(codes) - n_outliers if assume else n_inliers
    if n_outliers == 0 or n_others == 0:
        needed = "an outlier and another row are needed" if assume else "one of each is needed"
        rather = "leave out" if assume else "let Detector (no --method) do it, leave out"
        raise TableError(
            f"Column {shorten(label)} marks {count_of(n_outliers, 'outlier')} and "
            f"{count_of(n_inliers, 'inlier')} in {count_of(len(codes), 'row')}, and {needed}. "
            "Label some (0 for rows that you take for normal), "
            "say which value marks an outlier: `outlier_label` (--outlier-label), or rank rows "
            f"without labels: {rather} `label` (--label), and drop its column (--drop)."
        )


def _warn_of_copies(preparation: Preparation, table: Any, rows: NDArray) -> None:
    """Tell of rows that are there several times, whatever labels of others say of their ids."""
    if preparation.tells_training_rows:
        rows = preparation.transform(table)
    copies = len(rows) - len(distinct_rows(rows)[0])
    if copies > MANY_COPIES * len(rows):
        warnings.warn(
            f"{copies} of {len(rows)} rows are copies of others. Out-of-bag figures look better "
            "than they are, because a row may be judged by a copy of itself.",
            UserWarning,
            stacklevel=3,
        )
