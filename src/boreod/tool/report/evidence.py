"""What a page is about: a fitted detector, a table, and a probability for every row of it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from boreod.detector import OutlierDetector
from boreod.ensemble.calibration import count_as_inliers, expit
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.novelty import Novelty
from boreod.ensemble.profile import TrainingProfile
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Engine, current_engine
from boreod.text import shorten
from boreod.tool.reasons import Cells, Output, Reason, ReasonWriter
from boreod.tool.words import ranks_only
from boreod.validation import INLIER, OUTLIER, UNLABELLED


@dataclass(frozen=True)
class Evidence:
    """A detector and the rows that it is judged by."""

    model: OutlierDetector
    rows: NDArray = field(repr=False)
    codes: NDArray = field(repr=False)  # 1 outlier, 0 inlier, -1 unlabelled
    names: dict[str, str]  # of the columns of rows: from the model's to those that readers know
    ids: Sequence[str] | None = field(repr=False)  # one text a row, None for row numbers
    probabilities: NDArray = field(repr=False)  # out of bag for training rows, NaN if in every bag
    places: NDArray = field(repr=False)  # of equal training rows, -1 for rows that are new
    is_own: bool  # whether these are the training rows with their labels, in their order
    writer: ReasonWriter = field(repr=False)
    cells: Callable[[NDArray], Cells] | None = field(default=None, repr=False)  # words of rows

    @property
    def engine(self) -> Engine:
        """What computes columns of rows."""
        return current_engine(self.model.n_jobs, self.model.verbose)

    @property
    def kind(self) -> str:
        """What the probabilities are, before a noun."""
        if (self.places != UNKNOWN).all():
            return "out-of-bag"
        return "predicted" if (self.places == UNKNOWN).all() else "out-of-bag and predicted"

    @property
    def is_fair(self) -> bool:
        """Whether no row is judged by a prediction of a model that has learned from it."""
        return self.model.learned_rows_ is not None

    @cached_property
    def judged(self) -> NDArray:
        """Which rows have a probability, and count as outliers or inliers."""
        return (self.counted != UNLABELLED) & np.isfinite(self.probabilities)

    @cached_property
    def weights(self) -> NDArray:
        """For how many rows of a larger table each stands that the model drew a sample of."""
        if (self.places == UNKNOWN).any():
            return np.ones(len(self.rows))
        return self.model.oob_.shares.weigh(self.model.oob_.labels[self.places])

    @cached_property
    def n_known(self) -> float:
        """Number of rows that those with a probability stand for."""
        return float(self.weights[np.isfinite(self.probabilities)].sum())

    @property
    def n_unlabelled(self) -> int:
        """Number of rows with a probability and without a label."""
        return int((np.isfinite(self.probabilities) & (self.codes == UNLABELLED)).sum())

    @property
    def ranks_only(self) -> bool:
        """Whether the model was fitted without any label."""
        return ranks_only(self.model.oob_)

    @cached_property
    def assumes(self) -> bool:
        """Whether unlabelled rows count as inliers, as they did in the fit."""
        few = self.is_own or not self.count(INLIER)
        return self.model.oob_.assumed and few and not self.ranks_only

    @cached_property
    def counted(self) -> NDArray:
        """Codes of what rows count as."""
        return count_as_inliers(self.codes) if self.assumes else self.codes

    @property
    def scores(self) -> NDArray:
        """Probabilities of judged rows."""
        return self.probabilities[self.judged]

    @property
    def outliers(self) -> NDArray:
        """Which judged rows are outliers."""
        return self.codes[self.judged] == OUTLIER

    @property
    def can_judge(self) -> bool:
        """Whether there are judged rows of both classes."""
        return 0 < self.outliers.sum() < len(self.outliers)

    def count(self, code: int) -> int:
        """Return the number of rows with a label."""
        return int((self.codes == code).sum())

    def name_row(self, place: int) -> str:
        """Return what a reader finds a row by."""
        return str(place + 1) if self.ids is None else str(self.ids[place])

    def draw(self, most: int, fewest_inliers: int, seed: int) -> NDArray:
        """Return places of up to ``most`` outliers and as many inliers, but of some inliers."""
        random = np.random.default_rng(seed)
        outliers, inliers = (np.flatnonzero(self.counted == code) for code in (OUTLIER, INLIER))
        taken = random.permutation(outliers)[:most]
        wanted = max(len(taken), fewest_inliers)
        return np.sort(np.append(taken, random.permutation(inliers)[:wanted]))

    @cached_property
    def novelty(self) -> Novelty:
        """Novelty of all rows; training rows are compared with each other."""
        seen, known = self.model.fitted_.seen, self.places != UNKNOWN
        if known.all() and seen.isolation is not None:
            found = seen.compare(self.rows, seen.isolation[self.places])
        else:
            found = self.model.fitted_.novelty(self.rows, self.engine)
        novel = np.where(known, seen.novel_training_rows()[self.places], found.novel)
        return replace(found, novel=novel)

    def explain(self, places: NDArray) -> Explanation | None:
        """Return the explanation of some rows, None if the classifier has none."""
        try:
            return self.model.fitted_.explain(self.rows[places], self.engine)
        except TypeError:
            return None

    def reason(self, places: NDArray, number: int) -> list[list[Reason]] | None:
        """Return reasons of some rows in words, None if the classifier has none."""
        rows = self.rows[places]
        try:
            found = self.model.fitted_.assess(rows, self.engine, explain=True)
        except TypeError:
            return None
        return self.writer.write(
            rows, found, number, None if self.cells is None else self.cells(places)
        )


def gather(
    model: OutlierDetector,
    rows: ArrayLike,
    codes: ArrayLike,
    names: Any = None,
    ids: Any = None,
    *,
    outputs: Sequence[Output] | None = None,
    profile: TrainingProfile | None = None,
    cells: Callable[[NDArray], Cells] | None = None,
) -> Evidence:
    """Check what was given, and find out which rows the model has learned from.

    Without a ``profile`` of the training rows, values are compared with those of the given ones.
    """
    if not isinstance(model, OutlierDetector):
        raise TypeError(f"`model` must be a fitted Detector or BORE; got {shorten(model)}.")
    check_is_fitted(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # need not have
        table, trained = model.prepare(rows), model.oob_.labels
        labels, raw = _read_codes(codes, len(table)), model.fitted_.seen.columns
        places = np.full(len(table), UNKNOWN)
        if model.learned_rows_ is not None:
            places = model.learned_rows_.find(table)
        same_rows = np.array_equal(places, np.arange(len(trained)))
        if same_rows:
            table = model.prepare_training(rows, trained)
    shown = raw if names is None else [str(name) for name in names]
    _check_length("names", shown, len(raw), "column")
    if ids is not None:
        _check_length("ids", ids, len(table), "row")
    own = same_rows and (ranks_only(model.oob_) or np.array_equal(labels, trained))
    known = profile
    if known is None:
        known = TrainingProfile.learn(table, labels)
        known = known if own else replace(known, cases=None)  # rows would be near themselves
    writer = ReasonWriter(model.fitted_, outputs or [Output(name) for name in shown], known)
    named = dict(zip(raw, shown, strict=True))
    chances = _judge(model, table, places)
    return Evidence(model, table, labels, named, ids, chances, places, own, writer, cells)


def _judge(model: OutlierDetector, rows: NDArray, places: NDArray) -> NDArray:
    """Return out-of-bag probabilities of training rows, and predictions for others."""
    chances, new = model.oob_proba_[places], places == UNKNOWN
    if new.any():
        engine = current_engine(model.n_jobs, model.verbose)
        chances[new] = expit(model.fitted_.log_odds(rows[new], engine))
    return chances


def _read_codes(codes: ArrayLike, n_rows: int) -> NDArray:
    labels = np.asarray(codes)
    if labels.shape != (n_rows,) or not np.isin(labels, (OUTLIER, INLIER, UNLABELLED)).all():
        raise ValueError(
            f"`codes` must be 1 (outlier), 0 (inlier) or -1 (unlabelled) for each of {n_rows} "
            f"rows; got {shorten(codes)}."
        )
    return labels.astype(np.int64)


def _check_length(name: str, values: Sequence[Any], wanted: int, what: str) -> None:
    if len(values) != wanted:
        raise ValueError(f"`{name}` must have one entry a {what}, {wanted}; got {len(values)}.")
