"""Model files whose trees or heads were forged: refused in a sentence, or models that end."""

import json

import numpy as np
import pytest
from fuzz.model_cases import HUGE, forge, spoil_manifest, take_apart

from boreod import Detector, Heads, OutlierRepresentation, save
from boreod.persistence import ModelFileError, load_predictor
from boreod.persistence.members import StoredTrees, pack_trees, tree_tensors, unpack_trees
from boreod.scores.tree_kernels import find_right
from boreod.scores.trees import Trees

from .test_hostile_files import assert_one_sentence, assert_refused

KINDS = ["logistic", "trees", "trees+scores", "boosted", "boosted+scores"]
TREES, BOOSTED, FOREST = "members.1", "members.3", "forests.0"


@pytest.fixture(scope="module")
def parts(labelled, tmp_path_factory):
    """Manifest and arrays of a detector of all heads, with a forest among its columns."""
    X, y = labelled
    few = OutlierRepresentation(["knn_4", "iforest"])
    model = Detector(few, n_estimators=6, heads=Heads(n_trees=2), random_state=0)
    with pytest.warns(UserWarning, match="in every bag"):
        model.fit(X, np.where(y > 0, 1, -1))
    path = tmp_path_factory.mktemp("trees") / "model.boreod"
    save(model, path)
    manifest, arrays = take_apart(path.read_bytes())
    assert manifest["assumed"]
    assert [member["kind"] for member in manifest["members"]] == KINDS
    return manifest, arrays


def forged(path, parts, change):
    """Write a file after a change of manifest and arrays."""
    manifest = json.loads(json.dumps(parts[0]))
    arrays = {name: values.copy() for name, values in parts[1].items()}
    change(manifest, arrays)
    return forge(path, manifest, arrays)


def test_forging_works(parts, labelled, tmp_path):
    path = forged(tmp_path / "a", parts, lambda manifest, arrays: None)
    assert np.isfinite(load_predictor(path, kind=Detector).decision_function(labelled[0])).all()


def put(name, place, value):
    """Return a change of one number of an array."""

    def change(manifest, arrays):
        arrays[name][place] = value

    return change, name


def swap_nodes(manifest, arrays):
    """A leaf where a tree begins: the counts are right, the tree is none."""
    feature = arrays[f"{TREES}.feature"]
    leaf = np.flatnonzero(feature < 0)[0]
    feature[[0, leaf]] = feature[[leaf, 0]]


def swap_starts(manifest, arrays):
    starts = arrays[f"{FOREST}.starts"]
    starts[[2, 3]] = starts[[3, 2]]


def shift_start(manifest, arrays):
    """Node counts are right, but the trees are cut at a wrong place."""
    arrays[f"{TREES}.starts"][1] += 2


WRONG_ARRAYS = {
    "leaf at the top": (swap_nodes, f"{TREES}.feature"),
    "starts that descend": (swap_starts, f"{FOREST}.starts"),
    "starts elsewhere": (shift_start, f"{TREES}.feature"),
    "first start": put(f"{TREES}.starts", 0, 1),
    "negative start": put(f"{TREES}.starts", 1, -3),
    "last start": put(f"{TREES}.starts", -1, 10**6),
    "same start": put(f"{BOOSTED}.starts", 1, 0),
    "column outside": put(f"{TREES}.feature", 0, 4),  # of four raw columns
    "column of a forest": put(f"{FOREST}.feature", 0, 2**15 - 1),
    "leaf of another number": put(f"{TREES}.feature", 0, -2),
    "a leaf less": put(f"{TREES}.feature", -1, 0),
    "a leaf more": put(f"{FOREST}.feature", 0, -1),
    "no leaf": put(f"{BOOSTED}.feature", slice(None), 0),
    "leaves alone": put(f"{BOOSTED}.feature", slice(None), -1),
    "threshold": put(f"{TREES}.threshold", 3, np.nan),
    "infinite threshold": put(f"{FOREST}.threshold", 0, -np.inf),
    "leaf without a value": put(f"{TREES}.code", 5, 2**16 - 1),
    "leaf of a forest": put(f"{FOREST}.code", -1, 10_000),
    "certain leaf": put(f"{TREES}.value", 5, 1.0),
    "impossible leaf": put(f"{TREES}.value", 5, 0.0),
    "almost certain leaf": put(f"{TREES}.value", slice(None), np.nextafter(1.0, 0.0)),
    "negative leaf": put("members.2.value", -1, -0.5),
    "leaf that is no number": put(f"{BOOSTED}.value", 0, np.nan),
    "huge leaf": put(f"{BOOSTED}.value", 0, 1e151),
    "infinite leaf": put(f"{BOOSTED}.value", 0, -np.inf),
    "negative number of splits": put(f"{FOREST}.value", 0, -1.0),
    "huge number of splits": put(f"{FOREST}.value", 0, 1e200),
    "coefficient": put("members.0.coefficients", (0, 0), np.nan),
    "labels of nobody": put("oob.labels", slice(None), 0),
    "outliers alone": put("oob.labels", slice(None), 1),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays(name, parts, tmp_path):
    change, words = WRONG_ARRAYS[name]
    assert repr(words) in assert_refused(forged(tmp_path / "a", parts, change))


def member(place, **content):
    """Return a change of a member in the manifest."""
    return lambda manifest, arrays: manifest["members"][place].update(content)


WRONG_MANIFESTS = {
    "negative weight": member(1, weight=-0.2),
    "large weight": member(1, weight=1.5),
    "other sum of weights": member(1, weight=0.0),
    "flat line": member(2, line={"shift": 0.0, "slope": 0.0}),
    "falling line": member(2, line={"shift": 0.0, "slope": -1.0}),
    "steep line": member(0, line={"shift": 0.0, "slope": 1e307}),
    "line without slope": member(2, line={"shift": 0.0}),
    "unknown kind": member(1, kind="forest"),
    "kind twice": member(2, kind="trees"),
    "trees as coefficients": member(1, kind="logistic"),
    "coefficients as trees": member(0, kind="trees"),
    "no penalty": member(0, penalty=None),
    "no trees": member(1, trees=None),
    "no bags": member(1, bags=0),
    "bags of unequal size": member(1, bags=5),
    "half a node": member(1, trees={"number": 12, "nodes": 13, "values": 5}),
    "more trees than nodes": member(1, trees={"number": 12, "nodes": 10, "values": 5}),
    "more values than leaves": member(1, trees={"number": 12, "nodes": 12, "values": 13}),
    "no values": member(1, trees={"number": 12, "nodes": 12, "values": 0}),
    "no tree": member(1, trees={"number": 0, "nodes": 0, "values": 0}),
    "features outside": member(1, features=[0, 1, 2, 60]),
    "features that descend": member(1, features=[3, 2, 1, 0]),
    "no features": member(1, features=[]),
    "negative features": member(1, features=[-1, 0, 1, 2]),
    "no members": lambda m, a: m.update(members=[]),
    "a member alone": lambda m, a: m.update(members=m["members"][:1]),
    "sample of a forest": lambda m, a: m["representation"]["forests"][0].update(sampled=0),
    "column of a forest": lambda m, a: m["representation"]["forests"][0].update(label="x0"),
    "no forest": lambda m, a: m["representation"].update(forests=[]),
    "order of columns": lambda m, a: m.update(columns=m["columns"][::-1]),
    "inliers left out": lambda m, a: m.update(left_out=-1),
    "more left out than there are": lambda m, a: m.update(left_out=300),
    "labelled inliers": lambda m, a: m.update(assumed=False),
}


@pytest.mark.parametrize("name", WRONG_MANIFESTS)
def test_wrong_manifests(name, parts, tmp_path):
    assert_refused(forged(tmp_path / "a", parts, WRONG_MANIFESTS[name]))


@pytest.mark.parametrize("huge", HUGE)
def test_huge_declared_sizes(huge, parts, tmp_path):
    for change in (
        member(1, trees={"number": huge, "nodes": huge, "values": 9}),
        member(1, trees={"number": 12, "nodes": huge, "values": 9}),
        member(1, trees={"number": 12, "nodes": 2 * huge + 12, "values": huge}),
        member(1, bags=huge),
        lambda m, a: m["representation"]["forests"][0]["trees"].update(nodes=huge),
        lambda m, a: m["representation"]["forests"][0].update(sampled=huge),
        lambda m, a: m.update(quantiles=huge),
        lambda m, a: m.update(left_out=huge),
    ):
        assert_refused(forged(tmp_path / "a", parts, change))


def is_model(path, rows):
    """Whether a file is a model whose answers are finite, or is refused in a sentence."""
    try:
        model = load_predictor(path, kind=Detector)
    except ModelFileError as error:
        assert_one_sentence(str(error))
        return False
    explained = model.explain(rows)
    assert np.isfinite(explained.log_odds).all()
    assert np.isfinite(explained.contributions).all()
    return True


@pytest.mark.parametrize("seed", range(3))
def test_random_nodes(seed, parts, labelled, tmp_path):
    """Numbers of trees that are possible one by one, at random places."""
    random, found = np.random.default_rng(seed), set()
    names = [name for name in sorted(parts[1]) if name.split(".")[0] in ("members", "forests")]
    for _ in range(40):

        def change(manifest, arrays):
            values = arrays[names[random.integers(len(names))]]
            places = random.integers(values.size, size=random.choice([1, 2, 5]))
            low, high = {"i": (-1, 5), "u": (0, 9), "f": (1e-9, 0.99)}[values.dtype.kind]
            values.flat[places] = random.uniform(low, high, len(places))

        found.add(is_model(forged(tmp_path / "a", parts, change), labelled[0][:20]))
    assert found == {True, False}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("seed", range(3))
def test_odd_values_anywhere(seed, parts, labelled, tmp_path):
    random = np.random.default_rng(seed)
    for _ in range(40):
        path = forged(tmp_path / "a", parts, lambda m, a: spoil_manifest(m["members"], random))
        is_model(path, labelled[0][:20])


def test_the_largest_leaves_give_finite_answers(parts, labelled, tmp_path):
    def change(manifest, arrays):
        values = arrays[f"{BOOSTED}.value"]
        values[:] = np.resize([1e150, -1e150, 1e-300], len(values))
        arrays[f"{TREES}.value"][::2] = 1e-12

    assert is_model(forged(tmp_path / "a", parts, change), labelled[0])


def test_trees_as_deep_as_they_have_nodes(parts, labelled, tmp_path):
    """Every inner node has a leaf on its left: 200,000 steps a row, and no recursion."""
    n_inner = 200_000

    def change(manifest, arrays):
        trees = {"number": 1, "nodes": 2 * n_inner + 1, "values": 1}
        manifest["members"][1].update(bags=1, trees=trees)
        arrays[f"{TREES}.starts"] = np.array([0, 2 * n_inner + 1], np.int32)
        arrays[f"{TREES}.feature"] = np.resize([0, -1], 2 * n_inner + 1).astype(np.int16)
        arrays[f"{TREES}.feature"][-1] = -1
        arrays[f"{TREES}.threshold"] = np.full(n_inner, -9.0, np.float32)
        arrays[f"{TREES}.value"] = np.array([0.5])
        arrays[f"{TREES}.code"] = np.zeros(n_inner + 1, np.uint16)

    assert is_model(forged(tmp_path / "a", parts, change), labelled[0][:20])


@pytest.fixture(scope="module")
def ranking(labelled, tmp_path_factory):
    """Manifest and arrays of a detector that was fitted without labels."""
    model = Detector(OutlierRepresentation(["knn_4", "lof_9"]), n_estimators=6, random_state=0)
    path = tmp_path_factory.mktemp("ranking") / "model.boreod"
    save(model.fit(labelled[0]), path)
    manifest, arrays = take_apart(path.read_bytes())
    assert [member["kind"] for member in manifest["members"]] == ["consensus", "trees"]
    return manifest, arrays


WRONG_RANKINGS = {
    "a known outlier": put("oob.labels", 3, 1),
    "a row without a place": put("oob.probabilities", 3, np.nan),
    "scores that descend": put("ranks.scores", 0, 1e9),
    "scores that are the same": put("ranks.scores", slice(None), 0.0),
    "odds that descend": put("ranks.odds", 0, 1e9),
    "odds that are none": put("ranks.odds", -1, np.inf),
    "odds out of reach": put("ranks.odds", -1, 1e150),
    "no center": put("members.0.center", 0, np.nan),
    "negative spread": put("members.0.spread", 0, -1.0),
    "spread without inverse": put("members.0.spread", 0, 1e-310),
    "mean": put("members.0.mean", 0, 1.5),
    "deviation": put("members.0.deviation", 0, -1.0),
    "certain leaf": put("members.1.value", 0, 1.0),
}


@pytest.mark.parametrize("name", WRONG_RANKINGS)
def test_wrong_rankings(name, ranking, tmp_path):
    change, words = WRONG_RANKINGS[name]
    assert repr(words) in assert_refused(forged(tmp_path / "a", ranking, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda m, a: m.update(knots=1),
        lambda m, a: m.update(knots=10**30),
        lambda m, a: m.update(knots=0),
        lambda m, a: m.update(correction={"shift": 0.0, "slope": 2.0}),
        member(0, line={"shift": 0.0, "slope": 1e-200}),
        member(0, bags=2),
        member(0, penalty=1.0),
        member(1, kind="boosted"),
    ],
)
def test_wrong_manifests_of_rankings(change, ranking, tmp_path):
    assert_refused(forged(tmp_path / "a", ranking, change))


def test_the_smallest_divisors_of_rankings(ranking, labelled, tmp_path):
    def change(manifest, arrays):
        arrays["members.0.spread"][:] = 1e-100
        arrays["members.0.deviation"][:] = 1.1e-12
        arrays["scaler.factor"][:] = 1e308

    assert is_model(forged(tmp_path / "a", ranking, change), labelled[0])


@pytest.mark.parametrize("n_columns", [3, 40_000])
def test_many_columns_and_many_values(n_columns):
    """Types of arrays are as small as columns and values allow; -0.0 stays what it is."""
    values = np.append(np.linspace(-1.0, 1.0, 70_000), [0.0, -0.0])
    n_leaves, few = len(values), n_columns < 2**15
    trees = Trees(
        np.arange(n_leaves + 1, dtype=np.int32), np.full(n_leaves, -1, np.int32),
        np.zeros(n_leaves, np.float32), values,
    )  # fmt: skip
    stored, arrays = pack_trees(trees)
    tensors = tree_tensors(stored, n_columns, -1.0, 1.0)
    assert tensors["feature"].kind == ("I16" if few else "I32")
    assert tensors["code"].kind == "I32"
    again = unpack_trees(arrays, "a")
    assert again.value.tobytes() == values.tobytes()
    np.testing.assert_array_equal(again.feature, trees.feature)


def test_right_children():
    # a tree of five nodes, one of a leaf, and one whose second node has no right child
    starts = np.array([0, 5, 6, 9], np.int32)
    feature = np.array([0, 1, -1, -1, -1, -1, 0, 0, -1], np.int32)
    right, deepest = find_right(starts, feature)
    assert right.tolist() == [4, 3, 0, 0, 0, 0, 8, 0, 0]
    assert deepest.tolist() == [2, 0, 1]
    arrays = {"starts": starts[:3], "feature": feature[:6], "value": np.arange(4.0)}
    arrays |= {"threshold": np.array([0.5, 0.25], np.float32), "code": np.arange(4)}
    trees = unpack_trees(arrays, "a")
    stored, again = pack_trees(trees)
    assert stored == StoredTrees(2, 6, 4)
    assert sorted(again) == sorted(arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(again[name], values)
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert trees.add_up(rows, 2).tolist() == [[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]]


def of_shape(shape):
    """Arrays of nodes (/) and leaves (.) in preorder; a space starts a tree."""
    marks, sizes = "".join(shape.split()), [len(tree) for tree in shape.split()]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    feature = np.array([0 if mark == "/" else -1 for mark in marks], np.int32)
    code, threshold = np.zeros(marks.count("."), int), np.zeros(marks.count("/"), np.float32)
    arrays = {"starts": starts, "feature": feature, "threshold": threshold}
    return arrays | {"code": code, "value": np.zeros(1)}


def test_shapes_of_trees():
    for shape in (".", "/..", "/./..", "//...", ". /.. ."):
        assert unpack_trees(of_shape(shape), "a").n_trees == len(shape.split())
    for shape in ("/", "/.", "..", "/...", "./.", "/. ...", "/.. /.", "//. ...."):
        with pytest.raises(ModelFileError, match=r"a\.feature"):
            unpack_trees(of_shape(shape), "a")
