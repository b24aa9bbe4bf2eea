"""BORE: the detector with the defaults of the paper."""

from typing import Any

from boreod.detector import Detector
from boreod.ensemble.parameters import PRINTED
from boreod.predictor import PARAMETERS


class BORE(Detector):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are added to the raw columns. A logistic regression without an
    intercept is run to its optimum on each of many balanced bags of labelled rows. The bags'
    probabilities are averaged. With a budget, every bag buys columns. The columns that most bags
    bought are taken first, until one does not fit the budget; columns that no bag bought come
    last, in their order. These are the paper's method and settings; nothing needs tuning.

    Two things differ from the printed paper. A ridge penalty of 1e-6 keeps the optimum of separable
    bags finite; in each bag, columns are divided by the root of their mean square first.
    Probabilities are corrected for how rare outliers are, which keeps the ranking;
    ``predict_proba(X, raw=True)`` returns the probabilities of the paper. With k = 1, some scores
    are equal: ``knnw_1`` is ``knn_1``, and ``slof_1`` and ``cof_1`` are ``lof_1``. If columns are
    equally good, the first one is chosen.
    Rows that almost equal a labelled outlier of the fit, such as the same rows as float32, find it
    as a neighbor and may lose their alerts, unless ``reference=Reference(outliers=False)``.

    Parameters, attributes and methods are those of :class:`Detector`; the defaults differ. Frames
    of finite numbers are used unchanged.

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

    _preset = PRINTED
    _takes_numeric_frames_as_they_are = True

    def __init__(
        self,
        representation: Any = None,
        reference: Any = None,
        scaling: str = "minmax",
        n_estimators: int = 50,
        bagging: Any = None,
        heads: Any = None,
        estimator: Any = None,
        calibration: str | None = None,
        prior: float | None = None,
        threshold: float | str | None = 0.5,
        budget: float | str | None = None,
        selection: Any = None,
        outlier_label: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        given = locals()
        super().__init__(**{name: given[name] for name in PARAMETERS})
