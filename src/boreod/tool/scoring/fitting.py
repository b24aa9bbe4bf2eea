"""From a file to a fitted detector, as ``boreod fit`` makes it."""

import warnings
from inspect import signature
from typing import Any

from boreod.bore import BORE
from boreod.detector import Detector
from boreod.tables.training import name_source
from boreod.validation import check_choice

METHODS = {"detector": Detector, "bore": BORE}


def fit_table(
    source: Any,
    *,
    method: str = "detector",
    name: str | None = None,
    curve: bool = False,
    **options: Any,
) -> Detector:
    """Return a detector that is fitted to a file.

    Parameters
    ----------
    source
        A file name, or a frame.
    method
        ``"detector"`` for :class:`boreod.Detector`, ``"bore"`` for :class:`boreod.BORE`.
    name
        The name of the table that the model remembers; None for the file name.
    curve
        Trace the quality over budgets. Without trees that is quick, and done with a ``budget`` too.
    **options
        Parameters of :meth:`boreod.Detector.fit`, such as ``label`` and ``ids``, and of the
        detector, such as ``budget`` and ``threshold``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from boreod import OutlierRepresentation
    >>> random = np.random.default_rng(0)
    >>> fraud = np.arange(100) < 10
    >>> table = pa.table({"amount": random.normal(3 * fraud, 1), "fraud": fraud})
    >>> few = OutlierRepresentation(["knn"], [5])
    >>> fit_table(table, label="fraud", method="bore", representation=few, random_state=0).columns_
    ['amount', 'knn_5']
    """
    check_choice("method", method, tuple(METHODS))
    of_fit = {key: options.pop(key) for key in signature(Detector.fit).parameters if key in options}
    detector = METHODS[method](**options).fit(source, **of_fit)
    # Prices are measured when they are first read, and are saved with the model then.
    costs = detector.costs_ if curve or detector.budget is not None else None
    # With trees a curve takes many fits.
    if costs is not None and (curve or not costs.trees):
        _trace_curve(detector, curve)
    if name:
        detector.record_.source = name_source(name)
    # A model that is loaded shows no progress unless it is asked to.
    return detector.set_params(verbose=False)


def _trace_curve(detector: Detector, is_asked: bool) -> None:
    outliers, _ = detector.oob_.judged()
    if 0 < outliers.sum() < len(outliers):
        detector.record_.curve = detector.budget_curve()
    elif is_asked:
        warnings.warn(
            "There is no budget curve: it needs labelled outliers and inliers with out-of-bag "
            "scores.",
            UserWarning,
            stacklevel=3,
        )
