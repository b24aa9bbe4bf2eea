"""Ids with many levels: frequencies, odds of outliers; nothing leaks."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.preprocessing import TargetEncoder

from boreod import Detector, Heads, OutlierRepresentation
from boreod.metrics import auc
from boreod.tables import Preparation, TableError, read_table
from boreod.tables.preparing.steps import PRIOR_ROWS, make_targets

LEVELS = 50
RANDOM = np.random.default_rng(0)
SHOPS = np.concatenate([RANDOM.zipf(1.3, 1195) % LEVELS, np.arange(60, 65)])
CODES = np.where(RANDOM.random(1200) < np.where(SHOPS % 5 == 3, 0.5, 0.02), 1, 0)
TABLE = pa.table({"shop": [f"shop {shop}" for shop in SHOPS], "x": RANDOM.normal(size=1200)})


@pytest.fixture(scope="module")
def prepared():
    return Preparation().fit(TABLE, CODES)


def test_frequency_and_odds(prepared):
    assert prepared.names_ == ["shop frequency", "shop outlier odds", "x"]
    assert "frequency and outlier odds (without a row's own label) of" in prepared.summary_[0].done
    rows = prepared.transform(TABLE)
    counts = np.bincount(SHOPS)[SHOPS]
    np.testing.assert_allclose(rows[:, 0], np.log10(counts / 1200))
    share = CODES.mean()
    encoder = TargetEncoder(smooth=PRIOR_ROWS, target_type="binary").fit(SHOPS[:, None], CODES)
    expected = logit(encoder.transform(SHOPS[:, None])[:, 0]) - logit(share)
    told = (counts > 1) | (CODES == 1)  # a level that was there once is as good as new
    np.testing.assert_allclose(rows[told, 1], expected[told])


def test_new_and_missing_levels_add_nothing(prepared):
    rows = prepared.transform(pa.table({"shop": ["new", None], "x": [0.0, 0.0]}))
    assert rows[:, 1].tolist() == [0.0, 0.0]
    assert rows[0, 0] == np.log10(1 / 1200)
    assert rows[1, 0] > rows[0, 0]


def test_training_rows_are_prepared_as_if_they_were_new():
    rows = Preparation().fit_transform(TABLE, CODES)
    alone = np.bincount(SHOPS)[SHOPS] == 1
    assert alone.any()
    assert np.allclose(rows[alone, 0], np.log10(1 / 1200))
    assert (rows[alone, 1] == 0.0).all()
    changed = CODES.copy()
    place = int(np.flatnonzero(CODES == 0)[0])
    other = int(np.flatnonzero((CODES == 1) & (SHOPS[place] != SHOPS))[0])
    changed[[place, other]] = 1, 0  # as many as before
    again = Preparation()
    assert again.fit_transform(TABLE, changed)[place, 1] != pytest.approx(
        again.transform(TABLE)[place, 1]
    )


def test_the_training_table_can_be_prepared_again(prepared):
    first = Preparation().fit_transform(TABLE, CODES)
    stored = Preparation.from_dict(prepared.to_dict())
    assert stored.transform_training(TABLE, CODES).tobytes() == first.tobytes()
    with pytest.raises(TableError, match="labels"):
        stored.transform_training(TABLE, None)


@pytest.mark.parametrize(
    "codes",
    [None, np.full(1200, -1), np.where(np.arange(1200) < 9, 1, 0), np.ones(1200, dtype=int)],
    ids=["none", "unlabelled", "few outliers", "no inliers"],
)
def test_without_labels_there_are_frequencies_only(codes):
    assert Preparation().fit(TABLE, codes).names_ == ["shop frequency", "x"]


def test_levels_that_are_hardly_different():
    few = np.where(np.arange(1200) < 1199, 1, 0)
    assert np.isfinite(Preparation().fit_transform(TABLE, few)[:, 1]).all()
    equal = pa.table({"shop": [f"s{n % 60}" for n in range(1200)], "x": TABLE["x"]})
    assert "equally frequent" in Preparation().fit(equal).notes_[0]


@pytest.mark.parametrize("assume", [True, False])
def test_unlabelled_rows_count_as_inliers_or_not_at_all(assume):
    codes = np.where(np.arange(1200) % 2 == 0, CODES, -1)
    step = Preparation().fit(TABLE, codes, assume=assume).to_dict()["steps"][0]
    assert step["total_known"] == (1200 if assume else 600)
    assert step["total_outliers"] == (codes == 1).sum()


def test_permuted_labels_tell_nothing():
    random = np.random.default_rng(0)
    ids = np.minimum(random.zipf(1.1, 4000), 5000)
    few = Detector(
        OutlierRepresentation(["knn_5"]), heads=Heads(kinds=["trees"], n_trees=3), n_estimators=30
    )
    honest, told = [], []
    for seed in range(3):
        codes = (random.random(4000) < 0.03).astype(int)
        table = pa.table({"id": [f"m{i}" for i in ids], "x": random.normal(size=4000)})
        prepared = Preparation()
        for rows, found in (
            (prepared.fit_transform(table, codes), honest),
            (prepared.transform(table), told),  # with the labels of the rows themselves
        ):
            model = few.set_params(random_state=seed).fit(rows, codes)
            found.append(model.oob_.summarize().auc)
    assert abs(np.mean(honest) - 0.5) < 0.06  # two deviations of what 120 outliers tell, thrice
    assert np.mean(told) > 0.65


def test_training_rows_know_the_labels_of_rows_before_them():
    """The slow way, row by row, and what it is for: at random labels, odds rank at random."""
    found = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        shops, codes = random.integers(0, 40, 600), (random.permutation(600) < 60).astype(int)
        table = pa.table({"shop": [f"s{n}" for n in shops], "x": random.normal(size=600)})
        prepared = Preparation(max_levels=5, seed=seed)
        rows = prepared.fit_transform(table, codes)
        odds = rows[:, prepared.names_.index("shop outlier odds")]
        found.append(auc(codes, odds))
    order = make_targets(codes, True, 11).order
    for place in range(0, 600, 50):
        before = [row for row in order[:place] if shops[row] == shops[order[place]]]
        o = codes[before].sum() + 10 * 0.1
        expected = np.log(o / (len(before) + 10 - o)) - np.log(0.1 / 0.9)
        assert odds[order[place]] == pytest.approx(expected, rel=1e-12)
    assert abs(np.mean(found) - 0.5) < 3 * np.std(found, ddof=1) / np.sqrt(12)


def test_whole_numbers_may_be_codes():
    table = pa.table({"merchant_id": SHOPS, "count": SHOPS})
    prepared = Preparation().fit(table, CODES)
    assert prepared.names_[-1] == "count"
    assert prepared.names_[:2] == ["merchant_id frequency", "merchant_id outlier odds"]
    assert "rename the column" in prepared.notes_[0]
    assert prepared.types_ == {"merchant_id": "number", "count": "number"}
    for words in (SHOPS.astype(str), [f"{shop}.0" for shop in SHOPS]):
        text = pa.table({"merchant_id": words, "count": SHOPS})
        assert prepared.transform(text).tobytes() == prepared.transform(table).tobytes()
    large = pa.table({"n": SHOPS.astype(np.uint64) + 2**63})
    prepared = Preparation().fit(large)
    assert (prepared.names_, prepared.types_) == (["n frequency"], {"n": "text"})


@pytest.mark.parametrize("shops", [SHOPS, SHOPS % 3 + 118])
def test_codes_are_the_same_with_and_without_a_point(tmp_path, shops):
    matrices = []
    for point in ("", ".0"):
        path = tmp_path / f"a{point}.csv"
        rows = [f"{shop}{point},{row % 7}\n" for row, shop in enumerate(shops)]
        path.write_text("shop_id,x\n" + "".join(rows))
        prepared = Preparation().fit(read_table(tmp_path / "a.csv"))
        matrices.append(prepared.transform(read_table(path, types=prepared.types_)))
    assert prepared.names_[0] in ("shop_id frequency", "shop_id=118")
    assert matrices[0].tobytes() == matrices[1].tobytes()
    assert Preparation.from_dict(prepared.to_dict()).types_ == prepared.types_


def test_levels_that_do_not_fit_into_a_file_are_as_good_as_new(prepared):
    step = prepared.steps_[0]
    small = step.within(200)
    assert 0 < len(small.levels) < len(step.levels)
    assert small.is_possible
    assert max(small.outliers) == max(step.outliers)
    assert set(small.levels) < set(step.levels)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("levels", ["a", "a"]),
        ("counts", [1]),
        ("outliers", []),
        ("total_known", 0),
        ("total_outliers", 10**30),
        ("rows", 3),
        ("rows", 10**30),
        ("kind", "boolean"),
        ("middle", "x"),
    ],
)
def test_damaged_levels_are_refused(prepared, key, value):
    stored = prepared.to_dict()
    stored["steps"][0][key] = value
    with pytest.raises(TableError, match="damaged"):
        Preparation.from_dict(stored)


def test_free_text():
    words = [f"{'please ' * (n % 5)}send {n} to {chr(97 + n % 26) * (n % 7)}{n}" for n in range(60)]
    table = pa.table({"memo": [*words, None], "x": np.arange(61) / 7})
    prepared = Preparation().fit(table)
    assert prepared.names_[:4] == ["memo length", "memo words", "memo digits", "memo is missing"]
    rows = prepared.transform(pa.table({"memo": ["a b 12", None], "x": [0.0, 0.0]}))
    assert rows[:, :4].tolist() == [[6, 3, 2, 0], [0, 0, 0, 1]]
    assert "free text" in prepared.notes_[0]
