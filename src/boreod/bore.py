"""Presets for rows of numbers: BORE as printed, the best we know; one engine, other defaults."""

from typing import Any

from boreod.detector import OutlierDetector
from boreod.validation import check_choice


class BORE(OutlierDetector):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are put next to the raw columns; on many balanced bags of labelled
    rows a logistic regression is run to its optimum; the bags' probabilities are averaged. Nothing
    needs tuning: the defaults are the paper's. ``X`` is a table with the columns seen in ``fit``
    wherever it is asked for: an array, a pandas or polars frame, for predictions also a Dask
    collection.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, None for its defaults, or ``"few"`` for a handful of
        scores that differ much and an isolation forest. With a budget and more than 10000 rows the
        two words include the views ``"sample:256"`` and ``"sample:1024"``, whose searches are
        cheap.
    neighbors
        How neighbors are searched, see :mod:`boreod.neighbors.backends`; ``"auto"`` leaves it to
        the representation, which is exact.
    reference_size
        Learn from so many rows: all labelled outliers and a sample of the others. None for all.
    reference_sampling
        ``"stratified"`` prefers labelled inliers to unlabelled rows until they have half of the
        places, ``"random"`` does not.
    reference_outliers
        Whether neighbors are also searched among labelled outliers. If not, a new row beside one of
        them does not look like one of a crowd, and all training rows are scored like new ones:
        beside reference rows of other folds.
    input_scaling
        ``"minmax"`` brings the raw columns to [0, 1] before neighbors are searched, None leaves
        them.
    scaling
        Of the representation's columns: ``"minmax"`` (the paper), ``"rank"``, or ``"both"`` for
        scaled raw columns, ranked scores and ranked raw columns.
    inliers
        Who counts as an inlier: rows that are ``"labelled"`` so, or ``"assumed"``: unlabelled rows
        too where few inliers are labelled, or if nothing is; rows that look like the known outliers
        are then left out of the bags, also if they are labelled inliers. See
        :mod:`boreod.ensemble.assumptions`.
    n_estimators
        Number of bags.
    share
        Share of the smaller class that each bag holds, with as many rows of the other class.
    ratio, min_inliers
        Inliers of a bag for each of its outliers, at least so many, none for balanced bags. Both
        classes weigh the same (not to boosted trees). The share is then that of the outliers, and
        the largest of inliers.
    heads
        What is fitted to every bag: some of ``"logistic"``, ``"trees"``, ``"trees+scores"``,
        ``"boosted"`` and ``"boosted+scores"``, see :mod:`boreod.ensemble.members`.
    n_trees
        Number of trees that are fitted to every bag; ten times as many boosted ones to ten bags.
    penalty
        Ridge penalty of the logistic regressions per row, on standardized columns; ``"auto"``
        chooses it by out-of-bag log-loss.
    estimator
        A scikit-learn classifier with ``predict_proba`` in the place of all heads.
    aggregation
        ``"mean"`` of the bags' probabilities, or mean of their ``"log-odds"``. Boosted trees, whose
        leaves add up to log-odds, are always averaged as these.
    calibration
        None corrects probabilities for the classes in a bag only; ``"oob"`` also fits slope and
        intercept to out-of-bag log-odds, ``"platt"`` with caution where labels are few. All keep
        the ranking.
    prior
        Share of outliers among the rows to come, if it is known; None for that of the labels.
    threshold
        Of ``predict``: a probability, ``"alerts:20"``, ``"fpr:0.01"`` or ``"precision:0.8"``. None
        for 0.5, and without any label for one alert in a hundred rows.
    budget
        Cost of one prediction: a time per row such as ``"200us"``, or units of ``costs``. The
        columns that fit are chosen; None takes all.
    batch_size
        How many rows come at once, for a budget in time: a call costs more than its rows, and each
        of them pays its part. 1 for rows that come alone, None for large batches.
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
    fitted_
        What predictions need: a :class:`boreod.ensemble.fitted.Fitted`.
    training_
        What other columns and budgets can be learned from; None for a loaded model.
    oob_
        What the bags that did not hold a training row say about it, see ``oob_proba_``.
    reference_rows_
        Positions of the training rows that were learned from: all, unless ``reference_size`` says
        otherwise. Model files do not keep those of a sample: None.
    threshold_
        Probability above which ``predict`` says outlier.
    stored_
        What a model file said about itself, for a loaded model; otherwise None.
    selection_, cost_
        With a budget: how stable the choice of each column was, and what they cost together.
        Otherwise None.
    penalty_, gradients_
        Penalty used and largest component of the gradient left in each bag; None if an
        ``estimator`` takes the place of logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = np.vstack([random.normal(size=(200, 3)), random.normal(4, 1, size=(10, 3))])
    >>> y = np.repeat([0, 1], [200, 10])
    >>> model = BORE(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0, 0.0], [4.0, 4.0, 4.0]]).tolist()
    [0, 1]
    """

    method_name = "BORE"

    def __init__(
        self,
        representation: Any = None,
        neighbors: Any = "auto",
        reference_size: int | None = None,
        reference_sampling: str = "stratified",
        reference_outliers: bool = True,
        input_scaling: str | None = "minmax",
        scaling: str = "minmax",
        inliers: str = "labelled",
        n_estimators: int = 50,
        share: float = 0.7,
        ratio: float | None = None,
        min_inliers: int = 1,
        heads: Any = ("logistic",),
        n_trees: int = 10,
        penalty: float | str = 1e-6,
        estimator: Any = None,
        aggregation: str = "mean",
        calibration: str | None = None,
        prior: float | None = None,
        threshold: float | str | None = 0.5,
        budget: float | str | None = None,
        batch_size: int | None = None,
        costs: Any = None,
        selection: str = "budget",
        fill: bool = True,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(
            representation,
            neighbors,
            reference_size,
            reference_sampling,
            reference_outliers,
            input_scaling,
            scaling,
            inliers,
            n_estimators,
            share,
            ratio,
            min_inliers,
            heads,
            n_trees,
            penalty,
            estimator,
            aggregation,
            calibration,
            prior,
            threshold,
            budget,
            batch_size,
            costs,
            selection,
            fill,
            outlier_label,
            n_jobs,
            random_state,
            verbose,
            **unknown,
        )


class NumericDetector(OutlierDetector):
    """What :class:`boreod.Detector` is for rows of numbers, which has these parameters.

    Parameters and attributes are those of :class:`BORE`, with other defaults.
    """


PRESETS: dict[str, type[OutlierDetector]] = {"BORE": BORE, "Detector": NumericDetector}


def find_method(name: Any) -> type[OutlierDetector]:
    """Return the preset of a name that a user typed.

    Examples
    --------
    >>> find_method("bore").__name__
    'BORE'
    """
    methods = {preset.lower(): kind for preset, kind in PRESETS.items()}
    check_choice("method", name, ("detector", "bore"))
    return methods[name]
