"""scikit-learn's own checks: no failure, no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from boreod import OutlierRepresentation


@pytest.mark.filterwarnings("ignore::boreod.ColumnsLeftOutWarning")
@parametrize_with_checks([OutlierRepresentation()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
