"""The detector: it learns from a table with few labels, predicts, explains and obeys budgets."""

import copy
from collections.abc import Iterable
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from boreod.ensemble.calibration import check_alerts, warn_of_many_outliers, warn_without_score
from boreod.ensemble.parameters import GROUPS, Settings
from boreod.ensemble.profile import LearnedRows, TrainingProfile
from boreod.ensemble.training import Lessons, NotStoredError, Training
from boreod.ensemble.training_rows import (
    TrainingRows,
    read_training_rows,
    refuse_options,
    representation_for,
)
from boreod.neighbors.known_rows import hash_rows
from boreod.parallel import plain_interrupts
from boreod.predictor import PARAMETERS, Predictor, TrainingRecord, check_parameters, settings_of
from boreod.representation.array_rows import upper_floor
from boreod.selection.budgets import (
    NO_CURVE,
    SAME,
    SHARED,
    BudgetCurve,
    check_batches,
    check_size,
    needs_clock,
    read_budget,
    read_budgets,
    trace_budgets,
)
from boreod.selection.costs import SECONDS, Costs
from boreod.selection.selector import Selector
from boreod.text import tell_once
from boreod.validation import all_or_nothing, check_fitted, read_seed

Names = str | Iterable[str]


class Detector(Predictor, ClassifierMixin, BaseEstimator):
    """Outlier detection for a table with a few labelled outliers, or without labels.

    Several models (*heads*) read raw columns and a few outlier scores. Each head is fitted to many
    samples of the rows (*bags*) with ten inliers per outlier. The outputs of the heads are averaged
    with weights learned out of bag. If few inliers are labelled, unlabelled rows count as inliers.
    So ``y`` may be 1 for some known outliers and -1 for all other rows; probabilities then mean
    "would be labelled an outlier". Without any label, rows are ranked by a consensus of scores, and
    ``predict_proba`` returns the share of training rows that look less like an outlier.

    ``X`` is always a table: an array, or a pandas, polars, Arrow or Dask frame. The columns of a
    frame are found by name and may hold words, dates and missing values. ``fit`` learns how to
    prepare every column, see ``preparation_``. An array of finite numbers is used unchanged.
    Frames, and arrays with words or missing values, need ``pip install boreod[data]``.

    Parameters
    ----------
    representation
        An :class:`OutlierRepresentation`, None for its defaults, or ``"few"`` for an isolation
        forest and a few scores that differ much. With a budget and more than 10000 rows, None and
        ``"few"`` include the views ``"sample:256"`` and ``"sample:1024"``, with cheap searches.
    reference
        A :class:`Reference`: the rows among which neighbors are searched. None for the default.
    scaling
        Scaling of the representation's columns: ``"minmax"`` (the paper), ``"rank"``, or ``"both"``
        for scaled raw columns, ranked scores and ranked raw columns.
    n_estimators
        Number of bags.
    bagging
        A :class:`Bagging`: how bags are drawn and which rows are inliers. None for the default.
    heads
        A :class:`Heads`: the models that are fitted to every bag. None for the default.
    estimator
        A scikit-learn classifier with ``predict_proba`` that replaces all heads.
    calibration
        None corrects probabilities only for the shares of the two classes in a bag. ``"platt"``
        fits a slope and an intercept to out-of-bag log-odds; fewer labels give less extreme
        probabilities. Both settings keep the ranking.
    prior
        Share of outliers among future rows, if known; None for the share in the training table.
    threshold
        Threshold of ``predict``: a probability, ``"alerts:20"``, ``"fpr:0.01"`` or
        ``"precision:0.8"``. None for the probability above which the expected F1 of the training
        rows, judged out of bag, is largest, and without any label for one alert in a hundred rows.
    budget
        Largest cost of the prediction for one row: a time such as ``"200us"``, or a number of units
        of the costs. Columns that fit the budget are chosen. None uses all columns.
    selection
        A :class:`ColumnSelection`: how the columns that fit a budget are chosen, and what columns
        cost. None for the default.
    outlier_label
        The label of outliers, if labels are not 1 (outlier), 0 (inlier) and -1 (unlabelled). This
        label is always the second class, even if it sorts first. scikit-learn's scorers expect
        sorted classes, so use labels 0 and 1 with these scorers.
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
    preparation_
        The :class:`boreod.tables.Preparation` that turns columns into numbers. Its ``summary_`` and
        ``notes_`` describe the steps. Arrays of plain numbers have a simpler preparation.
    fitted_, training_
        The model that predicts, and the training data from which models for other budgets are
        learned. ``training_`` is None in a loaded model.
    oob_
        Out-of-bag results: bags score only the rows that they do not hold. See ``oob_proba_``.
    record_, reference_rows_
        A :class:`boreod.predictor.TrainingRecord` of the training table, and the positions of the
        training rows in it. Positions are None in a loaded model that was fitted to a sample.
    threshold_
        Probability above which ``predict`` returns the label of outliers.
    stored_
        Metadata of the model file, for a loaded model; otherwise None.
    selection_, cost_
        With a budget: the chosen columns, with the share of bags that bought each column, and the
        total cost of columns and trees. None without a budget.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"amount": random.normal(size=210), "country": ["DE", "FR"] * 105})
    >>> frame["fraud"] = np.arange(210) < 10
    >>> frame.loc[frame["fraud"], "amount"] += 5
    >>> model = Detector(random_state=0).fit(frame, label="fraud")
    >>> model.predict(pd.DataFrame({"country": ["FR", None], "amount": [0.0, 6.0]})).tolist()
    [0, 1]
    """

    # A loaded model has no selector.
    _selector: Selector | None = None
    _takes_numeric_frames_as_they_are = False

    def __init__(
        self,
        representation: Any = "few",
        reference: Any = None,
        scaling: str = "both",
        n_estimators: int = 50,
        bagging: Any = None,
        heads: Any = None,
        estimator: Any = None,
        calibration: str | None = "platt",
        prior: float | None = None,
        threshold: float | str | None = None,
        budget: float | str | None = None,
        selection: Any = None,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        given = locals()
        super().__init__(**{name: given[name] for name in PARAMETERS})

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        label: str | None = None,
        ids: Names | None = None,
        drop: Names | None = None,
        keep: Names | None = None,
        labels: Any = None,
        reading: dict[str, Any] | None = None,
        **unsupported: Any,
    ) -> Self:
        """Learn how to prepare the columns, and then learn from labelled and unlabelled rows.

        Parameters
        ----------
        X
            A frame or an array, or the name of a file, which may be larger than memory if
            ``reference`` asks for a sample.
        y
            1 for outliers, 0 for inliers, and -1, NaN or None for unlabelled rows; or any labels if
            ``outlier_label`` is set. Pass no ``y`` if a column of X holds the labels, or if there
            are no labels. ``classes_`` and the results of ``predict`` have the type of ``y``: False
            and True for booleans.
        label
            Name of the column of labels, instead of ``y``. The labels are 1 and 0, true and false,
            yes and no, or any labels if ``outlier_label`` is set. Rows with an empty cell are
            unlabelled. ``predict`` then returns 1 and 0.
        ids
            Columns that identify a row. Nothing is learned from them. Here and below, several names
            may be given as one string, separated by commas.
        drop, keep
            ``drop`` names columns to leave out, ``keep`` the only columns to learn from.
        labels
            A second table (frame or file) of ``ids`` and labels. Its labels replace those of X.
        reading
            Options of ``boreod.tables.open_table``, and two options that also apply to frames.
            ``"since"`` names columns of ids, such as ``card``. The detector then also learns from
            the time since the last row with the same id. If there are several columns of dates,
            ``card:time`` names the one to use. Such tables must be sorted by time and scored as a
            whole. ``"inlier_label"`` is the label of inliers; rows with neither label are
            unlabelled.
        **unsupported
            Always refused; the error for ``sample_weight`` gives the reason.
        """
        refuse_options(self, unsupported)
        asked = {"label": label, "ids": ids, "drop": drop, "keep": keep}
        asked |= {"labels": labels, "reading": reading}
        with plain_interrupts(), all_or_nothing(self), tell_once():
            settings = check_parameters(self)
            # The four seeds are for the views, the bags, the estimators and the reference sample.
            seeds = read_seed(self.random_state).randint(np.iinfo(np.int32).max, size=4).tolist()
            as_they_are = self._takes_numeric_frames_as_they_are
            found = read_training_rows(self, X, y, asked, settings, seeds[3], as_they_are)
            self._learn(found, settings, seeds)
        return self

    def within(
        self,
        budget: float | str,
        *,
        batch_size: int | str | None = SAME,
        costs: Any = None,
        method: str | None = None,
        skip_unaffordable: bool | None = None,
    ) -> Self:
        """Return a fitted detector whose predictions keep to a budget.

        No neighbors are searched again. Heads are fitted to the bags of this fit on the chosen
        columns, and only the chosen columns are computed for new rows. A budget in time is the time
        of one core per row, in a large batch or in a batch of ``batch_size`` rows. The parameters
        are those of the detector and of :class:`ColumnSelection`. None keeps the value of this
        model. For ``batch_size``, ``"same"`` keeps the value, and None stands for large batches.
        """
        selector = self._known_selector
        wanted = self.budget if budget is None else budget
        fast = self._asked(wanted, batch_size, costs, method, skip_unaffordable)
        fast.record_ = copy.copy(self.record_)
        with plain_interrupts(), tell_once():
            fast._narrow()
        fast.threshold_ = fast.choose_threshold(selector.training.options.threshold)
        return fast

    def budget_curve(
        self,
        budgets: Any = None,
        *,
        batch_size: int | str | None = SAME,
        costs: Any = None,
        method: str | None = None,
        skip_unaffordable: bool | None = None,
    ) -> BudgetCurve:
        """Return out-of-bag quality over budgets, which ``print`` shows as a table.

        ``budgets`` is a list. None stands for a range from the price of the cheapest column to the
        price of all columns and trees. The other parameters are those of :meth:`within`.
        """
        selector = self._known_selector
        check_size(batch_size, keep=True)
        if not selector.training.taught:
            raise ValueError(NO_CURVE)
        chosen = self._asked(None, None, costs, method, skip_unaffordable).selection
        if budgets is None:
            size = self._batches(batch_size, self._unit)
            budgets = selector.budget_range(chosen.costs, self._unit, size)
        budgets = read_budgets(budgets)
        size = self._batches(batch_size, read_budget(budgets[0])[1])
        check_batches(size, budgets[0])
        chosen.set_params(batch_size=size)
        with plain_interrupts(), tell_once():
            bought = (selector.buy(budget, chosen, self._threads) for budget in budgets)
            return trace_budgets((choice, oob) for choice, _, oob in bought)

    def measure_costs(self) -> Costs:
        """Measure the costs of columns again on this machine, and return the prices.

        Later time budgets of this model and later fits to tables of this shape use these prices.
        """
        self._selector = self._known_selector.timed()
        if self._costs is not None and self._costs.unit == SECONDS:
            self._costs = self._read_prices(SECONDS)
        self._seconds_alone = None
        return self._selector.prices.read(SHARED, SECONDS, settings_of(self).selection.batch_size)

    def report(self, path: str | PathLike[str], table: Any = None, **options: Any) -> None:
        """Write a page about the detector: its quality, alerts, suspects and columns.

        ``path`` names the HTML file. ``table`` holds rows with their labels, or names a file of
        such rows. Rows of the fit get their out-of-bag probabilities. None stands for the rows of
        the fit, which a loaded detector does not have. Other options are those of
        :func:`boreod.tool.write_report`.
        """
        upper_floor("tool").write_report(self, path, table, **options)

    def save(
        self,
        path: str | PathLike[str],
        *,
        extra: dict[str, Any] | None = None,
        narrowable: bool | None = None,
    ) -> None:
        """Write everything that predictions need to one file, usually with suffix ``.boreod``.

        :func:`boreod.load` reads it. The same model gives the same bytes. An existing file is
        replaced only when the new one is complete. ``extra`` is anything that JSON can hold, for
        your own use; ``stored_.extra`` of the loaded detector returns it. None keeps the ``extra``
        of a loaded model. If ``narrowable``, the file also holds the columns of the training rows,
        from which ``within`` of the loaded detector learns. None stores them if they take less than
        a fifth of the file.
        """
        upper_floor("persistence").save(self, path, extra=extra, narrowable=narrowable)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; ``bagging__ratio`` and the like set one parameter of a group."""
        for name in {key.partition("__")[0] for key in parameters if "__" in key}:
            if name in GROUPS and getattr(self, name) is None:
                setattr(self, name, GROUPS[name]())
        return super().set_params(**parameters)

    @property
    def costs_(self) -> Costs | None:
        """Prices of columns and trees, computed at first use; None if a model file has none."""
        check_fitted(self)
        if self._costs is None and self._selector is not None:
            self._costs = self._read_prices(self._unit)
        return self._costs

    def _learn(self, found: TrainingRows, settings: Settings, seeds: list[int]) -> None:
        """Fit everything, and keep the facts that reasons, checks and reports need."""
        check_alerts(self.threshold, found.shares.n_rows)
        warn_of_many_outliers(found.codes, found.shares, settings.assumes_inliers)
        learned = LearnedRows(hash_rows(found.later))
        if found.warn_of_copies is not None:
            found.warn_of_copies(learned.n_copies, len(found.rows))
        representation = representation_for(self, found, settings, seeds[0])
        self.training_ = Training.fit(
            found, representation, settings, self, seeds[1:3], self._threads
        )
        whole = self.training_.learn(self.training_.columns.names, self._threads)
        self._take(*whole)
        warn_without_score(self.oob_proba_)
        self._selector = Selector(self.training_, whole, found.rows, representation.neighbors)
        self._lessons = None
        self._costs = None
        self.stored_ = None
        if self.budget is not None:
            self._narrow()
        elif not needs_clock(settings.selection.costs, SECONDS):
            self._costs = self._selector.prices.read(settings.selection.costs, SECONDS)
        self.threshold_ = self.choose_threshold(self.threshold)
        self.reference_rows_ = found.positions
        marks = getattr(found.preparation, "marks_", None)
        profile = TrainingProfile.learn(found.rows, found.codes, found.name_of, marks)
        self.record_ = TrainingRecord(profile, learned, found.source, table=found.table)
        self._adopt(found.preparation)

    def _asked(
        self, budget: Any, batch_size: Any, costs: Any, method: Any, skip_unaffordable: Any
    ) -> Self:
        """Return a copy with this budget and these settings of the selection; None keeps a setting.

        For the batch size, SAME keeps the setting.
        """
        asked = copy.copy(self)
        asked.budget = budget
        given = {"costs": costs, "method": method, "skip_unaffordable": skip_unaffordable}
        given = {name: value for name, value in given.items() if value is not None}
        check_size(batch_size, keep=True)
        chosen = copy.copy(settings_of(self).selection)
        size = self._batches(batch_size, asked._unit)
        asked.selection = chosen.set_params(**given, batch_size=size)
        check_parameters(asked)
        return asked

    def _batches(self, batch_size: Any, unit: str) -> Any:
        """Return the number of rows per call, or None for costs in units, which have no calls."""
        if not isinstance(batch_size, str):
            return batch_size
        return settings_of(self).selection.batch_size if unit == SECONDS else None

    def _narrow(self) -> None:
        """Learn from the columns that the budget buys."""
        chosen = settings_of(self).selection
        choice, fitted, oob = self._known_selector.buy(self.budget, chosen, self._threads)
        self._take(fitted, oob, choice)
        self._costs = self._read_prices(self._unit)

    def _read_prices(self, unit: str) -> Costs:
        chosen = settings_of(self).selection
        return self._known_selector.prices.read(chosen.costs, unit, chosen.batch_size)

    def _price_of_rows(self, batch_size: int | None) -> float | None:
        """Return the price of a row; prices of calls that are not known yet are measured first."""
        found = super()._price_of_rows(batch_size)
        selector = self._selector
        if found is not None or selector is None or batch_size is None or self._costs is None:
            return found
        costs = settings_of(self).selection.costs
        if self._costs.unit != SECONDS or not needs_clock(costs, SECONDS):
            return None
        if batch_size > 1:
            return self._price(selector.prices.read(costs, SECONDS, batch_size), batch_size)
        self._seconds_alone = selector.prices.time_alone(self.fitted_)
        return self._seconds_alone

    @property
    def _known_selector(self) -> Selector:
        check_fitted(self)
        if self._selector is None:
            if self._lessons is None:
                raise NotStoredError
            with plain_interrupts(), tell_once():
                self._selector = Selector.restore(self, self._lessons, settings_of(self))
            self.training_ = self._selector.training
        return self._selector

    def _find_lessons(self) -> Lessons | None:
        if self.selection_ is not None:
            return None
        if self._lessons is not None or self.training_ is None:
            return self._lessons
        return Lessons.of(self.training_, self._known_selector.prices.neighbors)

    @property
    def _unit(self) -> str:
        """Unit of the budget; seconds if there is none."""
        return SECONDS if self.budget is None else read_budget(self.budget)[1]

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes, and that cells may be missing or hold words."""
        tags = ClassifierMixin.__sklearn_tags__(self)
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
