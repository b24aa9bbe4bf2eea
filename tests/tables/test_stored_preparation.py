"""A preparation survives JSON, and nothing else is taken for one."""

import copy
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payments import ROLES, make_payments

from boreod.tables import Preparation, TableError

FITTED = Preparation(5).fit(make_payments(), **ROLES)
STORED = FITTED.to_dict()


def test_json_and_back():
    again = Preparation.from_dict(json.loads(json.dumps(STORED, allow_nan=False)))
    assert again.to_dict() == STORED
    assert again.names_ == FITTED.names_
    assert again.types_ == FITTED.types_
    assert again.describe() == FITTED.describe()
    table = make_payments(80, seed=3)
    assert again.transform(table).tobytes() == FITTED.transform(table).tobytes()


def places(data, path=()):
    """Give the places of all values within plain data."""
    yield path
    inner = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else inner:
        yield from places(value, (*path, key))


def changed(path, value):
    data = copy.deepcopy(STORED)
    if not path:
        return value
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=300)
@given(path=st.sampled_from(list(places(STORED))), value=JUNK)
def test_junk_is_refused_or_harmless(path, value):
    data = changed(path, value)
    try:
        read = Preparation.from_dict(data)
    except TableError:
        return
    json.dumps(read.to_dict(), allow_nan=False)
    assert len(set(read.names_)) == len(read.names_)


STEP = {row.get("kind", "text"): number for number, row in enumerate(STORED["steps"])}
STEP |= {row["task"]: number for number, row in enumerate(STORED["steps"])}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 1),
        (("version",), True),
        (("max_levels",), 0),
        (("steps",), []),
        (("steps", 0), None),
        (("steps", 0, "task"), "eval"),
        (("steps", 0, "name"), 5),
        (("steps", 0, "name"), "x" * 20_000),
        (("steps", 0, "name"), STORED["steps"][1]["name"]),
        (("steps", 0, "extra"), 1),
        (("steps", STEP["number"], "middle"), math.nan),
        (("steps", STEP["number"], "middle"), math.inf),
        (("steps", STEP["number"], "middle"), "1"),
        (("steps", STEP["number"], "middle"), True),
        (("steps", STEP["number"], "middle"), 10**400),
        (("steps", STEP["boolean"], "marked"), 1),
        (("steps", STEP["category"], "levels"), []),
        (("steps", STEP["category"], "levels"), ["a", "a"]),
        (("steps", STEP["category"], "levels"), "abc"),
        (("steps", STEP["category"], "levels"), [f"{n}" for n in range(100_001)]),
        (("steps", STEP["presence"], "kind"), "date"),
        (("steps", STEP["number"], "kind"), "text"),
        (("steps", STEP["number"], "task"), "category"),
        (("summary",), [["a", "b", "c"]]),
        (("summary",), [["a", "b", "c", -1]]),
        (("notes",), [1]),
        (("ids",), ["a", "a"]),
        (("label",), ["fraud"]),
        (("more",), 1),
        ((), []),
        ((), None),
    ],
)
def test_damage_is_named(path, value):
    with pytest.raises(TableError, match=r"damaged|distinct"):
        Preparation.from_dict(changed(path, value))


@pytest.mark.parametrize("key", list(STORED))
def test_nothing_may_be_missing(key):
    data = {name: value for name, value in STORED.items() if name != key}
    with pytest.raises(TableError, match="damaged"):
        Preparation.from_dict(data)
