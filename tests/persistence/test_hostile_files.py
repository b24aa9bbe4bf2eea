"""Broken and hostile files: one sentence, no traceback from the inside, little memory."""

import inspect
import itertools
import json
import os
import re
import tracemalloc
from struct import pack

import numpy as np
import pytest
from fuzz.model_cases import (
    HUGE,
    MANIFESTS,
    forge,
    join_header,
    split_header,
    spoil_manifest,
    take_apart,
)
from safetensors.numpy import load, save

from boreod import BORE, OutlierRepresentation
from boreod.persistence import ModelFileError, load_predictor
from boreod.persistence.parameters import OF_REPRESENTATION
from persistence.refusals import assert_one_sentence, assert_refused

ALLOWANCE = 100_000_000


def test_forging_works(parts, tmp_path):
    assert load_predictor(forge(tmp_path / "a", *parts), kind=BORE).columns_


def test_a_list_whose_length_looks_like_a_zip_archive(original, tmp_path):
    header, rest = split_header(original)
    padded = join_header(header.ljust(int.from_bytes(b"PK", "little")), rest)
    assert padded.startswith(b"PK\0\0")
    (tmp_path / "a").write_bytes(padded)
    assert load_predictor(tmp_path / "a", kind=BORE).columns_


@pytest.mark.parametrize("seed", range(4))
def test_bit_flips(seed, original, tmp_path):
    random = np.random.default_rng(seed)
    for _ in range(20):
        changed = bytearray(original)
        changed[random.integers(len(original))] ^= 1 << random.integers(8)
        assert_refused(tmp_path / "a", bytes(changed))


def test_bit_flips_around_the_arrays(original, tmp_path):
    """Bytes that no hash covers, and the hash itself."""
    header, rest = split_header(original)
    around = [*range(8 + len(header)), *range(len(original) - 32, len(original))]
    assert load(original)["sha256"].tobytes() == rest[-32:]
    for number, place in enumerate(around[::17]):
        changed = bytearray(original)
        changed[place] ^= 1 << number % 8
        assert_refused(tmp_path / "a", bytes(changed))


def test_truncation_and_more(original, tmp_path):
    random = np.random.default_rng(1)
    for length in [0, 1, 4, 62, 63, 64, 500, *random.integers(len(original), size=30)]:
        assert_refused(tmp_path / "a", original[:length])
        assert_refused(tmp_path / "a", original[length + 1 :])
    for more in (b"\0", b" ", bytes(8), original):
        assert_refused(tmp_path / "a", original + more)
        assert_refused(tmp_path / "a", more + original)


def test_swapped_arrays(original, parts, tmp_path):
    random = np.random.default_rng(2)
    manifest, arrays = parts
    pairs = [
        (one, two)
        for one, two in itertools.combinations(sorted(arrays), 2)
        if arrays[one].shape != arrays[two].shape
    ]
    for one, two in random.choice(pairs, 20, replace=False):
        swapped = {one: arrays[two], two: arrays[one]}
        content = save({**load(original), **swapped})
        assert "SHA-256" in assert_refused(tmp_path / "a", content)
        message = assert_refused(forge(tmp_path / "a", manifest, {**arrays, **swapped}))
        assert "not those that its manifest asks for" in message


def test_wrong_shapes(parts, tmp_path):
    manifest, arrays = parts
    for name, values in arrays.items():
        for wrong in (values[:-1], values[..., np.newaxis], values.astype(np.float32), values.T):
            if wrong.shape == values.shape and wrong.dtype == values.dtype:
                continue
            other = {**arrays, name: np.ascontiguousarray(wrong)}
            assert "manifest asks for" in assert_refused(forge(tmp_path / "a", manifest, other))
        fewer = {key: array for key, array in arrays.items() if key != name}
        assert_refused(forge(tmp_path / "a", manifest, fewer))
    more = {**arrays, "more": np.zeros(3)}
    assert "manifest asks for" in assert_refused(forge(tmp_path / "a", manifest, more))


def test_any_hash_of_a_row_may_be(parts, tmp_path):
    manifest, arrays = parts
    lowest = np.full_like(arrays["seen.hashes"], np.iinfo(np.int64).min)
    path = forge(tmp_path / "a", manifest, {**arrays, "seen.hashes": lowest})
    strange = load_predictor(path, kind=BORE)
    assert set(
        strange.record_.learned_rows.find(np.zeros((3, strange.n_features_in_))).tolist()
    ) == {-1}


def test_wrong_values(parts, tmp_path):
    manifest, arrays = parts
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
            assert name in assert_refused(
                forge(tmp_path / "a", manifest, {**arrays, name: changed})
            )


def test_rows_of_a_view_that_wrap_around(parts, tmp_path):
    """Differences of these numbers are positive in 32 bits."""
    manifest, arrays = parts
    name = next(name for name in arrays if name.endswith(".rows"))
    changed = arrays[name].copy()
    changed[1:4] = 2**31 - 1, -(2**31), -5
    assert name in assert_refused(forge(tmp_path / "a", manifest, {**arrays, name: changed}))


def test_unlabelled_rows_have_a_probability(parts, tmp_path):
    manifest, arrays = parts
    labels = arrays["oob.labels"].copy()
    labels[0] = -1
    probabilities = arrays["oob.probabilities"].copy()
    probabilities[0] = np.nan
    changed = {**arrays, "oob.labels": labels, "oob.probabilities": probabilities}
    assert "oob.probabilities" in assert_refused(forge(tmp_path / "a", manifest, changed))


@pytest.mark.parametrize("value", [1e308, -1e308])
@pytest.mark.parametrize("name", ["base", "scaler.low", "input.low", "members.0.coefficients"])
def test_numbers_whose_products_are_not_finite(name, value, parts, tmp_path):
    manifest, arrays = parts
    changed = {**arrays, name: np.full_like(arrays[name], value)}
    assert name in assert_refused(forge(tmp_path / "a", manifest, changed))


@pytest.mark.parametrize("slope", [1e-320, 1e307])
def test_slopes_beyond_all_numbers(slope, parts, tmp_path):
    manifest = {**parts[0], "correction": {"shift": 0.0, "slope": slope}}
    assert "members.0.coefficients" in assert_refused(forge(tmp_path / "a", manifest, parts[1]))


def test_the_largest_numbers_give_finite_scores(parts, labelled, tmp_path):
    manifest, arrays = parts
    changed = {
        "scaler.factor": np.full_like(arrays["scaler.factor"], 1e308),
        "members.0.coefficients": np.resize(
            [1e150, -1e150], arrays["members.0.coefficients"].shape
        ),
    }
    model = load_predictor(forge(tmp_path / "a", manifest, {**arrays, **changed}), kind=BORE)
    far = np.vstack([labelled[0][:50], np.full((1, 4), 1e150)])
    assert np.isfinite(model.decision_function(far)).all()
    assert np.isfinite(model.explain(far).log_odds).all()


HUGE_CLAIMS = {
    "bags": lambda m, huge: m["members"][0].update(bags=huge),
    "reference rows": lambda m, huge: m["representation"].update(reference_rows=huge),
    "rows of a view": lambda m, huge: m["representation"]["views"][0].update(rows=huge),
    "ks": lambda m, huge: m["representation"]["views"][0]["scores"][0].update(ks=[4, huge]),
    "columns": lambda m, huge: m["representation"]["views"][0].update(columns=[huge]),
    "rows": lambda m, huge: (m.update(rows=huge), m["shares"].update(n_rows=huge)),
}


@pytest.mark.parametrize("claim", HUGE_CLAIMS)
def test_huge_declared_sizes_in_the_manifest(claim, parts, tmp_path):
    for huge in HUGE:
        manifest = json.loads(json.dumps(parts[0]))
        HUGE_CLAIMS[claim](manifest, huge)
        assert_refused(forge(tmp_path / "a", manifest, parts[1]))


@pytest.mark.parametrize("huge", [2**31, 2**40, 2**62, 2**64 - 1])
def test_huge_declared_sizes_elsewhere(huge, original, tmp_path):
    assert_refused(tmp_path / "a", pack("<Q", huge) + original[8:])
    header, rest = split_header(original)
    entries = json.loads(header)
    for name in ("manifest", "sha256", "reference"):
        begin, end = entries[name]["data_offsets"]
        for change in (
            {"shape": [huge]},
            {"shape": [300, huge]},
            {"data_offsets": [begin, huge]},
            {"data_offsets": [huge, huge + end - begin]},
            {"data_offsets": [begin, begin + huge], "shape": [huge]},
        ):
            wrong = {**entries, name: {**entries[name], **change}}
            assert_refused(tmp_path / "a", join_header(json.dumps(wrong).encode(), rest))


@pytest.mark.parametrize("name", MANIFESTS)
def test_hostile_manifests(name, parts, tmp_path):
    assert_refused(forge(tmp_path / "a", MANIFESTS[name], parts[1]))


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


@pytest.mark.parametrize("number", [1, 4, 8, 10])
def test_another_format(number, parts, tmp_path):
    manifest = {**parts[0], "format": number, "versions": {"boreod": "9.1"}, "new": True}
    message = assert_refused(forge(tmp_path / "a", manifest, parts[1]))
    assert f"format {number} and was written by boreod '9.1'" in message
    assert "reads format 9, so fit again with this version, or install the version that" in message


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
        path = forge(tmp_path / "a", manifest, parts[1])
        try:
            model = load_predictor(path, kind=BORE)
        except ModelFileError as error:
            assert_one_sentence(str(error))
        else:
            assert np.isfinite(model.decision_function(labelled[0])).all()


def test_large_files_are_read_once(labelled, tmp_path):
    """Forged rows make a file of 64 MB; refusing it takes less than twice that."""
    grid = OutlierRepresentation(["knn"], [4], passthrough=False)
    path = tmp_path / "a"
    BORE(grid, n_estimators=20, random_state=0).fit(*labelled).save(path)
    manifest, arrays = take_apart(path.read_bytes())
    arrays["reference"] = np.zeros((2_000_000, 4))
    manifest["representation"]["reference_rows"] = 2_000_000
    arrays["reference"][-1, -1] = np.nan
    forge(path, manifest, arrays)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="'reference' holds numbers that no model has"):
        load_predictor(path, kind=BORE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2.0 * path.stat().st_size + 5_000_000


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("nowhere", FileNotFoundError, r"The model file could not be read .*nowhere"),
        ("", IsADirectoryError, "The model file could not be read"),
        ("/dev/zero", ModelFileError, "device"),
        ("pipe", ModelFileError, "pipe"),
        ("a\0b", ModelFileError, "null"),
    ],
)
def test_things_that_are_no_files(name, kind, words, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kind, match=words):
        load_predictor(tmp_path / name, kind=BORE)
