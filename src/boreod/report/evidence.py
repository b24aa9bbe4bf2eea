"""What a page is about: a fitted detector, a table, and a probability for every row of it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from boreod.detector import OutlierDetector
from boreod.detector.profile import TrainingProfile
from boreod.detector.reasons import Cells, Output, Reason, ReasonWriter
from boreod.detector.words import ranks_only
from boreod.ensemble.calibration import count_as_inliers
from boreod.ensemble.explanation import Explanation
from boreod.ensemble.novelty import Novelty
from boreod.parallel import Engine, current_engine
from boreod.text import shorten
from boreod.validation import INLIER, OUTLIER, UNLABELLED

LIKE = 0.5  # rank correlation above which rows are taken for those of the training
COMPARED = 2000  # rows, at least, to find that out


@dataclass(frozen=True)
class Evidence:
    """A detector and the rows that it is judged by."""

    model: OutlierDetector
    rows: NDArray = field(repr=False)
    codes: NDArray = field(repr=False)  # 1 outlier, 0 inlier, -1 unlabelled
    names: dict[str, str]  # of the columns of rows: from the model's to those that readers know
    ids: Sequence[str] | None = field(repr=False)  # one text a row, None for row numbers
    probabilities: NDArray = field(repr=False)  # NaN for training rows that every bag holds
    doubt: str  # why these are predictions and not out-of-bag; empty if they are out-of-bag
    writer: ReasonWriter = field(repr=False)
    cells: Callable[[NDArray], Cells] | None = field(default=None, repr=False)  # words of rows

    @property
    def engine(self) -> Engine:
        """What computes columns of rows."""
        return current_engine(self.model.n_jobs, self.model.verbose)

    @property
    def kind(self) -> str:
        """What the probabilities are, before a noun."""
        return "predicted" if self.doubt else "out-of-bag"

    @cached_property
    def judged(self) -> NDArray:
        """Which rows have a probability, and count as outliers or inliers."""
        return (self.counted != UNLABELLED) & np.isfinite(self.probabilities)

    @cached_property
    def weights(self) -> NDArray:
        """For how many rows of a larger table each stands that the model drew a sample of."""
        if self.doubt:
            return np.ones(len(self.rows))
        return self.model.oob_.shares.weigh(self.model.oob_.labels)

    @cached_property
    def n_known(self) -> float:
        """Number of rows that those with a probability stand for."""
        return float(self.weights[np.isfinite(self.probabilities)].sum())

    @property
    def ranks_only(self) -> bool:
        """Whether the model was fitted without any label."""
        return ranks_only(self.model.oob_)

    @cached_property
    def assumes(self) -> bool:
        """Whether unlabelled rows count as inliers, as they did in the fit."""
        own = not self.doubt or not self.count(INLIER)
        return self.model.oob_.assumed and own and not self.ranks_only

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
        if self.doubt:
            return self.model.fitted_.novelty(self.rows, self.engine)
        seen = self.model.fitted_.seen
        found = seen.compare(self.rows, seen.isolation)
        return replace(found, novel=seen.novel_training_rows())

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
    """Check what was given, and find out which probabilities may judge the model.

    Without a ``profile`` of the training rows, values are compared with those of the given ones.
    """
    if not isinstance(model, OutlierDetector):
        raise TypeError(f"`model` must be a fitted Detector or BORE; got {shorten(model)}.")
    check_is_fitted(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # need not have
        table = model.prepare(rows)
        labels, raw = _read_codes(codes, len(table)), model.fitted_.seen.columns
        if np.array_equal(labels, model.oob_.labels):  # perhaps the training rows
            seen = model.prepare_training(rows, labels)
            doubt = _doubt(model, seen, labels)
            table = table if doubt else seen
        else:
            doubt = _doubt(model, table, labels)
    shown = raw if names is None else [str(name) for name in names]
    _check_length("names", shown, len(raw), "column")
    if ids is not None:
        _check_length("ids", ids, len(table), "row")
    chances = _predict(model, table) if doubt else np.asarray(model.oob_proba_)
    known = profile
    if known is None:
        known = TrainingProfile.learn(table, labels)
        known = replace(known, cases=None) if doubt else known  # rows would be near themselves
    writer = ReasonWriter(model.fitted_, outputs or [Output(name) for name in shown], known)
    named = dict(zip(raw, shown, strict=True))
    return Evidence(model, table, labels, named, ids, chances, doubt, writer, cells)


def _predict(model: OutlierDetector, rows: NDArray) -> NDArray:
    odds = model.fitted_.log_odds(rows, current_engine(model.n_jobs, model.verbose))
    return np.asarray(expit(odds))


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


def _doubt(model: OutlierDetector, rows: NDArray, codes: NDArray) -> str:
    """Return why out-of-bag probabilities cannot be used for these rows, empty if they can."""
    known = model.oob_.labels
    if len(known) != len(rows):
        return f"The model was trained on {len(known)} rows, and these are {len(rows)}."
    if not ranks_only(model.oob_) and not np.array_equal(known, codes):
        return "The labels are not those that the model was trained with."
    points, views = model.fitted_.scale_input(rows), model.fitted_.columns.views
    same = None
    for some in (points, points[known != OUTLIER]):  # labelled outliers need not be reference rows
        whole = [view for view in views if len(view.known.rows) == len(some)]
        if whole and same is None:
            same = np.array_equal(some, whole[0].known.rows)
    if same is None:
        same = _predicts_alike(model, rows)
    return "" if same else "The rows are not those that the model was trained on, or their order."


def _predicts_alike(model: OutlierDetector, rows: NDArray) -> bool:
    """Whether predictions are about the out-of-bag probabilities, judged by some rows."""
    from scipy.stats import spearmanr

    there = np.flatnonzero(np.isfinite(model.oob_proba_))
    there = there[:: max(len(there) // COMPARED, 1)]
    if len(there) == 0:
        return True
    told, known = _predict(model, rows[there]), model.oob_proba_[there]
    free = model.oob_.codes[there] == UNLABELLED  # in no bag, so both are the same
    if not ranks_only(model.oob_) and not np.allclose(
        told[free], known[free], rtol=1e-6, atol=1e-9
    ):
        return False
    if len(there) < 3 or not np.ptp(known) or not np.ptp(told):
        return True
    return bool(spearmanr(told, known)[0] > LIKE)
