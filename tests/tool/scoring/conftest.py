"""What the tests of deployment share."""

import pytest
from payments import make_frauds, small_model

from boreod import load


@pytest.fixture(scope="session")
def new():
    """Payments that come later."""
    return make_frauds(210, seed=1)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model that went through a file."""
    path = tmp_path_factory.mktemp("model") / "fraud.boreod"
    small_model().save(path)
    return load(path)
