"""What a fitted detector says about rows: probabilities, labels, reasons."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from boreod.budgeting import Budgeted
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.novelty import Novelty
from boreod.neighbors import Recall, blocks, distinct_rows
from boreod.parallel import is_collection, map_rows
from boreod.validation import read_rows

MANY_ROWS = 65_536  # whose representation is held at once


@dataclass(frozen=True)
class _Call:
    """A method of a detector, to be called in another process."""

    method: str
    options: dict[str, Any]

    def __call__(self, model: Any, block: Any) -> NDArray:
        return getattr(model, self.method)(block, **self.options)


class Assessment(NamedTuple):
    """What a detector finds out about rows in one search.

    Attributes
    ----------
    log_odds
        As ``decision_function`` returns them.
    novelty
        As ``novelty`` returns it, None if it was not asked for.
    explanation
        As ``explain(grouped=True)`` returns it, None if it was not asked for.
    """

    log_odds: NDArray
    novelty: Novelty | None
    explanation: Explanation | None


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
        result = self._ensemble.explain(self.represent(X))
        return result.grouped(self.representation_.families_) if grouped else result

    def novelty(self, X: ArrayLike) -> Novelty:
        """Return how unlike all training rows every row is, whatever the labels taught.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        rows, points = self._local(X, "novelty")
        return self.seen_.compare(rows, self.representation_.isolate(points))

    def assess(self, X: ArrayLike, explain: bool = False, novelty: bool = True) -> Assessment:
        """Return log-odds, novelty and reasons of rows from one search of their neighbors.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        explain
            Whether reasons are wanted, summed by family.
        novelty
            Whether novelty is wanted.
        """
        rows, points = self._local(X, "assess")
        explanation = None
        if explain:
            table, isolation = self._represent(points, novelty)
            explanation = self._ensemble.explain(table).grouped(self.representation_.families_)
            odds = explanation.log_odds
        else:
            odds, isolation = self._score(points, isolate=novelty)
        found = self.seen_.compare(rows, isolation) if novelty else None
        return Assessment(odds, found, explanation)

    @property
    def columns_(self) -> list[str]:
        """Names of the columns in use."""
        check_is_fitted(self)
        return self.representation_.columns_

    @property
    def searches_(self) -> bool:
        """Whether neighbors are searched; a model of raw columns only has none."""
        check_is_fitted(self)
        return bool(self.representation_.fitted_columns_.views)

    @property
    def recall_(self) -> dict[str, Recall]:
        """What a search of another library found of the true neighbors, by view."""
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

    def represent(self, X: ArrayLike) -> NDArray:
        """Return the scaled columns of rows that the bags learn from.

        Parameters
        ----------
        X
            Table with the columns seen in ``fit``.
        """
        return self._represent(self._local(X, "represent")[1], isolate=False)[0]

    def _local(self, X: ArrayLike, method: str) -> tuple[NDArray, NDArray]:
        """Return rows of this process, as they are and scaled."""
        if is_collection(X):
            raise TypeError(
                f"`{method}` takes rows of this process, not a Dask collection. Choose the rows "
                "that you want to know about and pass X.compute()."
            )
        check_is_fitted(self)
        rows = read_rows(self, X, fitting=False)
        return rows, self._scale_input(rows)

    def _log_odds(self, X: ArrayLike, corrected: bool = True) -> NDArray:
        check_is_fitted(self)
        points = self._scale_input(read_rows(self, X, fitting=False))
        return self._score(points, corrected)[0]

    def _score(
        self, points: NDArray, corrected: bool = True, isolate: bool = False
    ) -> tuple[NDArray, NDArray | None]:
        """Score rows, very many in parts: their representation may be far larger than they are.

        Returns log-odds, and on request the distance to the 10th reference row.
        """
        if len(points) <= MANY_ROWS:
            return self._score_at_once(points, corrected, isolate)
        distinct, place = distinct_rows(points)
        parts = [
            self._score_at_once(points[distinct[part]], corrected, isolate)
            for part in blocks(len(distinct), MANY_ROWS)
        ]
        odds = np.concatenate([part[0] for part in parts])[place]
        found = [part[1] for part in parts if part[1] is not None]
        return odds, np.concatenate(found)[place] if found else None

    def _score_at_once(
        self, points: NDArray, corrected: bool, isolate: bool
    ) -> tuple[NDArray, NDArray | None]:
        table, isolation = self._represent(points, isolate)
        return self._ensemble.log_odds(table, corrected), isolation

    def _represent(self, points: NDArray, isolate: bool) -> tuple[NDArray, NDArray | None]:
        """Return scaled columns, and on request the distance to the 10th reference row."""
        if isolate:
            table, isolation = self.representation_.compute_and_isolate(points)
        else:
            table, isolation = self.representation_.compute(points), None
        return self._ensemble.scaler.transform(table), isolation
