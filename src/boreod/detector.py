"""BORE: representation, selection, scaling, balanced bags, one probability."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_feature_names_in

from boreod.ensemble.bags import draw_bags
from boreod.ensemble.calibration import warn_without_score
from boreod.ensemble.novelty import SeenRows
from boreod.ensemble.reference import Shares, draw_reference
from boreod.ensemble.training import Training, make_representation
from boreod.parallel import count_rows, gather_column, gather_rows, is_collection, plain_interrupts
from boreod.parameters import check_parameters
from boreod.prediction import Predicting
from boreod.representation.memory import available_memory, check_reading
from boreod.representation.scaling import SCALERS, MinMax
from boreod.validation import INLIER, OUTLIER, all_or_nothing, read_labels, read_rows, read_seed


class BORE(ClassifierMixin, Predicting):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are put next to the raw columns; on many balanced bags of labelled
    rows a logistic regression is run to its optimum; the bags' probabilities are averaged. Nothing
    needs tuning: the defaults are the paper's.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, or None for its defaults; with a budget and more than
        10000 rows these include the views ``"sample:256"`` and ``"sample:1024"``, whose searches
        are cheap.
    neighbors
        How neighbors are searched, see :mod:`boreod.neighbors.backends`; ``"auto"`` leaves it to
        the representation, which is exact.
    reference_size
        Learn from so many rows: all labelled outliers and a sample of the others. None for all.
    reference_sampling
        ``"stratified"`` prefers labelled inliers to unlabelled rows until they have half of the
        places, ``"random"`` does not.
    input_scaling
        ``"minmax"`` brings the raw columns to [0, 1] before neighbors are searched, None leaves
        them.
    scaling
        Of the representation's columns: ``"minmax"`` (the paper) or ``"rank"``.
    n_estimators
        Number of bags.
    share
        Share of the smaller class that each bag holds, with as many rows of the other class.
    penalty
        Ridge penalty of the logistic regressions per row, on standardized columns; ``"auto"``
        chooses it by out-of-bag log-loss.
    estimator
        A scikit-learn classifier with ``predict_proba`` in the place of logistic regression.
    aggregation
        ``"mean"`` of the bags' probabilities, or mean of their ``"log-odds"``.
    calibration
        None corrects probabilities for the balanced bags only; ``"oob"`` also fits slope and
        intercept to out-of-bag log-odds. Both keep the ranking.
    threshold
        Of ``predict``: a probability, ``"alerts:20"``, ``"fpr:0.01"`` or ``"precision:0.8"``.
    budget
        Cost of one prediction: a time per row such as ``"200us"``, or units of ``costs``. The
        columns that fit are chosen; None takes all.
    costs
        Of the columns, see :mod:`boreod.selection.prices`: ``"measured:shared"``,
        ``"complexity:additive"``, or a dict such as ``{"lof_10": 50, "knn": 20}``. None measures
        seconds for budgets in time, and counts operations for other budgets. Measured prices are
        remembered for tables of the same shape; ``"fresh"`` measures again.
    selection
        ``"budget"`` (cost-aware pursuit), ``"omp"`` (pursuit that ignores costs) or ``"random"``.
    fill
        Whether a column that does not fit is skipped and the next one tried. False is the paper's
        rule: the first that does not fit is the end, and no single column takes the place of all.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled). It is
        always the second class, whatever the alphabet says; scikit-learn's scorers expect the
        other order for words, so score models with labels 0 and 1.
    n_jobs
        Number of threads, -1 for all cores. Results do not depend on it.
    random_state
        Seed of bags, views and classifiers.
    verbose
        Show progress bars when the work is long.

    Attributes
    ----------
    classes_
        The two labels, inlier first.
    reference_rows_
        Positions of the training rows that were learned from: all, unless ``reference_size`` says
        otherwise. Model files do not keep those of a sample.
    oob_proba_
        Corrected probability of every one of these rows from the bags that did not hold it.
    threshold_
        Probability above which ``predict`` says outlier.
    recall_
        What a search of another library found of the true neighbors, by view; empty if exact.
    columns_
        Names of the columns in use.
    costs_
        Prices of all columns: ``costs_.total(columns)``, ``costs_.marginal(column, given)``.
    cost_, selection_
        With a budget: what the columns in use cost together, and how stable each choice was.
    penalty_, gradients_
        Penalty used and largest component of the gradient left in each bag, for the logistic head.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(200, 3)), random.normal(4, 1, size=(10, 3))])
    >>> y = np.repeat([0, 1], [200, 10])
    >>> model = BORE(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0, 0.0], [4.0, 4.0, 4.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        representation: Any = None,
        neighbors: Any = "auto",
        reference_size: int | None = None,
        reference_sampling: str = "stratified",
        input_scaling: str | None = "minmax",
        scaling: str = "minmax",
        n_estimators: int = 50,
        share: float = 0.7,
        penalty: float | str = 1e-6,
        estimator: Any = None,
        aggregation: str = "mean",
        calibration: str | None = None,
        threshold: float | str = 0.5,
        budget: float | str | None = None,
        costs: Any = None,
        selection: str = "budget",
        fill: bool = True,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.representation = representation
        self.neighbors = neighbors
        self.reference_size = reference_size
        self.reference_sampling = reference_sampling
        self.input_scaling = input_scaling
        self.scaling = scaling
        self.n_estimators = n_estimators
        self.share = share
        self.penalty = penalty
        self.estimator = estimator
        self.aggregation = aggregation
        self.calibration = calibration
        self.threshold = threshold
        self.budget = budget
        self.costs = costs
        self.selection = selection
        self.fill = fill
        self.outlier_label = outlier_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, **unsupported: Any) -> "BORE":
        """Learn from labelled rows; unlabelled rows only take part as neighbors.

        Parameters
        ----------
        X
            Table of numbers: array, pandas or polars frame.
        y
            1 for outliers, 0 for inliers, -1 for unlabelled rows; or any labels with
            ``outlier_label``.
        **unsupported
            Nothing; ``sample_weight`` is refused with a reason.
        """
        if unsupported:
            raise TypeError(
                f"BORE.fit does not take {', '.join(unsupported)}: rows have no weights in a "
                "neighbor graph, and bags are balanced already. Leave it out."
            )
        with plain_interrupts(), all_or_nothing(self):
            self._fit(X, y, None)
        return self

    def fit_sample(
        self, X: ArrayLike, y: ArrayLike, shares: Shares, rows: NDArray | None = None
    ) -> "BORE":
        """Learn from a reference sample that was drawn already, of a table that is elsewhere.

        Parameters
        ----------
        X, y
            Rows of the sample, as in :meth:`fit`.
        shares, rows
            What :meth:`draw_reference` returned with it.
        """
        with plain_interrupts(), all_or_nothing(self):
            self._fit(X, y, shares)
            if rows is not None:
                self.reference_rows_ = np.asarray(rows)
        return self

    def draw_reference(self, codes: NDArray) -> tuple[NDArray | None, Shares]:
        """Return the rows that a fit would learn from, None for all, and which part they are.

        Parameters
        ----------
        codes
            Labels of all rows: 1 outlier, 0 inlier, -1 unlabelled.
        """
        check_parameters(self)
        return draw_reference(
            codes, self.reference_size, self.reference_sampling, self._draw_seeds()[3]
        )

    def _draw_seeds(self) -> list[int]:
        random = read_seed(self.random_state)
        return random.randint(np.iinfo(np.int32).max, size=4).tolist()

    def _fit(self, X: ArrayLike, y: ArrayLike, shares: Shares | None) -> None:
        check_parameters(self)
        for stale in {"penalty_", "gradients_", "selection_", "cost_"} & set(vars(self)):
            delattr(self, stale)
        seeds = self._draw_seeds()
        lazy = is_collection(X)
        rows: Any = X if lazy else read_rows(self, X, fitting=True)
        sizes = count_rows(X) if lazy else [len(rows)]
        n_rows = sum(sizes)
        labels = gather_column(y) if lazy else y
        codes, classes = read_labels(labels, n_rows, self.outlier_label)
        chosen = None
        if shares is None:
            how = (self.reference_size, self.reference_sampling, seeds[3])
            chosen, shares = draw_reference(codes, *how)
        if lazy:
            n_taken = n_rows if chosen is None else len(chosen)
            check_reading(n_taken, 8 * n_taken * rows.shape[1], available_memory())
            rows = read_rows(self, gather_rows(X, chosen, sizes), fitting=True)
        elif chosen is not None:
            rows = rows[chosen]
        self.reference_rows_ = np.arange(n_rows) if chosen is None else chosen
        self._learn_from(rows, codes[self.reference_rows_], classes, shares, seeds)

    def _learn_from(
        self, rows: NDArray, codes: NDArray, classes: NDArray, shares: Shares, seeds: list[int]
    ) -> None:
        """Go the way from rows to bags; everything is fitted here."""
        self._input_scaler = MinMax.fit(rows) if self.input_scaling == "minmax" else None
        points = self._scale_input(rows)
        representation = make_representation(
            self.representation, len(rows), self.budget is not None, seeds[0]
        )
        if not isinstance(self.neighbors, str) or self.neighbors != "auto":
            representation.set_params(neighbors=self.neighbors)
        representation.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        outliers, inliers = np.flatnonzero(codes == OUTLIER), np.flatnonzero(codes == INLIER)
        bags = draw_bags(outliers, inliers, len(rows), self.n_estimators, self.share, seeds[1])
        names = [str(name) for name in _check_feature_names_in(self)]
        table = representation.fit_compute(points, names, len(bags.rows))
        ranges = rows.min(axis=0), rows.max(axis=0)
        self.seen_ = SeenRows(names, *ranges, None, codes, self._input_scaler is not None)
        scaler = SCALERS[self.scaling].fit(table)
        self._training = Training(
            representation, scaler, scaler.transform(table), codes, bags, shares, seeds[2]
        )
        options = ("estimator", "penalty", "aggregation", "calibration", "threshold")
        self._options = {name: getattr(self, name) for name in options}  # `within` needs them
        self.classes_ = classes
        self._learn(representation.columns_)
        warn_without_score(self.oob_proba_)
        self._prepare_budgets(points)
        if self.budget is not None:
            self._narrow()
        self.threshold_ = self.choose_threshold(self.threshold)

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
