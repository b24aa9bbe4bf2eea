"""Dask frames and arrays: counted, gathered, and mapped over."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import boreod
from boreod.parallel.dask_engine import count_rows, gather_rows, is_collection, map_rows

dask_package = pytest.importorskip("dask")
da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")

FRAME = pd.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0) ** 2, "c": 1.0})


def frame():
    """Partitions of 13 or 12 rows, of which the first two are empty after a filter."""
    whole = dd.from_pandas(FRAME, npartitions=4)
    return whole[whole.a >= 30]


def array():
    return da.from_array(FRAME.to_numpy(), chunks=(20, 1))


def array_of_unknown_size():
    whole = array()
    return whole[whole[:, 0] >= 30]


def named(model, part):
    return part["b"].to_numpy() + model["shift"]


def both(model, part):
    rows = part.to_numpy() if isinstance(part, pd.DataFrame) else part
    assert rows.shape[1] == 3
    return np.column_stack([rows[:, 1], rows.sum(axis=1)]) + model["shift"]


@pytest.fixture(params=["here", "cluster"])
def place(request):
    """Without an engine on threads of this process, and on the workers of a cluster."""
    if request.param == "here":
        with dask_package.config.set(scheduler="threads"):
            yield
    else:
        with boreod.parallel.dask(request.getfixturevalue("client")):
            yield


def test_what_is_a_collection():
    assert all(is_collection(table) for table in (frame(), frame()["a"], array()))
    others = (FRAME, FRAME.to_numpy(), None, [[1.0]], dask_package.delayed(FRAME))
    assert not any(is_collection(table) for table in others)


def test_rows_are_counted(place):
    assert count_rows(frame()) == [0, 0, 8, 12]
    assert count_rows(array()) == [20, 20, 10]
    assert count_rows(array_of_unknown_size()) == [0, 10, 10]


@pytest.mark.parametrize("make", [frame, array, array_of_unknown_size])
@pytest.mark.parametrize("positions", [None, [0, 1, 9, 10, 19], [7], []])
def test_rows_are_gathered(make, positions, place):
    found, everything = gather_rows(make(), positions), make().compute(scheduler="sync")
    chosen = everything if positions is None else everything[:0]
    if positions:
        chosen = (everything.iloc if make is frame else everything)[positions]
    assert type(found) is type(everything)
    if make is frame:
        pd.testing.assert_frame_equal(found, chosen)
    else:
        assert_array_equal(found, chosen)


@pytest.mark.parametrize("positions", [[3, 2], [1, 1], [-1, 4], [5, 20]])
def test_wrong_positions_are_refused(positions):
    with (
        dask_package.config.set(scheduler="sync"),
        pytest.raises(ValueError, match="must ascend and lie between 0 and 19, the last row"),
    ):
        gather_rows(frame(), positions)


def test_only_chosen_rows_are_fetched():
    """What leaves a partition is what was chosen, not the partition."""
    seen = []

    def note(key, result, *_):
        seen.append((key, result))

    callbacks = pytest.importorskip("dask.callbacks")
    with dask_package.config.set(scheduler="sync"), callbacks.Callback(posttask=note):
        gather_rows(array(), [3, 4, 45])
    picked = [len(result) for key, result in seen if "_pick" in str(key)]
    assert sorted(picked) == [1, 2]


@pytest.mark.parametrize("make", [frame, array, array_of_unknown_size])
def test_functions_of_rows(make, place):
    table = make()
    lazy = map_rows(both, table, {"shift": 0.5}, 2, np.float64)
    assert isinstance(lazy, da.Array)
    assert lazy.shape[1] == 2
    assert lazy.dtype == np.float64
    rows = np.asarray(table.compute(scheduler="sync"))
    assert_array_equal(lazy.compute(), both({"shift": 0.5}, rows))


def test_shapes_are_known_as_far_as_those_of_the_table(place):
    assert map_rows(both, array(), {"shift": 0}, 2, float).chunks == ((20, 20, 10), (2,))
    assert np.isnan(map_rows(both, frame(), {"shift": 0}, 2, float).shape[0])


def test_names_reach_the_function_and_types_the_result(place):
    lazy = map_rows(named, frame(), {"shift": 1}, None, np.float32)
    found = lazy.compute()
    assert found.dtype == lazy.dtype == np.float32
    assert_array_equal(found, FRAME["b"].to_numpy(np.float32)[30:] + 1)


def test_a_table_without_rows(place):
    nothing = dd.from_pandas(FRAME, npartitions=2)
    nothing = nothing[nothing.a < 0]
    assert map_rows(both, nothing, {"shift": 1}, 2, float).compute().shape == (0, 2)
    assert gather_rows(nothing).shape == (0, 3)
