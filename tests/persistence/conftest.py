"""A model file, and its parts to forge others from."""

import pytest
from fuzz.model_cases import (
    take_apart,
)

from boreod import BORE, ColumnSelection, OutlierRepresentation

ALLOWANCE = 100_000_000


@pytest.fixture(scope="module")
def original(labelled, tmp_path_factory):
    """The bytes of a model file that uses most of the format."""
    grid = OutlierRepresentation(["knn", "lof", "kdeos", "loop"], [4, 9], ["full", "sample:50"])
    model = BORE(
        grid,
        budget=60,
        selection=ColumnSelection(costs="complexity:shared"),
        n_estimators=20,
        random_state=0,
    )
    path = tmp_path_factory.mktemp("original") / "model.boreod"
    model.fit(*labelled).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def parts(original):
    """Its manifest and its arrays."""
    return take_apart(original)
