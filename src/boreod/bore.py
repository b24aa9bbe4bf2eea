"""BORE: the detector with the defaults of the paper."""

from typing import Any

from boreod.detector import Detector
from boreod.ensemble.parameters import PRINTED


class BORE(Detector):
    """Bagged Outlier Representation Ensemble: probabilities from a few labelled outliers.

    Unsupervised outlier scores are added to the raw columns. A logistic regression is run to its
    optimum on each of many balanced bags of labelled rows. The bags' probabilities are averaged.
    Nothing needs tuning: the defaults are the paper's.

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
        super().__init__(
            representation=representation,
            reference=reference,
            scaling=scaling,
            n_estimators=n_estimators,
            bagging=bagging,
            heads=heads,
            estimator=estimator,
            calibration=calibration,
            prior=prior,
            threshold=threshold,
            budget=budget,
            selection=selection,
            outlier_label=outlier_label,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
