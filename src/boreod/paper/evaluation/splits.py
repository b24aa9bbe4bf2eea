"""One method on one split: which rows are learned from, and how it ranks the others.

Both protocols judge the same 40 % of the rows. In the paper's, ``"transductive"``, they take part
as unlabelled rows: their neighborhoods are known in training. In the other, ``"unseen"``, the
detector meets them after it was fitted.
"""

import hashlib
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.metrics import auc, average_precision, early_auc, precision_at, true_positive_rates
from boreod.paper.datasets.loading import rows_digest
from boreod.paper.evaluation.methods import METHODS
from boreod.validation import INLIER, OUTLIER, UNLABELLED

PROTOCOLS = ("transductive", "unseen")
TEST_SHARE = 0.4
MEASURES = {
    "auc": "AUC",
    "early_auc": "AUC 0.1",
    "precision": "precision@n_o",
    "average_precision": "average precision",
}
RATES = np.concatenate([np.linspace(0.0, 0.1, 41)[:-1], np.linspace(0.1, 1.0, 61)])


@dataclass(frozen=True)
class Split:
    """Rows to fit with their labels, and rows to judge."""

    fitted: NDArray  # places of the rows in ``fit``
    labels: NDArray  # their labels: 1, 0, -1 for unlabelled
    test: NDArray  # places of the rows to judge

    def in_hindsight(self, codes: NDArray) -> NDArray:
        """Return the labels that an oracle gets: those of the judged rows, if it sees them."""
        if not np.isin(self.test, self.fitted).all():
            return self.labels
        hindsight = np.full(len(codes), UNLABELLED)
        hindsight[self.test] = codes[self.test]
        return hindsight[self.fitted]


@dataclass(frozen=True)
class TableRows:
    """Rows of a table whose columns become numbers within every split, from what it learns from.

    Attributes
    ----------
    table
        A pyarrow table.
    options
        Of ``boreod.tables.Preparation.fit_transform``: label, ids, drop, keep and so on.
    """

    table: Any
    options: dict[str, Any] = field(default_factory=dict)

    def prepare(self, split: Split) -> tuple[NDArray, NDArray]:
        """Return the rows to learn from and the rows to judge as numbers."""
        from boreod.tables import Preparation

        preparation = Preparation()
        with warnings.catch_warnings():  # what is wrong with cells was told of the whole table
            warnings.simplefilter("ignore", UserWarning)
            fitted = preparation.fit_transform(
                self.table.take(split.fitted), split.labels, **self.options
            )
            if np.isin(split.test, split.fitted).all():
                return fitted, fitted[np.searchsorted(split.fitted, split.test)]
            return fitted, preparation.transform(self.table.take(split.test))

    def digest(self, codes: NDArray) -> str:
        """Return a text that is another one for other rows, labels or options."""
        from boreod.tables.arrow import pa

        found = hashlib.sha256(repr(sorted(self.options.items())).encode())
        found.update(codes.astype(np.int8).tobytes())
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_stream(sink, self.table.schema) as writer:
                writer.write_table(self.table.combine_chunks())
            found.update(sink.getvalue())
        return found.hexdigest()


Rows = NDArray | TableRows


def prepare_split(rows: Rows, split: Split) -> tuple[NDArray, NDArray]:
    """Return the rows to learn from and the rows to judge as numbers."""
    if isinstance(rows, TableRows):
        return rows.prepare(split)
    return rows[split.fitted], rows[split.test]


def digest_of(rows: Rows, codes: NDArray) -> str:
    """Return a text that is another one for other rows or labels."""
    return rows.digest(codes) if isinstance(rows, TableRows) else rows_digest(rows, codes)


def split_rows(codes: NDArray, repetition: int, protocol: str, seed: int = 0) -> Split:
    """Split stratified by label, 60 % to learn from and 40 % to judge.

    Parameters
    ----------
    codes
        1 for outliers, 0 for inliers, -1 for unlabelled rows, which are never judged.
    repetition
        Number of the split.
    protocol
        ``"transductive"`` or ``"unseen"``.
    seed
        Of all splits.

    Examples
    --------
    >>> split = split_rows(np.repeat([0, 1], [40, 10]), repetition=0, protocol="unseen")
    >>> len(split.fitted), len(split.test), int(split.labels.sum())
    (30, 20, 6)
    """
    from sklearn.model_selection import train_test_split

    if protocol not in PROTOCOLS:
        raise ValueError(f"`protocol` must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    labelled = np.flatnonzero(codes != UNLABELLED)
    counts = [int((codes == code).sum()) for code in (INLIER, OUTLIER)]
    if min(counts) < 4:
        raise ValueError(
            "A comparison needs at least 4 labelled rows of each kind, to learn from some and "
            f"judge others; got {counts[0]} inliers and {counts[1]} outliers."
        )
    _, test = train_test_split(
        labelled, test_size=TEST_SHARE, stratify=codes[labelled], random_state=seed + repetition
    )
    partly = codes.copy()
    partly[test] = UNLABELLED
    if protocol == "transductive":
        return Split(np.arange(len(codes)), partly, np.sort(test))
    fitted = np.setdiff1d(np.arange(len(codes)), test)
    return Split(fitted, partly[fitted], np.sort(test))


def judge(y_true: NDArray, y_score: NDArray) -> dict[str, float]:
    """Return all measures of one ranking.

    Examples
    --------
    >>> judge(np.array([True, False, False]), np.array([0.9, 0.2, 0.1]))["auc"]
    1.0
    """
    return {
        "auc": float(auc(y_true, y_score)),
        "early_auc": early_auc(y_true, y_score),
        "precision": precision_at(y_true, y_score),
        "average_precision": average_precision(y_true, y_score),
    }


def run_method(
    rows: Rows,
    codes: NDArray,
    name: str,
    repetition: int,
    protocol: str,
    seed: int = 0,
    representation: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Return measures, ROC curve and times of one method on one split.

    Parameters
    ----------
    rows, codes
        The table and its labels (1, 0, -1).
    name
        Of the method.
    repetition, protocol, seed
        As in :func:`split_rows`.
    representation
        Of methods that use outlier scores; None for the default one.
    **options
        Parameters of the estimator that differ from those of the method.
    """
    method = METHODS[name]
    split = split_rows(codes, repetition, protocol, seed)
    hindsight = method.labels == "hindsight"
    labels = split.in_hindsight(codes) if hindsight else split.labels
    model = method.make(representation, seed + repetition)
    if options:
        model.set_params(**options)
    learned, judged = prepare_split(rows, split)
    started = time.perf_counter()
    model.fit(learned, labels)
    fitted = time.perf_counter()
    scores = model.decision_function(judged)
    scored = time.perf_counter()
    outliers = codes[split.test] == OUTLIER
    return {
        **judge(outliers, scores),
        "roc": true_positive_rates(outliers, scores, RATES).round(6).tolist(),
        "fit_seconds": fitted - started,
        "row_seconds": (scored - fitted) / len(split.test),
    }
