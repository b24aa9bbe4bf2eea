"""Saving and loading: the two functions that users call."""

from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from boreod.detector import BORE
from boreod.persistence.archive import open_archive, write_archive
from boreod.persistence.checks import check_manifest
from boreod.persistence.errors import ModelFileError
from boreod.persistence.layout import check_values, unpack
from boreod.persistence.loading import put_together
from boreod.persistence.manifest import read_manifest, write_manifest
from boreod.persistence.saving import read_extra, take_apart
from boreod.text import shorten

# what building from a manifest that contradicts itself may end in
MISFITS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError,
           MemoryError)  # fmt: skip


def save_model(
    model: BORE, path: str | PathLike[str], *, extra: dict[str, Any] | None = None
) -> None:
    """Write a fitted detector to a file.

    The file holds what predictions and explanations need: reference rows, and statistics of the
    columns in use; and for thresholds the out-of-bag probability and the label of every training
    row. Bags stay behind. The same model gives the same bytes, and a file that is there already is
    replaced only when the new one is complete.

    Parameters
    ----------
    model
        A fitted :class:`boreod.BORE`.
    path
        Name of the file, by custom with the ending ``.boreod``.
    extra
        Anything that JSON can hold, for your own use; ``load_model(path).stored_.extra`` gives it
        back. None keeps that of a loaded model.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from boreod import BORE, OutlierRepresentation
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.repeat([0, 1], [90, 10])
    >>> model = BORE(OutlierRepresentation(["knn"], [5]), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/a.boreod", extra={"table": "payments"})
    ...     again = load_model(f"{folder}/a.boreod")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all()), again.stored_.extra
    (True, {'table': 'payments'})
    """
    if not isinstance(model, BORE):
        raise TypeError(f"`model` must be a BORE; got {shorten(model)}.")
    check_is_fitted(model)
    manifest, arrays, content = take_apart(model, read_extra(model, extra))
    try:
        check_manifest(manifest, len(content))
        check_values(arrays, manifest)
    except ModelFileError as error:
        raise ModelFileError(f"The model cannot be saved, because {error}.") from None
    write_archive(Path(path), write_manifest(manifest), content)


def load_model(path: str | PathLike[str]) -> BORE:
    """Read a detector from a file that :func:`save_model` wrote.

    The detector predicts and explains as it did before it was saved, and chooses thresholds. What
    needs the bags (``within``, ``budget_curve``) is not there and says so; ``stored_`` tells what
    is known of the training.

    Parameters
    ----------
    path
        Name of the file. It need not be trusted: nothing in it is executed.
    """
    path = Path(path)
    try:
        with open_archive(path) as archive:
            manifest = read_manifest(archive.manifest)
            check_manifest(manifest, archive.arrays_size)
            arrays = unpack(archive.read_arrays(), manifest)
        check_values(arrays, manifest)
        return put_together(manifest, arrays)
    except MISFITS as error:
        reason = str(error).partition(". ")[0].rstrip(".")  # remedies are for who wrote the file
        raise ModelFileError(f"The model file {str(path)!r} cannot be used: {reason}.") from None
