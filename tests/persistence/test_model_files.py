"""What a model file costs, what is refused, and what an interrupted save leaves behind."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest
from sklearn.exceptions import NotFittedError

from boreod import BORE, ColumnSelection, Detector, Heads, OutlierRepresentation, View, save
from boreod.persistence import ModelFileError, load_predictor
from boreod.persistence.container import JSON_LIMIT
from boreod.scores import KNN, LOF

FEW = OutlierRepresentation(["knn", "lof"], ks=[5, 10])


@pytest.fixture(scope="module")
def model(labelled):
    return BORE(FEW, random_state=0).fit(*labelled)


@pytest.fixture(scope="module")
def large():
    random = np.random.default_rng(0)
    y = (np.arange(4000) < 80).astype(int)
    X = random.normal(size=(4000, 8)) + 2.0 * y[:, np.newaxis] * random.normal(size=(4000, 8))
    return X, y


SIZES = {
    # scores, views: statistics per reference row and column of the view, in numbers; novelty
    # needs one more, the distance of every training row to its 10th neighbor
    "knn": (["knn_10"], ["full"], 0),
    "geometry": (["abod_10", "ldof_10"], ["full"], 0),
    "loop": (["loop_10"], ["full"], 1),
    "lof": (["lof_10"], ["full"], 2),
    "lof at two ks": (["lof_10", "lof_20"], ["full"], 4),
    "reverse": (["odin_10", "inflo_10"], ["full"], 1),
    "two subspaces": (["loop_10"], ["full", View("a", (0, 1)), View("b", (1, 2))], 3),
    "two metrics": (["knn_10"], ["full", "manhattan", "cosine"], 0),
    "all at one k": ("all", ["full"], 10),
}


@pytest.mark.parametrize("name", SIZES)
def test_size(name, large, tmp_path):
    X, y = large
    scores, views, statistics = SIZES[name]
    grid = OutlierRepresentation(scores, [10] if scores == "all" else None, views)
    model = BORE(grid, selection=ColumnSelection(costs="complexity:shared"), random_state=0).fit(
        X, y
    )
    save(model, tmp_path / "a", narrowable=False)
    needed = 8 * len(X) * (X.shape[1] + statistics + 1)
    profile = len(json.dumps(asdict(model.record_.profile)))
    assert (tmp_path / "a").stat().st_size - profile <= 1.3 * needed


def test_size_of_trees(large, tmp_path):
    """Five bytes a node: no child, no threshold of a leaf, no value of an inner node."""
    model = Detector(
        OutlierRepresentation([]), heads=Heads(kinds="trees"), n_estimators=20, random_state=0
    )
    save(model.fit(*large), tmp_path / "a")
    n_nodes = model.fitted_.members[0].head.trees.n_nodes
    assert n_nodes > 10_000
    of_rows = 17 * len(large[0])
    assert (tmp_path / "a").stat().st_size <= 5 * n_nodes + of_rows + 100_000


def test_only_rows_in_use_are_stored(large, tmp_path):
    X, y = large
    grid = OutlierRepresentation(["lof"], [5, 10], ["full", "sample:100", "sample:200"])
    model = BORE(grid, selection=ColumnSelection(costs="complexity:shared"), random_state=0).fit(
        X, y
    )
    expensive = dict.fromkeys(model.columns_, 1000)
    fast = model.within(3, costs={**expensive, "lof_5@r100": 1, "lof_10@r200": 2})
    assert {name[-5:] for name in fast.columns_} <= {"@r100", "@r200"}
    save(fast, tmp_path / "few")
    raw = model.within(3, costs={**expensive, "x0": 1, "x1": 1})
    save(raw, tmp_path / "none")
    of_labels = 17 * len(X)  # probability out of bag, label and hash of every training row
    of_novelty = 8 * len(X)
    assert (tmp_path / "few").stat().st_size < 60_000 + of_labels + of_novelty
    assert (tmp_path / "none").stat().st_size < 20_000 + of_labels
    for fitted, name in ((fast, "few"), (raw, "none")):
        loaded = load_predictor(tmp_path / name, kind=BORE)
        np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    for name in ("a", "b"):
        save(model, str(tmp_path / name), extra={"b": 1, "a": 2})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert {"manifest", "sha256", "reference"} <= set(load_file(tmp_path / "a"))


class Mine(KNN):
    """A score that is not in the registry."""

    name = "mine"


REFUSED = {
    "classifier": ({"estimator": ExtraTreesClassifier(5)}, "ExtraTreesClassifier.*own `heads`"),
    "detector": (
        {"representation": OutlierRepresentation(["knn_5", IsolationForest(n_estimators=5)])},
        "isolationforest come from detectors of other libraries.*Leave them out",
    ),
    "score": ({"representation": OutlierRepresentation([Mine()], [5])}, "is Mine.*not a score"),
    "seed": ({"random_state": np.random.RandomState(0)}, r"`random_state`.*random_state=0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_stored(name, labelled, tmp_path):
    options, message = REFUSED[name]
    fitted = BORE(**{"representation": FEW, "random_state": 0, **options}).fit(*labelled)
    with pytest.raises(ModelFileError, match=message):
        save(fitted, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_detector_that_is_only_a_parameter(labelled, tmp_path):
    grid = OutlierRepresentation(["knn_5", IsolationForest(n_estimators=5)])
    model = (
        BORE(grid, random_state=0)
        .fit(*labelled)
        .within(4, costs={"knn_5": 9, "isolationforest": 9})
    )
    with pytest.raises(ModelFileError, match=r"`scores` holds IsolationForest.*knn, knnw"):
        save(model, tmp_path / "a")


@pytest.mark.parametrize(
    "extra", [[1], "text", {1: 2}, {"a": (1, 2)}, {"a": np.nan}, {"a": {1, 2}}, {"a": b"b"}]
)
def test_extra_must_be_json(extra, model, tmp_path):
    with pytest.raises(ModelFileError, match="`extra` must be a dict that JSON can hold"):
        save(model, tmp_path / "a", extra=extra)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (LOF(), TypeError, r"`model` must be a BORE or a Detector; got LOF"),
        (BORE(), NotFittedError, "not fitted"),
    ],
)
def test_what_is_no_model(given, kind, words, tmp_path):
    with pytest.raises(kind, match=words):
        save(given, tmp_path / "a")


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("nowhere/a", FileNotFoundError, r"could not be written .*nowhere"),
        ("folder", IsADirectoryError, "could not be written"),
    ],
)
def test_where_nothing_can_be_written(path, kind, words, model, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(kind, match=words):
        save(model, tmp_path / path)
    assert [item.name for item in tmp_path.iterdir()] == ["folder"]


def test_a_manifest_has_a_limit(model, tmp_path):
    with pytest.raises(ModelFileError, match="shorten `extra`"):
        save(model, tmp_path / "a", extra={"a": "b" * JSON_LIMIT})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (KeyboardInterrupt, KeyboardInterrupt, "^$"),
        (
            OSError(28, "No space left on device"),
            OSError,
            r"could not be written \(no space left on device\)",
        ),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_save_leaves_what_was_there(
    failure, kind, words, step, model, tmp_path, monkeypatch
):
    (tmp_path / "a").write_bytes(b"before")

    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(kind, match=words):
        save(model, tmp_path / "a")
    assert [item.name for item in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"before"


def test_a_disk_that_fills_up(model, tmp_path):
    """The system itself refuses to let the file grow."""
    save(model, tmp_path / "a")
    script = (
        "import resource, signal; from boreod import BORE\n"
        "from boreod.persistence import load_predictor, save\n"
        "model = load_predictor('a', kind=BORE); signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "try: save(model, 'b')\n"
        "except OSError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "The model file could not be written (file too large): 'b'" in done.stdout
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_model_of_many_columns_with_long_names_can_be_saved(tmp_path):
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(40, 3000))).add_prefix("a long name " * 20)
    few = OutlierRepresentation(["knn"], ks=[5])
    wide = Detector(few, heads=Heads("logistic"), n_estimators=2, random_state=0)
    with pytest.warns(UserWarning, match="in every bag"):
        wide.fit(frame, np.arange(40) % 4 == 0)
    wide.save(tmp_path / "wide.boreod")
    loaded = load_predictor(tmp_path / "wide.boreod")
    assert len(loaded.preparation_.names_) == 3000
    assert (loaded.predict_proba(frame) == wide.predict_proba(frame)).all()


def test_a_model_of_too_many_values_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.setattr("boreod.files.MOST_MARKS", 100)
    with pytest.raises(ModelFileError, match=r"cannot be saved.*holds more values"):
        model.save(tmp_path / "model.boreod")
    assert not list(tmp_path.iterdir())
