"""Broken and hostile files: one sentence, no traceback from the inside, little memory."""

import inspect
import itertools
import json
import re
import tracemalloc
import zipfile
from struct import pack

import numpy as np
import pytest
from fuzz.model_cases import HUGE, MANIFESTS, forge, spoil_manifest
from safetensors.numpy import load, save

from boreod import BORE, OutlierRepresentation
from boreod.persistence import ModelFileError, load_model, save_model
from boreod.persistence.archive import write_archive
from boreod.persistence.manifest import OF_REPRESENTATION
from boreod.tool import load_predictor

ALLOWANCE = 100_000_000


@pytest.fixture(scope="module")
def original(labelled, tmp_path_factory):
    """The bytes of a model file that uses most of the format."""
    grid = OutlierRepresentation(["knn", "lof", "kdeos", "loop"], [4, 9], ["full", "sample:50"])
    model = BORE(grid, budget=60, costs="complexity:shared", n_estimators=20, random_state=0)
    path = tmp_path_factory.mktemp("original") / "model.boreod"
    save_model(model.fit(*labelled), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def parts(original, tmp_path_factory):
    """Its manifest and its arrays."""
    path = tmp_path_factory.mktemp("parts") / "model.boreod"
    path.write_bytes(original)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", "arrays.safetensors"]
        return json.loads(archive.read("manifest.json")), archive.read("arrays.safetensors")


def assert_refused(path, content=None):
    """Load a file, expect one sentence, and look at the memory."""
    if content is not None:
        path.write_bytes(content)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * size + ALLOWANCE
    assert_one_sentence(str(caught.value))
    assert caught.value.__suppress_context__
    return str(caught.value)


def assert_one_sentence(message):
    assert re.fullmatch(r"The model file '.*' cannot be used: [^\n]{5,}[^.]\.", message), message
    assert ". " not in message
    assert len(message) < 600


def test_forging_works(parts, tmp_path):
    assert load_model(forge(tmp_path / "a", *parts)).columns_


@pytest.mark.parametrize("seed", range(4))
def test_bit_flips(seed, original, tmp_path):
    random = np.random.default_rng(seed)
    for _ in range(20):
        changed = bytearray(original)
        changed[random.integers(len(original))] ^= 1 << random.integers(8)
        assert_refused(tmp_path / "a", bytes(changed))


def test_bit_flips_around_the_members(original, parts, tmp_path):
    """Bytes that are neither manifest nor arrays."""
    size = len(parts[1])
    start = original.index(parts[1][:64])
    around = [*range(63), *range(start - 68, start), *range(start + size, len(original))]
    for number, place in enumerate(around[::3]):
        changed = bytearray(original)
        changed[place] ^= 1 << number % 8
        assert_refused(tmp_path / "a", bytes(changed))


def test_truncation_and_more(original, tmp_path):
    random = np.random.default_rng(1)
    for length in [0, 1, 4, 62, 63, 64, 500, *random.integers(len(original), size=30)]:
        assert_refused(tmp_path / "a", original[:length])
        assert_refused(tmp_path / "a", original[length + 1 :])
    for more in (b"\0", b"PK\5\6" + bytes(18), original):
        assert_refused(tmp_path / "a", original + more)
        assert_refused(tmp_path / "a", more + original)


def test_swapped_arrays(parts, tmp_path):
    random = np.random.default_rng(2)
    manifest, content = parts
    arrays = load(content)
    pairs = [
        (one, two)
        for one, two in itertools.combinations(sorted(arrays), 2)
        if arrays[one].shape != arrays[two].shape
    ]
    for one, two in random.choice(pairs, 20, replace=False):
        swapped = save({**arrays, one: arrays[two], two: arrays[one]})
        assert "SHA-256" in assert_refused(forge(tmp_path / "a", manifest, swapped, honest=False))
        message = assert_refused(forge(tmp_path / "a", manifest, swapped))
        assert "not those that its manifest asks for" in message


def test_wrong_shapes(parts, tmp_path):
    manifest, content = parts
    arrays = load(content)
    for name, values in arrays.items():
        for wrong in (values[:-1], values[..., np.newaxis], values.astype(np.float32), values.T):
            if wrong.shape == values.shape and wrong.dtype == values.dtype:
                continue
            other = save({**arrays, name: np.ascontiguousarray(wrong)})
            assert "manifest asks for" in assert_refused(forge(tmp_path / "a", manifest, other))
        if name != "seen.hashes":  # older files have none
            fewer = {key: array for key, array in arrays.items() if key != name}
            assert_refused(forge(tmp_path / "a", manifest, save(fewer)))


def test_files_that_do_not_tell_their_rows_load(parts, labelled, tmp_path):
    """So do any hashes: rows are then unknown."""
    manifest, content = parts
    arrays = load(content)
    lowest = np.full_like(arrays["seen.hashes"], np.iinfo(np.int64).min)
    strange = load_model(forge(tmp_path / "a", manifest, save({**arrays, "seen.hashes": lowest})))
    assert set(strange.learned_rows_.find(np.zeros((3, strange.n_features_in_))).tolist()) == {-1}
    del arrays["seen.hashes"]
    older = load_model(forge(tmp_path / "a", manifest, save(arrays)))
    assert older.learned_rows_ is None


def test_wrong_values(parts, tmp_path):
    manifest, content = parts
    arrays = load(content)
    for name, values in arrays.items():
        wrongs = {"float64": (np.nan, np.inf, -np.inf), "int32": (-1, 10**6), "int8": (-2, 2, 9)}
        wrongs["int64"] = ()  # any hash may be
        for wrong in wrongs[values.dtype.name]:
            described = name.rpartition(".")[2].startswith(("describe", "log_", "bandwidth"))
            if described and wrong in (np.inf, -np.inf):
                continue  # the density of copies is infinite
            if name == "oob.probabilities" and np.isnan(wrong):
                continue  # a labelled row may be in every bag
            changed = values.copy()
            changed.flat[-1] = wrong
            other = save({**arrays, name: changed})
            assert name in assert_refused(forge(tmp_path / "a", manifest, other))


def test_unlabelled_rows_have_a_probability(parts, tmp_path):
    manifest, content = parts
    arrays = load(content)
    arrays["oob.labels"][0], arrays["oob.probabilities"][0] = -1, np.nan
    assert "oob.probabilities" in assert_refused(forge(tmp_path / "a", manifest, save(arrays)))


@pytest.mark.parametrize("value", [1e308, -1e308])
@pytest.mark.parametrize("name", ["base", "scaler.low", "input.low", "members.0.coefficients"])
def test_numbers_whose_products_are_not_finite(name, value, parts, tmp_path):
    manifest, content = parts
    arrays = load(content)
    arrays[name] = np.full_like(arrays[name], value)
    assert name in assert_refused(forge(tmp_path / "a", manifest, save(arrays)))


@pytest.mark.parametrize("slope", [1e-320, 1e307])
def test_slopes_beyond_all_numbers(slope, parts, tmp_path):
    manifest = {**parts[0], "correction": {"shift": 0.0, "slope": slope}}
    assert "members.0.coefficients" in assert_refused(forge(tmp_path / "a", manifest, parts[1]))


def test_the_largest_numbers_give_finite_scores(parts, labelled, tmp_path):
    manifest, content = parts
    arrays = load(content)
    arrays["scaler.factor"] = np.full_like(arrays["scaler.factor"], 1e308)
    coefficients = arrays["members.0.coefficients"]
    coefficients[:] = np.resize([1e150, -1e150], coefficients.shape)
    model = load_model(forge(tmp_path / "a", manifest, save(arrays)))
    far = np.vstack([labelled[0][:50], np.full((1, 4), 1e150)])
    assert np.isfinite(model.decision_function(far)).all()
    assert np.isfinite(model.explain(far).log_odds).all()


@pytest.mark.parametrize("huge", HUGE)
def test_huge_declared_sizes_in_the_manifest(huge, parts, tmp_path):
    for change in (
        lambda m: m["members"][0].update(bags=huge),
        lambda m: m["representation"].update(reference_rows=huge),
        lambda m: m["representation"]["views"][0].update(rows=huge),
        lambda m: m["representation"]["views"][0]["scores"][0].update(ks=[4, huge]),
        lambda m: m["representation"]["views"][0].update(columns=[huge]),
        lambda m: (m.update(rows=huge), m["shares"].update(n_rows=huge)),
    ):
        manifest = json.loads(json.dumps(parts[0]))
        change(manifest)
        assert_refused(forge(tmp_path / "a", manifest, parts[1]))


@pytest.mark.parametrize("huge", [2**31, 2**40, 2**62, 2**64 - 1])
def test_huge_declared_sizes_elsewhere(huge, original, parts, tmp_path):
    manifest, arrays = parts
    size = pack("<Q", len(arrays))
    assert original.count(size) >= 4
    changed = original.replace(size, pack("<Q", huge))
    assert_refused(tmp_path / "a", changed)
    of_manifest = pack("<Q", original.index(b"PK\3\4", 4) - 63)
    assert_refused(tmp_path / "a", original.replace(of_manifest, pack("<Q", huge)))
    assert_refused(forge(tmp_path / "a", manifest, pack("<Q", huge) + arrays[8:]))
    header = arrays[8 : 8 + int.from_bytes(arrays[:8], "little")]
    wrong = re.sub(rb'"shape":\[300,', b'"shape":[%d,' % huge, header)
    assert_refused(forge(tmp_path / "a", manifest, pack("<Q", len(wrong)) + wrong + arrays[8:]))


@pytest.mark.parametrize(
    "names",
    [
        ("/etc/passwd", "arrays.safetensors"),
        ("manifest.json", "/tmp/arrays.safetensors"),
        ("../manifest.json", "../arrays.safetensors"),
        ("manifest.json", "arrays.pkl"),
        ("manifest.json",),
        ("arrays.safetensors", "manifest.json"),
        ("manifest.json", "arrays.safetensors", "more.py"),
        (),
    ],
)
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_other_archives(names, compression, parts, tmp_path):
    path = tmp_path / "a"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name in names:
            archive.writestr(name, parts[1] if "arrays" in name else json.dumps(parts[0]))
    assert_refused(path)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_hostile_manifests(name, parts, tmp_path):
    assert_refused(forge(tmp_path / "a", MANIFESTS[name], parts[1], honest=False))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"representation": {"scorez": "all"}}, "no parameter 'scorez'"),
        ({"representation": {"scores": [{"score class": "os"}]}}, "uses the score 'os'"),
        ({"representation": {"views": [{"view": {"nam": "full"}}]}}, "nam"),
        ({"representation": 3}, "a parameter in the manifest must be an object"),
        ({"tuple": []}, "`representation` must be"),
        ({"tuple": [], "representation": {}}, "of an unknown kind"),
    ],
)
def test_parameters_are_refused_by_all_who_load(given, words, parts, tmp_path):
    """Predictors do not need the representation of a fit, but know damaged files by it."""
    changed = {**parts[0], "parameters": {**parts[0]["parameters"], "representation": given}}
    path = forge(tmp_path / "a", changed, parts[1])
    assert words in assert_refused(path)
    with pytest.raises(ModelFileError, match=re.escape(words)):
        load_predictor(path)


def test_names_of_the_parameters_of_a_representation():
    assert list(OF_REPRESENTATION) == list(inspect.signature(OutlierRepresentation).parameters)


@pytest.mark.parametrize("number", [1, 4, 6, 8])
def test_another_format(number, parts, tmp_path):
    manifest = {**parts[0], "format": number, "versions": {"boreod": "9.1"}, "new": True}
    message = assert_refused(forge(tmp_path / "a", manifest, parts[1]))
    assert f"format {number} and was written by boreod '9.1'" in message
    assert "reads format 7, so fit again with this version, or install that one" in message


def prices(change):
    return lambda manifest: change(manifest["costs"])


WRONG_PRICES = {
    "negative": (prices(lambda c: c["own"].update(x0=-1.0)), "got -1.0 for 'x0'"),
    "too expensive": (prices(lambda c: c["own"].update(x0=1e101)), "for 'x0'"),
    "negative need": (prices(lambda c: c["needs"]["knn_9"].update(a=-1.0)), "'knn_9, a'"),
    "negative base": (prices(lambda c: c.update(base=-0.5)), "for 'base'"),
    "a word": (prices(lambda c: c["own"].update(x0="1")), "must be a finite number"),
    "true": (prices(lambda c: c["own"].update(x0=True)), "must be a finite number"),
    "nothing": (prices(lambda c: c.update(own={}, needs={})), "the price of at least one column"),
    "a call in units": (prices(lambda c: c.update(call=dict(c))), "Only costs in seconds"),
    "a call that is none": (prices(lambda c: c.update(call=[1.0])), "must be an object"),
    "few without a call": (prices(lambda c: c.update(few=dict(c))), "needs a `call`"),
    "heads that are none": (prices(lambda c: c.update(heads={"trees": -1.0})), "Costs must be"),
    "no rows in a batch": (lambda m: m["selection"].update(batch_size=0), "selection.batch_size"),
    "a batch without prices": (lambda m: m["selection"].update(batch_size=1), "of a call"),
    "a free row": (lambda m: m.update(alone=0.0), "manifest.alone"),
    "a row that takes words": (lambda m: m.update(alone="1us"), "must be a finite number"),
    "another unit": (prices(lambda c: c.update(unit="ms")), "unit of costs"),
    "needs alone": (prices(lambda c: c["needs"].update(lof_3={})), "needs of 'lof_3'"),
    "unknown name": (prices(lambda c: c["own"].update(nope=1.0)), "manifest.costs does not fit"),
    "too large a k": (prices(lambda c: c["own"].update(lof_300=1.0)), "manifest.costs does not"),
    "raw but not there": (prices(lambda c: c["own"].update(x4=1.0)), "manifest.costs does not"),
    "a column in use": (prices(lambda c: c["own"].pop("x0")), "selection.columns"),
    "other prices": (prices(lambda c: c["own"].update(x0=2.0)), "selection.cost"),
    "a cost": (lambda m: m["selection"].update(cost=m["selection"]["cost"] / 2), "selection.cost"),
    "a budget": (lambda m: m["selection"].update(budget=0.5), "selection.cost"),
    "a share": (
        lambda m: m["selection"]["frequencies"].update(x0=1.5),
        "selection.frequencies",
    ),
    "prices of the choice": (
        lambda m: m["selection"].update(costs={**m["costs"], "base": -1.0}),
        "for 'base'",
    ),
}


@pytest.mark.parametrize("name", WRONG_PRICES)
def test_wrong_prices(name, parts, tmp_path):
    manifest = json.loads(json.dumps(parts[0]))
    assert manifest["selection"]["costs"] is None
    assert "x0" in manifest["columns"]
    change, words = WRONG_PRICES[name]
    change(manifest)
    assert words in assert_refused(forge(tmp_path / "a", manifest, parts[1]))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("seed", range(4))
def test_odd_values_anywhere(seed, parts, labelled, tmp_path):
    """A file is refused in a sentence, or it is a model."""
    random = np.random.default_rng(seed)
    for _ in range(60):
        manifest = json.loads(json.dumps(parts[0]))
        spoil_manifest(manifest, random)
        path = tmp_path / "a"
        write_archive(path, json.dumps(manifest).encode(), parts[1])
        try:
            model = load_model(path)
        except ModelFileError as error:
            assert_one_sentence(str(error))
        else:
            assert np.isfinite(model.decision_function(labelled[0])).all()


def test_large_files_are_read_once(labelled, tmp_path):
    """Forged rows make a file of 64 MB; refusing it takes less than twice that."""
    grid = OutlierRepresentation(["knn"], [4], passthrough=False)
    path = tmp_path / "a"
    save_model(BORE(grid, n_estimators=20, random_state=0).fit(*labelled), path)
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        arrays = load(archive.read("arrays.safetensors"))
    arrays["reference"] = np.zeros((2_000_000, 4))
    manifest["representation"]["reference_rows"] = 2_000_000
    arrays["reference"][-1, -1] = np.nan
    forge(path, manifest, save(arrays))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="'reference' holds numbers that no model has"):
        load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2.0 * path.stat().st_size + 5_000_000


def test_things_that_are_no_files(tmp_path):
    import os

    with pytest.raises(FileNotFoundError, match=r"The model file could not be read .*nowhere"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError, match="The model file could not be read"):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match="device"):
        load_model("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe"):
        load_model(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="null"):
        load_model("a\0b")
