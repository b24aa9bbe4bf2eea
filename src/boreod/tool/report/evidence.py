"""The evidence of a page: a fitted detector, a table, and a probability for each of its rows."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.detector import Detector
from boreod.ensemble.calibration import count_as_inliers, expit
from boreod.ensemble.fitted import Explanation
from boreod.ensemble.novelty import Novelty
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Engine, current_engine
from boreod.predictor import prepare
from boreod.text import shorten
from boreod.tool.documents import Figure
from boreod.tool.drawing.style import new_panels, save_picture
from boreod.tool.models import ranks_only
from boreod.tool.reasons import Reason, write_reasons
from boreod.validation import INLIER, OUTLIER, UNLABELLED


class Times(NamedTuple):
    """Times of rows as datetime64, NaT if unknown, and the name of the column of times."""

    column: str
    values: NDArray


@dataclass(frozen=True)
class Evidence:
    """A detector and the rows that it is judged by.

    Attributes
    ----------
    model
        The fitted detector.
    table
        The rows as the user passed them: a pyarrow table, or an array of numbers.
    rows
        The prepared rows.
    codes
        Labels: 1 outlier, 0 inlier, -1 unlabelled.
    probabilities
        The out-of-bag probability of each training row, which is NaN for a row in every bag, and
        the predicted probability of each other row.
    places
        For each row, the index of an equal training row, or -1 if there is none.
    is_own
        Whether the rows are exactly the training rows, in the same order and with the same labels.
    ids
        A text that names each row for the reader. If None, rows are numbered from 1.
    times
        Times of the rows. If None, the page has no picture over time.
    name
        Name of the model on the page.
    """

    model: Detector
    table: Any = field(repr=False)
    rows: NDArray = field(repr=False)
    codes: NDArray = field(repr=False)
    probabilities: NDArray = field(repr=False)
    places: NDArray = field(repr=False)
    is_own: bool
    ids: Sequence[str] | None = field(default=None, repr=False)
    times: Times | None = field(default=None, repr=False)
    name: str = "this model"

    @property
    def names(self) -> list[str]:
        """Names of the columns of the rows."""
        return list(self.model.fitted_.seen.columns)

    @property
    def engine(self) -> Engine:
        """The engine that computes the columns of rows."""
        return current_engine(self.model.n_jobs, self.model.verbose)

    @property
    def kind(self) -> str:
        """Whether probabilities are out-of-bag or predicted, in words that stand before a noun."""
        if (self.places != UNKNOWN).all():
            return "out-of-bag"
        return "predicted" if (self.places == UNKNOWN).all() else "out-of-bag and predicted"

    @cached_property
    def judged(self) -> NDArray:
        """Which rows have a probability, and count as outliers or inliers."""
        return (self.counted != UNLABELLED) & np.isfinite(self.probabilities)

    @cached_property
    def weights(self) -> NDArray:
        """Number of rows that each row stands for, if the model drew a sample of a larger table."""
        if (self.places == UNKNOWN).any():
            return np.ones(len(self.rows))
        return self.model.oob_.shares.weigh(self.model.oob_.labels[self.places])

    @cached_property
    def n_known(self) -> float:
        """Sum of the weights of the rows with a probability."""
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
        """The codes by which rows are judged; unlabelled rows may count as inliers."""
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
        """Return the number of rows with the label ``code``."""
        return int((self.codes == code).sum())

    def draw(self, most: int, fewest_inliers: int, seed: int) -> NDArray:
        """Draw up to ``most`` outliers and as many inliers, or ``fewest_inliers`` if that is more.

        The result is a sorted array of row indices.
        """
        random = np.random.default_rng(seed)
        outliers = random.permutation(np.flatnonzero(self.counted == OUTLIER))[:most]
        wanted = max(len(outliers), fewest_inliers)
        inliers = random.permutation(np.flatnonzero(self.counted == INLIER))[:wanted]
        return np.sort(np.append(outliers, inliers))

    @cached_property
    def novelty(self) -> Novelty:
        """Novelty of all rows; a training row is compared with the other training rows."""
        seen = self.model.fitted_.seen
        known = self.places != UNKNOWN
        if known.all() and seen.isolation is not None:
            found = seen.compare(self.rows, seen.isolation[self.places])
        else:
            found = self.model.fitted_.novelty(self.rows, self.engine)
        novel = np.where(known, seen.novel_training_rows()[self.places], found.novel)
        return replace(found, novel=novel)

    def explain(self, places: NDArray) -> Explanation | None:
        """Return the explanation of some rows; None if the classifier gives no explanations."""
        try:
            return self.model.fitted_.explain(self.rows[places], self.engine)
        except TypeError:
            return None

    def reason(self, places: NDArray, number: int) -> list[list[Reason]] | None:
        """Return reasons for some rows in words; None if the classifier gives no explanations."""
        rows = self.rows[places]
        try:
            found = self.model.fitted_.assess(rows, self.engine, explain=True)
        except TypeError:
            return None
        if hasattr(self.table, "column_names"):
            some = self.table.take(places)
        else:
            some = np.asarray(self.table, dtype=object)[places]
        return write_reasons(self.model, rows, found, number, some)


def gather(
    model: Detector,
    table: Any,
    codes: NDArray,
    ids: Sequence[str] | None = None,
    times: Times | None = None,
) -> Evidence:
    """Apply a model to rows; rows that the model learned from get out-of-bag probabilities."""
    if not isinstance(model, Detector):
        raise TypeError(f"`model` must be a fitted Detector or BORE; got {shorten(model)}.")
    with warnings.catch_warnings():
        # The table may lack column names, which is no reason to warn.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        rows = prepare(model, table)
        trained = model.oob_.labels
        places = model.record_.learned_rows.find(rows)
        same_rows = np.array_equal(places, np.arange(len(trained)))
        if same_rows:
            rows = model.preparation_.read_training(table, trained)
    is_own = same_rows and (ranks_only(model.oob_) or np.array_equal(codes, trained))
    probabilities = model.oob_proba_[places]
    new = places == UNKNOWN
    if new.any():
        engine = current_engine(model.n_jobs, model.verbose)
        probabilities[new] = expit(model.fitted_.log_odds(rows[new], engine))
    return Evidence(model, table, rows, codes, probabilities, places, is_own, ids, times)


def draw_figure(
    path: Path, size: tuple[float, float], caption: str, draw: Callable[[Any], None]
) -> Figure:
    """Draw on new axes of a size in inches; ``path`` has no suffix."""
    picture, panels = new_panels(1, 1, size)
    draw(panels[0])
    return Figure(save_picture(picture, path), caption)
