"""Labels as people write them: 0 and 1, yes and no, a word for fraud; empty is unlabelled."""

import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.tables.arrow import pa, pc
from boreod.tables.cells import MISSING
from boreod.tables.errors import TableError, option
from boreod.tables.values import as_text, column_of
from boreod.text import listed, shorten

OUTLIER, INLIER, UNLABELLED = 1, 0, -1


def read_label_column(values: Any, outlier_label: Any = None, *, name: str = "label") -> NDArray:
    """Return 1 for outliers, 0 for inliers and -1 for unlabelled rows.

    Parameters
    ----------
    values
        A column: a pyarrow array, or anything that makes one.
    outlier_label
        The value of outliers; other values are inliers then. None if the values are 0 and 1, true
        and false or yes and no, also as text and in any case. A missing value is always unlabelled,
        and so is -1 unless it is the outlier.
    name
        Name of the column, for errors.

    Examples
    --------
    >>> read_label_column(["Yes", "no", None])
    array([ 1,  0, -1])
    >>> read_label_column(["ok", "fraud", ""], "fraud")
    array([ 0,  1, -1])
    """
    column = column_of(pa.table({name: _to_array(values, name)}), name)
    cells = pc.utf8_trim_whitespace(as_text(column, name))
    encoded = pc.dictionary_encode(cells)
    found = encoded.dictionary.to_pylist()
    if outlier_label is None:
        codes = _read_words(found, name, _rarest(cells))
    else:
        codes = _read_outlier(found, outlier_label, name)
    indices = pc.fill_null(encoded.indices, len(codes)).to_numpy(zero_copy_only=False)
    return np.array([*codes, UNLABELLED], dtype=np.int64)[indices]


def _rarest(cells: Any) -> str:
    """Return the value that fewest rows have: of unknown words the likeliest outlier."""
    counted = [item for item in pc.value_counts(cells).to_pylist() if item["values"] is not None]
    fewest = min((item["counts"] for item in counted), default=0)
    return max((item["values"] for item in counted if item["counts"] == fewest), default="")


def _read_words(found: list[str], name: str, rarest: str) -> list[int]:
    """Return the codes of the distinct values of a column that says itself what they mean."""
    codes = [_code(value) for value in found]
    unknown = [value for value, code in zip(found, codes, strict=True) if code is None]
    if unknown:
        raise TableError(
            f"Column {shorten(name)} must hold 0 and 1, true and false or yes and no as labels "
            f"(empty for unlabelled rows); it holds {listed(found, 5)}. Say which value marks an "
            f"outlier: `outlier_label` ({option('outlier-label', rarest)}, if the rarest)."
        )
    minus_one = [_canonical(value) == UNLABELLED for value in found]
    if any(minus_one) and OUTLIER in codes and INLIER not in codes:
        raise TableError(
            f"Column {shorten(name)} holds 1 and -1 but no 0; some call -1 an outlier, others an "
            f"inlier. Say which value marks an outlier: `outlier_label` (--outlier-label="
            f"{shlex.quote(rarest)}, if the rarest)."
        )
    return [code for code in codes if code is not None]


def _read_outlier(found: list[str], outlier_label: Any, name: str) -> list[int]:
    """Return the codes of the distinct values of a column of which one is the outlier."""
    wanted = as_text(_to_array([outlier_label], name), name)[0].as_py()
    if wanted is None:
        raise TableError("`outlier_label` (--outlier-label) must not be empty; leave it out.")
    wanted = _canonical(wanted.strip())
    codes = []
    for value in found:
        empty = value in MISSING or _canonical(value) == UNLABELLED
        other = UNLABELLED if empty else INLIER
        codes.append(OUTLIER if _canonical(value) == wanted else other)
    if OUTLIER not in codes:
        raise TableError(
            f"No row of column {shorten(name)} has the value {outlier_label!r} that "
            f"`outlier_label` (--outlier-label) names; it holds {listed(found, 5) or 'nothing'}."
        )
    return codes


def _code(value: str) -> int | None:
    """Return what a value means, None if it does not say."""
    if value in MISSING:
        return UNLABELLED
    canonical = _canonical(value.lower())
    if canonical in (OUTLIER, INLIER, UNLABELLED):
        return int(canonical)
    return {"yes": OUTLIER, "no": INLIER}.get(str(canonical))


def _canonical(value: str) -> float | str:
    """Return numbers as such, however they are written; true and false are 1 and 0."""
    truth = {"true": 1.0, "false": 0.0}.get(value.lower())
    if truth is not None:
        return truth
    try:
        return float(value)
    except ValueError:
        return value


def _to_array(values: Any, name: str) -> Any:
    """Return an Arrow array; values of several types become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    try:
        words = [None if value is None else str(value) for value in values]
        return pa.array(words, pa.string())
    except TypeError:
        raise TableError(
            f"Column {shorten(name)} must be one column of labels; got {type(values).__name__}."
        ) from None
