"""The outlier representation: raw columns and many outlier scores, side by side.

After Micenková, McWilliams, Assent: Learning representations for outlier detection on a budget.
"""

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from boreod.neighbors import KnownRows, check_neighbors
from boreod.parallel import Threads, count_threads, current_engine, plain_interrupts
from boreod.representation.columns import FittedColumns, fit_detector, fit_view, share_among_copies
from boreod.representation.memory import FOLDS, check_fit, count_fit_memory, count_scores
from boreod.representation.plan import FEW, make_plan, read_ks, read_scores, warn_left_out
from boreod.representation.views import View, resolve_views
from boreod.validation import all_or_nothing, read_rows, read_seed

# A fit checks its memory first if the table has at least this many rows, or this many values.
CHECKED_ROWS = 20_000
CHECKED_VALUES = 5_000_000
# A search through more rows than this is expensive.
LARGE_TABLE = 10_000
CHEAP_VIEWS = ("sample:256", "sample:1024")
# Among so many rows neighbors are searched in a large table. More rows did not improve detection:
# see docs/adr/0025-a-large-table-is-searched-in-part.md.
SEARCHED_ROWS = 8192
FAR_KS = (100, 50, 20, 10, 5)
FAR_VIEWS = ("standardized", "ranked")
FEW_SCORES = ("knn_5", "knn_50", "lof_50", "ldof_20", "odin_20", "kdeos_50", "cof_20", "iforest")


class OutlierRepresentation(TransformerMixin, BaseEstimator):
    """Turn rows into ``[X, score_1(X), ..., score_m(X)]``.

    One neighbor search per view serves all scores at all k. New rows are scored against the rows
    seen in ``fit``. If a new row equals a row seen in ``fit``, that row does not count as its
    neighbor. So transforming the training table again gives the training scores.

    Parameters
    ----------
    scores
        ``"all"`` for the twelve scores of the paper, or a list of names (``"lof"``, and
        ``"iforest"`` for an isolation forest, which needs no neighbors), single columns
        (``"lof_10"``), scores with parameters (``LoOP(extent=2)``), detectors of other libraries
        (``EllipticEnvelope()``), or pairs (name, score or detector).
    ks
        Neighborhood sizes; None for the paper's 1, 10, 20, ..., 100 as far as the table allows.
    views
        Neighbor spaces, see :mod:`boreod.representation.views`: ``"full"``, ``"subspaces:25"``,
        ``"sample:256"``, ``"manhattan"``, ``"cosine"``, or :class:`boreod.View` objects.
    passthrough
        Whether the raw columns come first.
    neighbors
        How neighbors are searched: ``"brute"``, ``"tree"``, or ``"auto"``, which times the two on
        some rows and takes the faster one. All searches are exact.
    n_jobs
        Number of threads, -1 for all cores. Results do not depend on it.
    random_state
        Seed of subspaces, of reference samples, and of detectors that have no seed.
    verbose
        Show a progress bar when the work is long.

    Attributes
    ----------
    left_out_
        Names of columns that were left out because this table has too few rows for their k, or
        because the score does not allow their k.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> table = OutlierRepresentation(scores=["knn", "lof"], ks=[5, 10]).fit(rows)
    >>> table.get_feature_names_out().tolist()
    ['x0', 'x1', 'x2', 'knn_5', 'knn_10', 'lof_5', 'lof_10']
    >>> table.transform([[9.0, 9.0, 9.0]])[0, 4:] > table.transform(rows)[:, 4:].max(axis=0)
    array([ True,  True,  True])
    >>> table.keep(["lof_10"]).transform(rows).shape
    (200, 1)
    """

    def __init__(
        self,
        scores: Any = "all",
        ks: Any = None,
        views: Any = ("full",),
        passthrough: bool = True,
        neighbors: Any = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.scores = scores
        self.ks = ks
        self.views = views
        self.passthrough = passthrough
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: Any = None) -> "OutlierRepresentation":
        """Search the neighbors of all rows, and store what scores of new rows are compared with."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> NDArray:
        """Fit, and return the representation of the training rows."""
        with plain_interrupts(), all_or_nothing(self):
            points = read_rows(self, X, fitting=True)
            return self.fit_compute(points, OneToOneFeatureMixin.get_feature_names_out(self))

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the representation of training rows or new rows."""
        # The check of scikit-learn is as slow as a small search.
        if not hasattr(self, "fitted_columns_"):
            check_is_fitted(self)
        return self.compute(read_rows(self, X, fitting=False))

    def compute(self, points: NDArray) -> NDArray:
        """Return the representation of checked rows, which are float64 in C order."""
        return self.fitted_columns_.compute(points, current_engine(self.n_jobs, self.verbose))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Return the names of the output columns; raise if ``input_features`` are wrong."""
        OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return np.array(self.columns_, dtype=object)

    def keep(self, columns: Iterable[str]) -> "OutlierRepresentation":
        """Return a fitted representation that has only these columns, in this order."""
        check_is_fitted(self)
        kept = copy.copy(self)
        if isinstance(columns, str):
            columns = [columns]
        if not isinstance(columns, Iterable):
            raise TypeError(f"`columns` must be a list of column names; got {columns!r}.")
        kept.fitted_columns_ = self.fitted_columns_.keep(list(columns))
        return kept

    @property
    def columns_(self) -> list[str]:
        """Names of the output columns."""
        check_is_fitted(self)
        return list(self.fitted_columns_.names)

    def fit_compute(
        self,
        points: NDArray,
        names: Sequence[str],
        n_bags: int = 0,
        apart: NDArray | None = None,
        known: KnownRows | None = None,
    ) -> NDArray:
        """Fit to rows that were checked already, and return their representation.

        ``points`` are float64 rows in C order, which must not change later. ``known`` holds the
        same rows with their hashes, if the hashes were computed before. Rows in the mask ``apart``
        are neither neighbors of a row nor in an isolation tree, see
        :mod:`boreod.representation.columns`. The check of memory includes ``n_bags`` bags.
        """
        requests, detectors = read_scores(self.scores)
        ks = read_ks(self.ks)
        check_neighbors(self.neighbors)
        if not isinstance(self.passthrough, bool | np.bool_):
            raise ValueError(f"`passthrough` must be True or False; got {self.passthrough!r}.")
        engine = current_engine(self.n_jobs, self.verbose)
        random = read_seed(self.random_state)
        raw = [str(name) for name in names]
        n_rows = len(points)
        # There must be rows to keep apart, and at least two other rows.
        if apart is not None and not (apart.any() and (~apart).sum() >= 2):
            apart = None
        self.n_features_in_ = points.shape[1]

        self.left_out_: list[str] = []
        planned = []
        for space in resolve_views(self.views, n_rows, raw, random, apart):
            size = n_rows if space.rows is None else len(space.rows)
            plan, left_out = make_plan(requests, ks, size, space.name)
            self.left_out_ += left_out
            if plan:
                planned.append((space, plan))
        if n_rows >= CHECKED_ROWS or points.size >= CHECKED_VALUES:
            n_threads = engine.n_threads if isinstance(engine, Threads) else count_threads(-1)
            counted = self.neighbors, n_threads, n_bags, apart is not None
            needed = count_fit_memory(n_rows, len(raw), planned, *counted)
            check_fit(needed, n_rows, len(raw) + count_scores(planned))
        everywhere = known or KnownRows(points)
        by_view = [
            fit_view(everywhere, space, plan, self.neighbors, apart, random, engine)
            for space, plan in planned
        ]
        warn_left_out(self.left_out_, ks, n_rows)
        by_detector = [fit_detector(*asked, points, apart, random) for asked in detectors]
        views = [view for view, _ in by_view]
        fitted = [detector for detector, _ in by_detector]
        scores = [of_rows for _, of_rows in by_view]
        scores += [of_rows[:, np.newaxis] for _, of_rows in by_detector]
        if apart is not None:
            first = everywhere.find(everywhere.rows)
            scores = [share_among_copies(of_rows, first) for of_rows in scores]
        raw = raw if self.passthrough else []
        columns = [*raw, *(name for view in views for name in view.column_names)]
        columns += [detector.label for detector in fitted]
        _check_columns(columns)
        self.fitted_columns_ = FittedColumns(columns, raw, views, fitted)
        return self.fitted_columns_.assemble(points, scores)


def _check_columns(names: list[str]) -> None:
    """Raise if there are no columns, or if two have the same name."""
    if not names:
        raise ValueError(
            "There is no column to compute: `scores` or `views` is empty and `passthrough` is "
            "off. Name a score, for example 'lof', and a view, for example 'full'."
        )
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(
                f"Two columns would be called {name!r}. Rename the raw column, or pass the score "
                "as a pair: ('another name', score)."
            )


def make_representation(
    given: OutlierRepresentation | str | None,
    n_rows: int,
    on_budget: bool,
    seed: Any,
    taught: bool = True,
    in_part: bool = False,
) -> OutlierRepresentation:
    """Return a fresh copy of the representation that a user gave, or the default one.

    If there is a budget, the default for a large table includes views of few reference rows, so
    that even a tight budget can buy scores. ``"few"`` chooses a few scores that differ much, as far
    as the table has enough rows for their k. For a detector without labels (not ``taught``),
    ``"few"`` chooses the scores whose consensus ranks outliers best. If ``in_part``, the default
    representation searches neighbors in a large table among ``SEARCHED_ROWS`` rows.
    """
    sample = SEARCHED_ROWS if in_part and n_rows > 2 * SEARCHED_ROWS else None
    if given is not None and not isinstance(given, str):
        made = clone(given)
    else:
        made = OutlierRepresentation()
        if sample is not None:
            made.views = (f"sample:{sample}",)
        if on_budget and n_rows > LARGE_TABLE:
            made.views = (*made.views, *CHEAP_VIEWS)
        if given == FEW and taught:
            made.scores = [name for name in FEW_SCORES if _least_rows(name) <= n_rows]
        elif given == FEW:
            far = next((k for k in FAR_KS if 5 * k <= n_rows), 1)
            made.scores = [f"knn_{far}", "iforest"]
            made.views = [View(name, metric=name, sample=sample) for name in FAR_VIEWS]
            if n_rows < 2:
                made.views = ()
    if made.random_state is None:
        made.random_state = seed
    return made


def _least_rows(column: str) -> int:
    """Return the number of reference rows that a column needs, one fold of which is left out."""
    k = column.partition("_")[2]
    return -(-FOLDS * (int(k) + 1) // (FOLDS - 1)) if k else 2
