"""What the paper mentions beside its method: other ways to average bags, and other classifiers.

All variants use the bags and columns of BORE, on the splits of Table 2.

- **With replacement.** Rows of a bag are drawn with replacement, as the text of the paper says. The
  description of its experiments says that bags are subsamples.
- **Stacking** (Breiman, Machine Learning 24, 1996). Nonnegative least squares fits the labels by
  the probabilities of the bags, and gives the weights of the bags. Probabilities come from
  cross-validation: in each of five folds, every bag learns without the rows of the fold. Both
  classes have the same total weight.
- **Maximin aggregation** (Bühlmann, Meinshausen, magging, 2014). The weights of bags are at least 0
  and have the sum 1. Among all such weights, they minimize the mean square of the weighted log-odds
  on the labelled training rows.
- **Other linear classifiers.** Columns are standardized within a bag. A logistic link is calibrated
  on ``decision_function`` by cross-validation within the bag.
- **A penalty by cross-validation**, which is chosen by the log-loss of out-of-bag rows.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from boreod.bore import BORE
from boreod.ensemble.logistic import fit_standardized
from boreod.ensemble.parameters import PRINTED, Heads
from boreod.ensemble.training import Training
from boreod.paper.evaluation.splits import MEASURES, judge, split_rows
from boreod.paper.evaluation.summary import Run, Summary
from boreod.paper.reproduce.budgets import average_bags, train
from boreod.paper.reproduce.setup import Settings, load_repetition, paragraphs, write_csv
from boreod.parallel import one_blas_thread
from boreod.tool.documents import Section, Table
from boreod.validation import INLIER, OUTLIER

SCHEMES = {
    "mean": "BORE",
    "replacement": "with replacement",
    "stacking": "stacking",
    "maximin": "maximin",
    "svm": "linear SVM",
    "ridge": "ridge",
    "hinge": "hinge (SGD)",
    "penalty": "penalty by CV",
}
CLASSIFIERS = {"svm": LinearSVC(), "ridge": RidgeClassifier(), "hinge": SGDClassifier(loss="hinge")}
FOLDS = 5
SHOWN = ("auc", "early_auc")
# The penalty of BORE only makes separable bags well posed, so penalties up to it count as none.
NO_PENALTY = float(PRINTED.heads.penalty)


def reproduce_aggregation(settings: Settings) -> Section:
    """Compare the mean of bags with what the paper mentions beside it."""
    runs = run_schemes(settings)
    kept = ("dataset", "repetition", "method", *MEASURES, "penalty")
    write_csv(settings.folder / "aggregation.csv", [{k: run[k] for k in kept} for run in runs])
    summary = Summary(runs)
    tables = []
    for measure in SHOWN:
        rows = [
            [name, *(summary.show(name, scheme, measure) for scheme in SCHEMES)]
            for name in summary.datasets
        ]
        means = [summary.overall(scheme, measure) for scheme in SCHEMES]
        rows.append(["mean", *(f"{100 * (mean or 0.0):.1f}" for mean in means)])
        tables.append(Table(["set", *SCHEMES.values()], rows, MEASURES[measure]))
    penalties = chosen_penalties(runs)
    text = paragraphs(
        "aggregation",
        count=settings.count,
        fits=sum(penalties.values()),
        penalties=", ".join(f"{value:g} in {count}" for value, count in penalties.items()),
        none=f"{NO_PENALTY:g}",
    )
    return Section("Aggregation and classifiers", [*text, *tables])


def chosen_penalties(runs: list[Run]) -> dict[float, int]:
    """Return how often each penalty was chosen, the smallest penalty first."""
    found = [run["penalty"] for run in runs if run["method"] == "penalty"]
    return {value: found.count(value) for value in sorted(set(found))}


def run_schemes(settings: Settings) -> list[Run]:
    """Return one result for every data set, repetition and scheme."""
    plan = [(name, number) for name in settings.datasets for number in range(settings.count)]
    results = settings.run(_run_schemes, plan, "aggregation")
    return [
        {"dataset": name, "repetition": number, "method": scheme, **result[scheme]}
        for (name, number), result in zip(plan, results, strict=True)
        for scheme in SCHEMES
    ]


def _run_schemes(name: str, repetition: int, seed: int, data: Path | None) -> dict[str, Any]:
    """Return measures of all schemes on one split."""
    rows, codes = load_repetition(name, repetition, data)
    split = split_rows(codes, repetition, "transductive", seed)
    fixed: dict[str, Any] = {"n_jobs": 1, "random_state": seed + repetition}
    training = train(rows, split.labels, seed + repetition)
    odds = learn_bags(training, list(training.bags.rows))
    scores = {
        "mean": average_bags(odds),
        "replacement": average_bags(learn_bags(training, draw_again(training))),
        "stacking": average_bags(odds, stack(training, seed + repetition)),
        "maximin": odds @ weigh_by_maximin(odds[training.codes >= 0]),
    }
    for scheme, classifier in CLASSIFIERS.items():
        calibrated = CalibratedClassifierCV(classifier, cv=2, ensemble=False)
        model = BORE(estimator=make_pipeline(StandardScaler(), calibrated), **fixed)
        scores[scheme] = model.fit(rows, split.labels).decision_function(rows)
    tuned = BORE(heads=Heads(penalty="auto"), **fixed).fit(rows, split.labels)
    scores["penalty"] = tuned.decision_function(rows)
    head = tuned.fitted_.logistic
    assert head is not None
    chosen = {**dict.fromkeys(SCHEMES, training.options.recipe.penalty), "penalty": head.penalty}
    outliers = codes[split.test] == OUTLIER
    return {
        scheme: judge(outliers, scores[scheme][split.test]) | {"penalty": chosen[scheme]}
        for scheme in SCHEMES
    }


def learn_bags(training: Training, bags: list[NDArray]) -> NDArray:
    """Return the log-odds of all rows by a logistic regression on the rows of every bag."""
    recipe = training.options.recipe
    found = []
    with one_blas_thread():
        for rows in bags:
            targets = (training.codes[rows] == OUTLIER).astype(float)
            equal = np.ones(len(rows))
            penalty = float(recipe.penalty)
            beta, _ = fit_standardized(
                training.table[rows], targets, penalty, equal, recipe.fit_intercept
            )
            found.append(beta[0] + training.table @ beta[1:])
    return np.column_stack(found)


def draw_again(training: Training) -> list[NDArray]:
    """Return the same number of bags of the same size, with rows drawn with replacement."""
    random = np.random.default_rng(training.seed)
    bags = training.bags
    few = bags.n_outliers
    outliers = np.flatnonzero(training.codes == OUTLIER)
    inliers = np.flatnonzero(training.codes == INLIER)
    return [
        np.concatenate([random.choice(outliers, few), random.choice(inliers, few)])
        for _ in bags.rows
    ]


def stack(training: Training, seed: int) -> NDArray:
    """Return the weights of bags with which cross-validated probabilities fit the labels best."""
    labelled = np.flatnonzero(training.codes >= 0)
    outlying = training.codes[labelled] == OUTLIER
    folds = StratifiedKFold(
        min(FOLDS, outlying.sum(), (~outlying).sum()), shuffle=True, random_state=seed
    )
    level_one = np.empty((len(labelled), len(training.bags.rows)))
    for _, part in folds.split(labelled, outlying):
        held = labelled[part]
        others = [rows[~np.isin(rows, held)] for rows in training.bags.rows]
        level_one[part] = expit(learn_bags(training, others)[held])
    return fit_weights(level_one, outlying)


def fit_weights(level_one: NDArray, outlying: NDArray) -> NDArray:
    """Return nonnegative weights of bags with the least squared errors.

    Both classes have the same total weight.

    Examples
    --------
    >>> fit_weights(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([True, False, False]))
    array([1., 0.])
    """
    share = outlying.mean()
    balance = np.sqrt(np.where(outlying, 1.0 / share, 1.0 / (1.0 - share)))
    weights, _ = nnls(level_one * balance[:, np.newaxis], outlying * balance)
    return np.asarray(weights)


def weigh_by_maximin(odds: NDArray) -> NDArray:
    """Return the convex weights of bags with the smallest mean square of the weighted sum.

    Examples
    --------
    >>> weigh_by_maximin(np.array([[1.0, 3.0], [1.0, -3.0]])).round(2).tolist()
    [0.9, 0.1]
    """
    scaled = odds / np.abs(odds).max()
    # A last row with a large factor keeps the sum of the weights close to 1.
    total = 1e3 * np.sqrt(len(odds))
    design = np.vstack([scaled, np.full(odds.shape[1], total)])
    weights, _ = nnls(design, np.append(np.zeros(len(odds)), total))
    return np.asarray(weights / weights.sum())
