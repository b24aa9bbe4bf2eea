"""Read training rows and labels from a file or a frame, and prepare the rows as a matrix.

A table that is larger than memory is read twice. The first pass reads only the labels, which take
one byte per row, and draws the rows to learn from. The second pass reads these rows. Reading the
whole table at once would give the same rows.

This package does not import detectors, so a detector says what it needs in :class:`Wishes`.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import Names, TableError, as_arrow, names_of, pa, take_columns
from boreod.tables.preparing.labels import label_options, read_label_batches, read_label_column
from boreod.tables.preparing.since import add_to_table
from boreod.tables.reader import open_table, settle_labels
from boreod.tables.reading import blocks, locations
from boreod.tables.rows import TableRows
from boreod.text import count_of, listed, shorten, suggest
from boreod.validation import INLIER, OUTLIER, UNLABELLED, read_labels

# A larger share of duplicate rows causes a warning.
MANY_COPIES = 0.05


@dataclass(frozen=True)
class Roles:
    """The roles of columns: labels, ids, columns to leave out, and columns to learn from.

    Attributes
    ----------
    label
        The column of labels, or None.
    ids, drop, keep
        Columns that identify a row, columns to leave out, and the only columns to learn from.
    since
        Columns of ids. The model also learns from the time since the last row of the same id.
    labels, inlier_label
        A second table of ids and labels, and the label of inliers. If the label of inliers is
        given, rows with any word but the two labels count as unlabelled.
    """

    label: str | None = None
    ids: Names | None = None
    drop: Names | None = None
    keep: Names | None = None
    since: Names | None = None
    labels: Any = None
    inlier_label: Any = None


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a detector needs from a training table.

    Attributes
    ----------
    check_memory
        A function that takes the numbers of rows and bytes read so far, and raises an error if they
        are too large.
    progress
        A function that takes a title and returns a context manager with the method ``advance``,
        which is called for each batch.
    assume
        Whether unlabelled rows may count as the code 0. If so, labels may be few or missing.
    outlier_label
        The label of outliers. If None, labels are 0 and 1, yes and no, or the like.
    sample
        A function that takes the codes of all rows and returns the indices of the rows to learn
        from, in ascending order, or None for all rows. If ``sample`` is None, all rows are used.
    collections
        Functions for tables in partitions: ``is_collection``, ``count_rows`` and ``gather_rows``
        of ``boreod.parallel.dask_engine``. If None, no table is in partitions.
    """

    check_memory: Callable[[int, int], None]
    progress: Callable[[str], Any]
    assume: bool = True
    outlier_label: Any = None
    sample: Callable[[NDArray], NDArray | None] | None = None
    collections: Any = None

    def is_collection(self, table: Any) -> bool:
        """Return whether a table is in partitions."""
        return self.collections is not None and self.collections.is_collection(table)


class TrainingRows(NamedTuple):
    """The rows to learn from.

    Attributes
    ----------
    table, codes
        The rows as an Arrow table, and their labels: 1, 0 and -1.
    classes
        The labels for 0 and 1, as the user wrote them.
    positions
        The indices of the rows in the user's table, from 0.
    n_all
        The number of rows that were read, wanted or not.
    """

    table: Any
    codes: NDArray
    classes: NDArray
    positions: NDArray
    n_all: int

    def name(self, place: int, ids: tuple[str, ...]) -> str:
        """Return the name of a row for users: its ids, or its row number."""
        if ids:
            return ", ".join(str(self.table[column][place].as_py()) for column in ids)
        return f"row {self.positions[place] + 1}"


def read_training_rows(
    source: Any, y: Any, roles: Roles, wishes: Wishes, reading: dict[str, Any] | None = None
) -> TrainingRows:
    """Return the rows to learn from, with labels from a column or from ``y``.

    A file is opened once, or twice if a sample is wanted and the file can be read again.

    Parameters
    ----------
    source
        A file name, a frame, or an array.
    y
        Labels of a frame or an array. If None, a column holds the labels, or there are none.
    roles, wishes
        The roles of columns, and what the detector needs from the table.
    reading
        Options of ``open_table`` for a file.
    """
    check_source(source, y, roles.label, wishes)
    options = reading_options(roles, reading)
    options |= label_options(
        roles.label, roles.ids or (), roles.labels, wishes.outlier_label, roles.inlier_label
    )
    if not isinstance(source, str | PathLike):
        table = _read_frame(source, roles.label, wishes, options)
        return _choose_rows(table, y, roles.label, wishes)
    path = os.fspath(source)
    if wishes.sample is not None and locations.can_read_again(path):
        codes = _read_codes(path, roles.label, wishes, options)
        rows = wishes.sample(codes)
        table, positions = _read_rows(path, rows, len(codes), wishes, options)
        classes = np.array([INLIER, OUTLIER])
        return TrainingRows(
            table, codes if rows is None else codes[rows], classes, positions, len(codes)
        )
    table, positions = _read_rows(path, None, None, wishes, options)
    _check_label(roles.label, table.column_names)
    found = _choose_rows(table, None, roles.label, wishes)
    return found._replace(positions=positions[found.positions])


def prepare_training(
    found: TrainingRows, roles: Roles, wishes: Wishes, decimal: str | None = None
) -> tuple[TableRows, NDArray, NDArray]:
    """Return the preparation of the columns, and two matrices of the training rows.

    The first matrix is for training. The second matrix has the numbers that the same rows would get
    as new rows. Both are the same array unless the model learns from ids with many levels.
    """
    preparation = TableRows()
    if roles.label is not None:
        _check_codes(found.codes, roles.label, wishes.assume)
    matrix = preparation.fit_transform(
        found.table,
        found.codes,
        label=roles.label,
        ids=roles.ids or (),
        keep=roles.keep,
        decimal=decimal,
        assume=wishes.assume,
    )
    if not preparation.differs_in_training:
        return preparation, matrix, matrix
    # The fit of the preparation has shown the same warnings.
    with warnings.catch_warnings(action="ignore"):
        return preparation, matrix, preparation.transform(found.table)


def warn_of_copies(n_copies: int, n_rows: int) -> None:
    """Warn if many training rows are duplicates."""
    if n_copies > MANY_COPIES * n_rows:
        warnings.warn(
            f"{n_copies} of {n_rows} rows are copies of other rows. Out-of-bag figures look better "
            "than they are, because a row may be judged by a copy of itself.",
            UserWarning,
            stacklevel=3,
        )


def check_source(source: Any, y: Any, label: str | None, wishes: Wishes) -> None:
    """Refuse labels that are given twice, and missing labels if a detector needs them."""
    if isinstance(y, str) or not isinstance(label, str | None):
        raise TypeError(
            "`label` must be the name of a column, and `y` must be the labels themselves; got "
            f"label={shorten(label)} and y={shorten(y)}."
        )
    if y is not None and label is not None:
        raise TableError("Labels come as `y` or in the column `label`, not both. Leave one out.")
    if y is not None and isinstance(source, str | PathLike):
        raise TableError("Labels of a file are in one of its columns: name it (`label`).")
    if y is not None or label is not None:
        return
    if wishes.outlier_label is not None:
        raise TableError(
            f"`outlier_label` (--outlier-label) is {shorten(wishes.outlier_label)}, and no column "
            "of labels is named. Name it: `label` (--label)."
        )
    if not wishes.assume:
        raise TableError(
            "This method learns from labels, and no column of labels is named. Name it: "
            "`label` (--label), or leave `method` (--method) out to rank rows without labels."
        )


def reading_options(roles: Roles, reading: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return options of ``open_table`` that leave out unwanted columns before they are parsed.

    Labels and ids are read as text, as they are written.
    """
    wanted = (*_as_tuple(roles.label), *_as_tuple(roles.ids))
    drop = _as_tuple(roles.drop)
    for name in set(wanted) & set(drop):
        raise TableError(
            f"A column can have one role; {shorten(name)} is named in both `drop` (--drop) and "
            "`label` or `ids` (--label, --id). Take it out of one."
        )
    options = dict(reading or {})
    if options.get("columns") is not None or options.get("drop"):
        raise TableError(
            "`reading` must not choose the columns to learn from. Take `columns` and `drop` out "
            "of `reading`, and pass them as `keep` (--keep) and `drop` (--drop)."
        )
    if roles.since:
        options["since"] = roles.since
    # A comma may belong to the name of an id column, or may separate several names.
    parts = (part.strip() for name in wanted for part in name.split(","))
    types = dict.fromkeys((*wanted, *parts), "text")
    columns = None
    if roles.keep is not None and not options.get("since"):
        columns = (*wanted, *_as_tuple(roles.keep))
    options["types"] = {**types, **options.get("types", {})}
    return {**options, "columns": columns, "drop": drop, "computed": None}


def name_source(path: str) -> str:
    """Return the name of a table without folders and passwords, for a model to store.

    Examples
    --------
    >>> name_source("s3://key:secret@bucket/payments?region=eu"), name_source("-")
    ('payments', 'standard input')
    """
    if path == locations.STANDARD:
        return "standard input"
    first, *more = path.split(locations.BETWEEN)
    name = Path(locations.show_place(first)).name
    return f"{name} and {len(more)} more" if more else name


def _as_tuple(names: Names | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _check_label(label: str | None, known: list[str]) -> None:
    if label is not None and label not in known:
        raise TableError(f"There is no column {shorten(label)} of labels. {suggest(label, known)}")


def _check_codes(codes: NDArray, label: str, assume: bool) -> None:
    n_outliers = int((codes == OUTLIER).sum())
    n_inliers = int((codes == INLIER).sum())
    n_others = len(codes) - n_outliers if assume else n_inliers
    if n_outliers > 0 and n_others > 0:
        return
    needed = "one of each is needed"
    instead = "let Detector (no --method) do it, leave out"
    if assume:
        needed = "an outlier and another row are needed"
        instead = "leave out"
    raise TableError(
        f"Column {shorten(label)} marks {count_of(n_outliers, 'outlier')} and "
        f"{count_of(n_inliers, 'inlier')} in {count_of(len(codes), 'row')}, and {needed}. "
        "Label some rows (0 for rows that you take for normal), "
        "say which value marks an outlier: `outlier_label` (--outlier-label), or rank rows "
        f"without labels: {instead} `label` (--label), and drop its column (--drop)."
    )


def _read_frame(frame: Any, label: str | None, wishes: Wishes, options: dict[str, Any]) -> Any:
    """Return the wanted columns of a frame as Arrow, and add times and labels if they are wanted.

    A table in partitions stays in partitions.
    """
    since = options.get("since", ())
    settled = options.get("labels")
    if wishes.is_collection(frame) and (since or settled):
        raise TableError(
            "The time since the last row of an id (`since`) and labels of a second table "
            "(`labels`, `inlier_label`) need a whole table, and the rows of a Dask collection come "
            "in parts. Pass X.compute(), sorted by time."
        )
    known = names_of(frame)
    # An array has no names.
    if known:
        if settled is None:
            _check_label(label, known)
        optional = () if settled is None else (settled.label,)
        wanted = blocks.Options(columns=options["columns"], drop=options["drop"], optional=optional)
        frame = take_columns(frame, wanted.chosen(known, "the table"))
    if wishes.is_collection(frame):
        return frame
    return settle_labels(add_to_table(_to_arrow(frame), since), settled)


def _to_arrow(frame: Any) -> Any:
    """Return a frame as an Arrow table; columns of arrays are called x0, x1 and so on."""
    table = as_arrow(frame)
    if isinstance(frame, np.ndarray):
        return table.rename_columns([f"x{place}" for place in range(table.num_columns)])
    return table


def _choose_rows(table: Any, y: Any, label: str | None, wishes: Wishes) -> TrainingRows:
    """Return the wanted rows of a whole table or of a table in partitions."""
    in_parts, gather = wishes.is_collection(table), wishes.collections
    sizes = gather.count_rows(table) if in_parts else [table.num_rows]
    if not sum(sizes):
        raise TableError("The table has no rows to learn from.")
    if label is not None:
        cells = gather.gather_rows(table[label]) if in_parts else table[label]
        codes = read_label_column(cells, wishes.outlier_label, name=label, assume=wishes.assume)
        classes = np.array([INLIER, OUTLIER])
    else:
        labels = gather.gather_rows(y) if wishes.is_collection(y) else y
        codes, classes = read_labels(labels, sum(sizes), wishes.outlier_label, wishes.assume)
    rows = None if wishes.sample is None else wishes.sample(codes)
    if in_parts:
        table = _to_arrow(gather.gather_rows(table, rows, sizes))
    elif rows is not None:
        table = table.take(pa.array(rows))
    positions = np.arange(len(codes)) if rows is None else rows
    return TrainingRows(table, codes[positions], classes, positions, len(codes))


def _read_codes(path: str, label: str | None, wishes: Wishes, options: dict[str, Any]) -> NDArray:
    """Return the codes of all rows of a file."""
    if label is None:
        with open_table(path, **options) as reader:
            return np.full(sum(batch.num_rows for batch in reader), UNLABELLED)
    alone = {**options, "columns": [label], "drop": ()}
    if options.get("bad_cells") == "drop":
        # Bad cells in any column decide which rows are left out, so all columns are read.
        alone = options
    with open_table(path, **alone) as reader:
        columns = (batch.column(label) for batch in _watched(reader, "reading labels", wishes))
        return read_label_batches(columns, wishes.outlier_label, name=label, assume=wishes.assume)


def _read_rows(
    path: str, wanted: NDArray | None, expected: int | None, wishes: Wishes, options: dict[str, Any]
) -> tuple[Any, NDArray]:
    """Return the wanted rows of a file, and the positions of these rows in the file, from 0.

    ``wanted`` holds ascending indices, which do not count rows that were left out. If it is None,
    all rows are wanted. An error stops the reading as soon as the rows do not fit into memory.
    """
    seen = kept_rows = kept_bytes = 0
    kept = []
    numbers: list[NDArray] = []
    with open_table(path, **options) as reader:
        for batch in _watched(reader, "reading", wishes):
            found = batch
            own = blocks.row_numbers(batch, seen + 1)
            if wanted is not None:
                first, last = np.searchsorted(wanted, [seen, seen + batch.num_rows])
                places = wanted[first:last] - seen
                found = batch.take(pa.array(places))
                own = own[places]
            kept.append(found)
            numbers.append(own)
            kept_rows += found.num_rows
            kept_bytes += found.nbytes
            wishes.check_memory(kept_rows, kept_bytes)
            seen += batch.num_rows
        schema = reader.schema
    if not seen:
        raise TableError(
            f"{locations.show_place(path)} has columns but no rows: {listed(schema.names, 3)}. A "
            "table needs rows. If these are no column names, pass the `format` (--format)."
        )
    if expected is not None and seen != expected:
        raise TableError(
            f"{path} had {expected} rows when its labels were read and has {seen} now. Fit again "
            "when nobody writes to it."
        )
    table = pa.Table.from_batches(kept, schema=schema)
    if wanted is not None:
        table = table.combine_chunks()
    return table, np.concatenate(numbers) - 1


def _watched(reader: Any, title: str, wishes: Wishes) -> Any:
    """Yield the batches of a reader, and show the progress."""
    with wishes.progress(title) as progress:
        for batch in reader:
            yield batch
            progress.advance()
