"""scikit-learn's own checks: no failure, no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from boreod import BORE, Detector, Heads, OutlierRepresentation


@pytest.mark.filterwarnings("ignore::boreod.ColumnsLeftOutWarning")
@pytest.mark.filterwarnings("ignore:.*is taken for the outlier")
@pytest.mark.filterwarnings("ignore:.*-1 is read as inlier")
@pytest.mark.filterwarnings("ignore:More rows are labelled outliers")
@parametrize_with_checks(
    [OutlierRepresentation(), BORE(), Detector(n_estimators=40, heads=Heads(n_trees=1))]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
