"""What a fitted detector says about rows: probabilities, labels, reasons."""

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from boreod.budgeting import Budgeted
from boreod.engine import is_collection, map_rows
from boreod.explanation import Explanation
from boreod.neighbors import Recall, blocks, distinct_rows
from boreod.rows import read_rows

MANY_ROWS = 65_536  # whose representation is held at once


@dataclass(frozen=True)
class _Call:
    """A method of a detector, to be called in another process."""

    method: str
    options: dict[str, Any]

    def __call__(self, model: Any, block: Any) -> NDArray:
        return getattr(model, self.method)(block, **self.options)


class Predicting(Budgeted):
    """The part of a detector that reads new rows, local ones or those of a Dask collection."""

    classes_: NDArray

    def predict_proba(self, X: ArrayLike, raw: bool = False) -> NDArray:
        """Return probabilities of inlier and outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        raw
            Return the bags' mean, uncorrected for their balance.
        """
        if is_collection(X):
            return self._by_partition("predict_proba", X, 2, raw=raw)
        outlier = expit(self._log_odds(X, corrected=not raw))
        return np.column_stack([1.0 - outlier, outlier])

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return corrected log-odds of being an outlier.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        if is_collection(X):
            return self._by_partition("decision_function", X)
        return self._log_odds(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of every row, by ``threshold_``.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        if is_collection(X):
            return self._by_partition("predict", X, dtype=self.classes_.dtype)
        odds = self._log_odds(X)
        return self.classes_[(odds > logit(self.threshold_)).astype(int)]

    def explain(self, X: ArrayLike, grouped: bool = False) -> Explanation:
        """Return what each column added to each row's log-odds.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        grouped
            Sum scores by family (all of LOF, all of kNN, ...); raw columns stay alone.
        """
        if is_collection(X):
            raise TypeError(
                "`explain` takes rows of this process, not a Dask collection. Choose the rows that "
                "you want explained and pass X.compute()."
            )
        result = self._ensemble.explain(self._represent(X))
        return result.grouped(self.representation_.families_) if grouped else result

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_is_fitted(self)
        return self.representation_.columns_

    @property
    def recall_(self) -> dict[str, Recall]:
        """What approximate searches found of the true neighbors, by view."""
        check_is_fitted(self)
        return self.representation_.recall_

    def _by_partition(
        self, method: str, X: Any, width: int | None = None, dtype: Any = np.float64, **options: Any
    ) -> Any:
        """Return lazily, as a Dask array, what a method says about the rows of a collection."""
        check_is_fitted(self)
        return map_rows(_Call(method, options), X, self.without_training(), width, dtype)

    def without_training(self) -> Self:
        """Return the same detector with what predictions need and nothing else, for one thread.

        It is what travels to other processes.
        """
        light = copy.copy(self)
        of_training = {"_training", "_selector", "oob_proba_", "reference_rows_"}
        for part in of_training & set(vars(light)):
            delattr(light, part)
        light.representation_ = copy.copy(self.representation_)
        light._ensemble = copy.copy(self._ensemble)
        vars(light._ensemble).pop("oob_log_odds", None)
        light._ensemble.representation = light.representation_
        for one in (light, light.representation_):
            one.set_params(n_jobs=1, verbose=False)
        return light

    def _represent(self, X: ArrayLike) -> NDArray:
        return self._ensemble.represent(self._read(X))

    def _read(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        return self._scale_input(read_rows(self, X, fitting=False))

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        """Score rows, very many in parts: their representation may be far larger than they are."""
        points, ensemble = self._read(X), self._ensemble
        if len(points) <= MANY_ROWS:
            return ensemble.log_odds(ensemble.represent(points), corrected)
        distinct, place = distinct_rows(points)
        odds = np.empty(len(distinct))
        for part in blocks(len(distinct), MANY_ROWS):
            table = ensemble.represent(points[distinct[part]])
            odds[part] = ensemble.log_odds(table, corrected)
        return odds[place]
