"""Baselines that combine outlier scores without learning from labels, with BORE's interface.

==================  ============================  =====================================
estimator           what it returns               labels that it uses
==================  ============================  =====================================
``MeanScore``       mean of all scores            none
``GreedyEnsemble``  mean of few diverse scores    only the number of outliers
``BestScore``       the best single score         all: an oracle, for comparison only
==================  ============================  =====================================

The greedy ensemble standardizes all scores. Its target is the union of the top-ranked rows of all
scores, which holds at least as many rows as there are outliers. The ensemble starts with the score
that is closest to the target. Then it tries every other score once, in each step the score that is
least like the current ensemble. It keeps the score if the mean of the ensemble comes closer to the
target. The distance is one minus the Pearson correlation, with half of the weight on the target
rows. The ensemble returns the mean of the scores that it kept.

Reference: Schubert, Wojdanowski, Zimek, Kriegel: On evaluation of outlier rankings and outlier
scores. SDM 2012.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from boreod.metrics import auc
from boreod.parallel import plain_interrupts
from boreod.representation.scaling import Scaler, fit_scaler, standardize
from boreod.representation.transformer import make_representation
from boreod.validation import OUTLIER, all_or_nothing, read_labels, read_rows


class MeanScore(ClassifierMixin, BaseEstimator):
    """Mean of all outlier scores, each scaled to [0, 1] on the training rows.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, or None for its defaults; raw columns are left out.
    outlier_label
        The label of outliers, if labels are not 1, 0 and -1 (unlabelled).
    n_jobs
        Number of threads, -1 for all cores.
    random_state
        Random seed of views and detectors.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    columns_
        Names of the scores in use.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(200, 3)), random.normal(4, 1, size=(10, 3))])
    >>> model = MeanScore().fit(X, np.repeat([0, 1], [200, 10]))
    >>> inlier, outlier = model.decision_function([[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
    >>> bool(outlier > inlier)
    True
    """

    def __init__(
        self,
        representation: Any = None,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.representation = representation
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "MeanScore":
        """Compute the scores of all rows and choose some; labels are 1, 0 and -1."""
        with plain_interrupts(), all_or_nothing(self):
            rows = read_rows(self, X, fitting=True)
            codes, self.classes_ = read_labels(y, len(rows), self.outlier_label)
            scores = make_representation(self.representation, len(rows), False, self.random_state)
            scores.set_params(n_jobs=self.n_jobs, passthrough=False)
            self._input_scaler = fit_scaler("minmax", rows)
            names = OneToOneFeatureMixin.get_feature_names_out(self)
            table = scores.fit_compute(self._input_scaler.transform(rows), names)
            self._scaler = self._fit_scaler(table)
            chosen = self._choose(self._scaler.transform(table), codes)
            self._scores = scores.keep([scores.columns_[place] for place in chosen])
            self._scaler = self._scaler.keep(chosen)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return the mean of the scores in use, high for outliers."""
        check_is_fitted(self)
        rows = self._input_scaler.transform(read_rows(self, X, fitting=False))
        return self._scaler.transform(self._scores.compute(rows)).mean(axis=1)

    @property
    def columns_(self) -> list[str]:
        """Names of the scores in use."""
        check_is_fitted(self)
        return self._scores.columns_

    def _fit_scaler(self, table: NDArray) -> Scaler:
        """Return the scaler that makes scores comparable."""
        return fit_scaler("minmax", table)

    def _choose(self, table: NDArray, codes: NDArray) -> list[int]:
        """Return the places of the scores in use."""
        return list(range(table.shape[1]))


class GreedyEnsemble(MeanScore):
    """Mean of few diverse standardized scores, see :mod:`boreod.paper.baselines.scores`.

    Parameters are those of :class:`MeanScore`. As in the paper, the target has at least as many
    rows as there are outliers. The number of outliers is estimated from their share of the
    labelled rows.
    """

    def _fit_scaler(self, table: NDArray) -> Scaler:
        return standardize(table)

    def _choose(self, table: NDArray, codes: NDArray) -> list[int]:
        wanted = max(1, round((codes == OUTLIER).sum() / (codes >= 0).sum() * len(codes)))
        return choose_members(np.ascontiguousarray(table.T), wanted)


class BestScore(MeanScore):
    """The single score that ranks the labelled rows best: an oracle, not a method.

    Parameters are those of :class:`MeanScore`. To find the best score of test rows, pass their
    labels to ``fit``.
    """

    def _choose(self, table: NDArray, codes: NDArray) -> list[int]:
        labelled = codes >= 0
        return [int(np.argmax(auc(codes[labelled] == OUTLIER, table[labelled])))]


def choose_members(scores: NDArray, n_outliers: int) -> list[int]:
    """Return the indices of the chosen scores in the order of choice.

    ``scores`` has a row for each score and a column for each row of the data. Scores are on
    comparable scales and high for outliers. The target has at least ``n_outliers`` rows of data.

    Examples
    --------
    >>> scores = np.array([[9.0, 2.0, 1.0, 0.0], [9.0, 0.0, 1.0, 2.0]])
    >>> choose_members(scores, n_outliers=1)
    [0, 1]
    """
    target = union_of_top(scores, n_outliers)
    weights = balance(target)
    distances = [distance(row, target, weights) for row in scores]
    first = int(np.argmin(distances))
    members = [first]
    ensemble = scores[first]
    best = distances[first]
    left = [place for place in range(len(scores)) if place != first]
    while left:
        place = left.pop(
            int(np.argmax([distance(scores[place], ensemble, weights) for place in left]))
        )
        candidate = scores[[*members, place]].mean(axis=0)
        closer = distance(candidate, target, weights)
        if closer < best:
            members.append(place)
            ensemble = candidate
            best = closer
    return members


def union_of_top(scores: NDArray, wanted: int) -> NDArray:
    """Return 1.0 for the top rows of all scores, rank by rank until ``wanted`` rows are found."""
    target = np.zeros(scores.shape[1])
    for rows in np.argsort(-scores, axis=1, kind="stable").T:
        target[rows] = 1.0
        if target.sum() >= wanted:
            break
    return target


def balance(target: NDArray) -> NDArray:
    """Return weights of rows with the sum 1, half of it on the target rows, half on other rows."""
    inside = target.sum()
    outside = len(target) - inside
    if outside == 0:
        return np.full(len(target), 1.0 / len(target))
    return np.where(target == 1.0, 0.5 / inside, 0.5 / outside)


def distance(one: NDArray, other: NDArray, weights: NDArray) -> float:
    """Return one minus the weighted correlation; 1 if one array is constant, 0 if both are."""
    first = one - weights @ one
    second = other - weights @ other
    spread = weights @ first**2
    other_spread = weights @ second**2
    if spread == 0.0 or other_spread == 0.0:
        return float(spread != other_spread)
    return float(1.0 - (weights * first) @ second / np.sqrt(spread * other_spread))
