"""Measured prices are remembered: fits can be repeated, and nothing depends on the cache."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest

from boreod import BORE, Bagging, ColumnSelection, Heads, OutlierRepresentation, Reference, View
from boreod.selection import prices
from boreod.selection.costs import Costs, complexity_costs

FEW = OutlierRepresentation(["knn", "lof", "odin", "cof"], ks=[5, 10])
BUDGETS = ("5us", "20us", "100us")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; the folder of prices, which is not there yet."""
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "prices"


@pytest.fixture
def clock(monkeypatch):
    """Count how often prices are measured; every time they are a tenth higher."""
    calls = []

    def pretend(fitted, *_):
        calls.append(fitted)
        scale = 1e-6 * 1.1 ** len(calls)
        units = complexity_costs(fitted, 300, 4)
        return Costs(
            {name: scale * own for name, own in units.own.items()},
            {name: {p: scale * n for p, n in of.items()} for name, of in units.needs.items()},
            scale / 7,
            "s",
        )

    monkeypatch.setattr(prices, "measured_costs", pretend)
    return calls


def fit(data, **options):
    """Fit and ask for prices."""
    model = BORE(**{"representation": FEW, "random_state": 0, "n_estimators": 20, **options})
    assert model.fit(*data).costs_ is not None
    return model


def the_file(cache):
    (path,) = cache.iterdir()
    return path


@pytest.mark.parametrize("budget", BUDGETS)
def test_two_fits_are_the_same(budget, labelled, cache, clock):
    one, two = (fit(labelled, budget=budget) for _ in range(2))
    assert len(clock) == 1
    assert one.columns_ == two.columns_
    assert one.costs_ == two.costs_
    assert one.cost_ == two.cost_
    assert list(one.costs_.needs.items()) == list(two.costs_.needs.items())
    assert_array_equal(one.predict_proba(labelled[0]), two.predict_proba(labelled[0]))
    assert_array_equal(one.oob_proba_, two.oob_proba_)


SCRIPT = """
import sys, numpy as np
from boreod import BORE, OutlierRepresentation
X, y = np.load("X.npy"), np.load("y.npy")
for budget in sys.argv[2:]:
    few = OutlierRepresentation(["knn", "lof", "odin"], [5, 10])
    model = BORE(few, random_state=0, budget=budget, n_jobs=int(sys.argv[1]))
    try:
        model.fit(X, y)
        print(model.columns_, model.predict_proba(X).tobytes().hex(), model.costs_)
    except ValueError as error:
        print(error)  # a busy machine may have nothing to sell for 5us
"""


@pytest.mark.other_parts
def test_two_processes_are_the_same(labelled, cache, tmp_path):
    np.save(tmp_path / "X.npy", labelled[0])
    np.save(tmp_path / "y.npy", labelled[1])
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, jobs, *BUDGETS, "1s"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout
        for jobs in ("1", "2")
    ]  # fmt: skip
    assert said[0].count("\n") == 4
    assert said[0].count("Costs(") >= 1
    assert said[0] == said[1]
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("first", [None, "measured:shared"])
def test_all_spellings_share_one_measurement(first, labelled, cache, clock):
    before = fit(labelled, selection=ColumnSelection(costs=first))
    for spelling in (None, "measured:shared"):
        again = fit(labelled, selection=ColumnSelection(costs=spelling))
        assert again.costs_ == before.costs_
        again.within("30us")
        again.budget_curve(["20us", "30us"])
    assert len(clock) == 1


def test_prices_that_are_measured_again_are_remembered(labelled, cache, clock):
    old = fit(labelled).costs_
    model = fit(labelled, budget="50us")
    taken = model.measure_costs()
    assert len(clock) == 2
    assert model.costs_ == taken != old
    assert fit(labelled).costs_ == taken
    model.within("30us").within("20us")
    model.budget_curve()
    assert len(clock) == 2


def test_prices_that_are_measured_again_are_those_of_one_model(labelled, cache, clock):
    model = fit(labelled)
    before = model.costs_
    fast = model.within("50us")
    fast.measure_costs()
    assert len(clock) == 2
    assert model.costs_ == before != fast.costs_
    assert model.within("50us").costs_ == before
    assert fast.within("40us").costs_ == fast.costs_
    curve = fast.budget_curve()
    assert len(clock) == 2
    assert len(curve.budgets) > 5
    assert curve.costs[-1] == fit(labelled).costs_.total() != before.total()
    with pytest.raises(ValueError, match="a number of units, but `costs` are seconds"):
        fit(labelled, budget=50, selection=ColumnSelection(costs="measured:shared"))
    assert len(clock) == 2


def test_units_need_no_clock(labelled, cache, clock):
    model = fit(labelled, budget=20)
    assert model.costs_.unit == ""
    assert model.budget_curve().unit == ""
    model.within(30, costs="complexity:shared")
    fit(labelled, selection=ColumnSelection(costs="complexity:shared")).budget_curve()
    assert not clock
    assert not cache.exists()
    assert model.within("50us").costs_.unit == "s"
    assert len(clock) == 1


def test_a_long_key_of_other_work(labelled, cache, clock):
    """What takes another time has a price of its own; what does not, has not."""
    X, y = labelled
    fit(labelled)
    for same in (
        {"n_jobs": 1},
        {"random_state": 5},
        {"heads": Heads(penalty="auto")},
        {"bagging": Bagging(max_samples=0.5)},
        {
            "budget": "50us",
            "selection": ColumnSelection(skip_unaffordable=False, method="omp"),
            "threshold": "alerts:9",
        },
        {"calibration": "platt"},
    ):
        fit(labelled, **same)
    fit((X[::-1] + 1.0, y[::-1]))  # the shape counts, not the values
    assert len(clock) == 1
    trees = ("trees", IsolationForest(n_estimators=5))
    others = [
        {"n_estimators": 21},
        {"scaling": "rank"},
        {"reference": Reference(input_scaling=None)},
        {"reference": Reference(neighbors="brute")},
        {"reference": Reference(neighbors="tree")},
        {"estimator": ExtraTreesClassifier(5)},
        {"estimator": ExtraTreesClassifier(6)},
        {"representation": OutlierRepresentation(["knn", "lof", "odin", "cof"], [5, 11])},
        {"representation": OutlierRepresentation(["knn"], [5], ["sample:60"])},
        {"representation": OutlierRepresentation(["knn"], [5], [View("r60", (0, 1), sample=60)])},
        {"representation": OutlierRepresentation(["knn", trees], [5])},
        {
            "representation": OutlierRepresentation(
                ["knn", ("trees", IsolationForest(n_estimators=6))], [5]
            )
        },
    ]
    for number, options in enumerate(others):
        fit(labelled, **options)
        assert len(clock) == 2 + number, options
        fit(labelled, **options)
        assert len(clock) == 2 + number, options
    fit((X[:-1], y[:-1]))
    fit((X[:, :-1], y))
    assert len(clock) == 4 + number


def test_another_machine_or_version(labelled, cache, clock, monkeypatch):
    fit(labelled)
    for name, value in (("_processor", lambda: "a faster one"), ("__version__", "0.0.7")):
        prices._machine.cache_clear()
        monkeypatch.setattr(prices, name, value)
        fit(labelled)
    assert len(clock) == 3
    monkeypatch.undo()
    prices._machine.cache_clear()


def rewrite(change, sign=False):
    """Change the content of a file, and perhaps its checksum as well."""

    def damage(path):
        held = json.loads(path.read_text())
        change(held)
        if sign:
            held["sha256"] = prices._hash([held["facts"], held["costs"]])
        path.write_text(json.dumps(held))

    return damage


def replace_by(make):
    def damage(path):
        path.unlink()
        make(path)

    return damage


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "binary": lambda path: path.write_bytes(b"\xff\xfe\0\0" * 99),
    "null": lambda path: path.write_text("null"),
    "list": lambda path: path.write_text("[1, 2]"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "other keys": lambda path: path.write_text('{"sha256": 5, "costs": []}'),
    "folder": replace_by(lambda path: path.mkdir()),
    "pipe": replace_by(os.mkfifo),
    "link in a circle": replace_by(lambda path: path.symlink_to(path)),
    "not readable": lambda path: path.chmod(0),
    "edited": rewrite(lambda held: held["costs"]["own"].update(lof_5=1e-9)),
    "other facts": rewrite(lambda held: held["facts"].update(table=[3, 4]), sign=True),
    "negative": rewrite(lambda held: held["costs"]["own"].update(lof_5=-1.0), sign=True),
    "not finite": rewrite(lambda held: held["costs"].update(base=float("nan")), sign=True),
    "words": rewrite(lambda held: held["costs"]["own"].update(lof_5="much"), sign=True),
    "units": rewrite(lambda held: held["costs"].update(unit=""), sign=True),
    "more columns": rewrite(lambda held: held["costs"]["own"].update(nope=1.0), sign=True),
    "fewer columns": rewrite(lambda held: held["costs"]["own"].pop("x0"), sign=True),
    "more arguments": rewrite(lambda held: held["costs"].update(nope=1.0), sign=True),
    "needs of none": rewrite(lambda held: held["costs"]["needs"].update(x9={}), sign=True),
    "a list of prices": rewrite(lambda held: held["costs"].update(own=[1.0]), sign=True),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_measured_anew(name, labelled, cache, clock):
    fit(labelled)
    path = the_file(cache)
    before = path.read_bytes()
    DAMAGES[name](path)
    if name == "not readable" and os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    model = fit(labelled)
    assert len(clock) == 2
    assert model.costs_.names == model.columns_
    if name in ("folder", "pipe", "link in a circle"):
        return  # what is no file is left alone
    again = fit(labelled)  # the damaged file was replaced
    assert len(clock) == 2
    assert again.costs_ == model.costs_
    assert path.read_bytes() != before


def test_a_good_file_that_was_signed_again_is_read(labelled, cache, clock):
    """The changes above are refused for what they change."""
    fit(labelled)
    rewrite(lambda held: held["costs"]["own"].update(lof_5=0.125), sign=True)(the_file(cache))
    assert fit(labelled).costs_.own["lof_5"] == 0.125
    assert len(clock) == 1


def test_a_cache_that_cannot_be_written(labelled, tmp_path, monkeypatch, clock):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("BOREOD_CACHE", str(tmp_path / "file"))
    fit(labelled, budget="50us")
    monkeypatch.setenv("BOREOD_CACHE", "/proc/nowhere")
    fit(labelled, budget="50us")
    monkeypatch.setenv("BOREOD_CACHE", "~no-such-user/cache")  # no home
    fit(labelled, budget="50us")
    assert len(clock) == 3
    assert os.listdir(tmp_path) == ["file"]


def test_a_cache_that_may_only_be_read(labelled, cache, clock, monkeypatch):
    fit(labelled)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(prices, "write_text", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    fit(labelled)
    assert len(clock) == 1
    fit(labelled, n_estimators=21)
    fit(labelled, n_estimators=21)
    assert len(clock) == 3
    assert len(list(cache.iterdir())) == 1


def test_a_full_disk_leaves_nothing(labelled, cache, clock, monkeypatch):
    def fail(path, *_, **__):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", fail)
    fit(labelled)
    assert list(cache.iterdir()) == []


def test_the_folder_may_be_deleted(labelled, cache, clock):
    import shutil

    first = fit(labelled)
    shutil.rmtree(cache.parent)
    second = fit(labelled)
    assert len(clock) == 2
    assert second.costs_ != first.costs_


def test_the_first_of_two_processes_wins(labelled, cache, clock, monkeypatch):
    """While one measures, another one writes: both use the same prices."""
    faster = []
    measure = prices.measured_costs

    def overtaken(*arguments):
        if not faster:
            faster.append(None)
            faster[0] = fit(labelled)
        return measure(*arguments)

    monkeypatch.setattr(prices, "measured_costs", overtaken)
    model = fit(labelled)
    assert len(clock) == 2
    assert model.costs_ == faster[0].costs_


def facts(number):
    return {"number": number}


def test_the_folder_stays_small(cache, monkeypatch):
    monkeypatch.setattr(prices, "MOST_FILES", 5)
    costs = Costs({"a": 1.0}, unit="s")

    def ask(number, seconds):
        measured = []
        prices.remembered_costs(facts(number), ["a"], lambda: measured.append(1) or costs)
        if (cache / prices._place(facts(number)).name).exists():
            os.utime(prices._place(facts(number)), (seconds, seconds))
        return bool(measured)

    for number in range(8):
        assert ask(number, 1000 + number)
    (cache / ".0123456789ab.part").write_text("half")
    os.utime(cache / ".0123456789ab.part", (1, 1))
    (cache / "notes.txt").write_text("mine")
    assert len(list(cache.glob("*.json"))) == 5
    assert not ask(3, 2000)  # it was used, so it is not old
    assert ask(8, 1008)
    assert not ask(3, 2000)
    assert ask(4, 1009)
    assert sorted(path.suffix for path in cache.iterdir()) == [".json"] * 5 + [".txt"]
    monkeypatch.setattr(prices, "MOST_BYTES", 1)
    ask(99, 3000)
    assert list(cache.glob("*.json")) == []


def test_a_folder_in_the_cache_of_prices_is_left_alone(cache, monkeypatch):
    monkeypatch.setattr(prices, "MOST_FILES", 2)
    (cache / "mine.json").mkdir(parents=True)
    os.utime(cache / "mine.json", (1, 1))
    for number in range(4):
        prices.remembered_costs(facts(number), ["a"], lambda: Costs({"a": 1.0}, unit="s"))
    assert (cache / "mine.json").is_dir()
    assert len(list(cache.glob("*.json"))) == 3
