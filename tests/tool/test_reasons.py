"""Reasons in words, and the profile of the training rows that they come from."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from payments import FEW

from boreod import BORE
from boreod.ensemble.profile import FEW_SHARES, MAX_CASES, MAX_NUMBERS, TrainingProfile
from boreod.tool.reasons import Output, ReasonWriter

OUTPUTS = [
    Output("amount"),
    Output("country", "level", "DE"),
    Output("country", "other"),
    Output("country", "missing"),
    Output("abroad", "flag"),
]
NAMES = ["amount", "country=DE", "country is other", "country is missing", "abroad"]


@pytest.fixture(scope="module")
def training():
    """Frauds have large amounts in rare countries."""
    random = np.random.default_rng(0)
    codes = (np.arange(300) % 15 == 0).astype(int)
    rare = (random.random(300) < 0.1) | (codes == 1)
    nothing = random.random(300) < 0.05
    rows = np.column_stack(
        [
            np.round(random.lognormal(3, 1, 300) * np.where(codes, 20, 1), 2),
            ~rare & ~nothing,
            rare & ~nothing,
            nothing,
            random.random(300) < 0.5,
        ]
    ).astype(float)
    return rows, codes


@pytest.fixture(scope="module")
def detector(training):
    import pandas as pd

    rows, codes = training
    frame = pd.DataFrame(rows, columns=NAMES)
    return BORE(FEW, random_state=0, n_estimators=20).fit(frame, codes)


def write(detector, profile, rows, number=5, cells=None):
    found = detector.fitted_.assess(rows, detector._engine, explain=True)
    return ReasonWriter(detector.fitted_, OUTPUTS, profile).write(rows, found, number, cells)


def test_shares_are_those_of_normal_rows(training):
    rows, codes = training
    profile = TrainingProfile.learn(rows, codes)
    normal = np.sort(rows[codes == 0, 0])
    assert profile.rows == len(normal) == 280
    for value in [*normal[::20], 31.234, 0.0, 1e9]:
        below, above = profile.compare(0, float(value))
        assert below <= (normal < value).mean() + 0.05
        assert below + 0.12 >= (normal < value).mean()
        assert above <= (normal > value).mean() + 0.05
        assert above + 0.12 >= (normal > value).mean()
    low, high = profile.typical(0)
    assert 0.9 <= ((normal >= low) & (normal <= high)).mean() <= 0.92
    assert profile.means[1] == pytest.approx(rows[codes == 0, 1].mean(), rel=1e-6)


def test_known_cases_are_few_and_have_names(training):
    rows, codes = training
    profile = TrainingProfile.learn(rows, codes, lambda place: f"p{place}")
    assert profile.cases.names[:2] == ["p0", "p15"]
    assert len(profile.cases.rows) == 20
    many = TrainingProfile.learn(np.random.default_rng(0).normal(size=(900, 3)), np.ones(900))
    assert len(many.cases.rows) == MAX_CASES
    wide = np.random.default_rng(0).normal(size=(40, 2500))
    few = TrainingProfile.learn(wide, np.arange(40) % 2)
    assert len(few.cases.rows) == MAX_NUMBERS // 2500
    assert len(few.quantiles[0]) == len(FEW_SHARES)
    assert TrainingProfile.learn(rows, np.full(300, -1)).cases is None


def test_a_profile_is_plain(training):
    profile = TrainingProfile.learn(*training)
    data = json.loads(json.dumps(asdict(profile)))
    assert TrainingProfile.from_dict(data, 5) == profile


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("rows", lambda _: 0, "no rows"),
        ("means", lambda _: [0.5], "other columns"),
        ("means", lambda _: "words", "a list"),
        ("quantiles", lambda _: [[1.0]] * 5, "number of quantiles"),
        ("quantiles", lambda old: [column[::-1] for column in old], "descend"),
        ("cases", lambda old: old | {"names": old["names"][:1]}, "without names"),
        ("cases", lambda old: old | {"names": [], "rows": []}, "or none"),
        ("cases", lambda old: old | {"rows": [row[:2] for row in old["rows"]]}, "short row"),
        ("cases", lambda old: old | {"near": -1.0}, "negative"),
        ("cases", lambda old: old | {"near": float("nan")}, "finite"),
    ],
)
def test_a_spoiled_profile_is_refused(training, part, change, message):
    data = json.loads(json.dumps(asdict(TrainingProfile.learn(*training))))
    with pytest.raises(ValueError, match=message):
        TrainingProfile.from_dict({**data, part: change(data[part])}, 5)


def test_words_about_values(detector, training):
    profile = TrainingProfile.learn(*training, lambda place: f"p{place}")
    row = np.array([[2000.0, 0.0, 1.0, 0.0, 1.0]])
    reasons = write(detector, profile, row, cells={"country": ["BR"]})[0]
    texts = {reason.about: reason.text for reason in reasons}
    low, high = profile.typical(0)
    assert texts["amount"] == (
        f"amount 2,000 is higher than all normal rows (typical: {low:.3g} to {high:.3g})"
    )
    assert texts["country"].startswith("country is BR, which is rare or new: as in ")
    assert texts["country"].endswith("as in 10 % of the normal rows")
    changes = [reason.contribution for reason in reasons if reason.contribution is not None]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] > 0
    usual = write(detector, profile, np.array([[20.0, 1.0, 0.0, 0.0, 1.0]]))[0]
    assert all(reason.shown.startswith("against it: ") for reason in usual)
    missing = write(detector, profile, np.array([[20.0, 0.0, 0.0, 1.0, 1.0]]))[0]
    texts = [reason.text for reason in missing]
    assert texts == ["country is missing, as in 3.6 % of the normal rows"]


def test_what_is_missing_is_said_to_be_missing(detector, training):
    row = np.array([[2000.0, 0.0, 1.0, 1.0, 1.0]])
    found = detector.fitted_.assess(row, detector._engine, explain=True)
    parts = [Output("ts", "value", "hour"), *OUTPUTS[1:3], Output("ts", "missing"),
             Output("ts", "value", "weekday")]  # fmt: skip
    reasons = ReasonWriter(detector.fitted_, parts).write(row, found, 9)[0]
    texts = [reason.text for reason in reasons if reason.text.startswith("ts ")]
    assert texts == ["ts is missing, unlike other rows"]
    found = write(detector, None, row, cells={"amount": [None]})[0]
    texts = [reason.text for reason in found]
    assert "amount is missing, as in no training row" in texts


def test_reasons_add_up(detector, training):
    rows, _ = training
    found = detector.fitted_.assess(rows[:40], detector._engine, explain=True)
    writer = ReasonWriter(detector.fitted_, OUTPUTS)
    topics = writer._topics(found.explanation.columns)
    assert sorted(place for topic in topics for place in topic.places) == list(
        range(len(found.explanation.columns))
    )
    assert [topic.name for topic in topics] == ["amount", "country", "abroad", "neighbors"]
    texts = [reason.text for row in writer.write(rows[:40], found, 3) for reason in row]
    assert texts  # without a profile too


def test_near_known_cases(detector, training):
    rows, codes = training
    profile = TrainingProfile.learn(rows, codes, lambda place: f"p{place}")
    known = write(detector, profile, rows[codes == 1])
    assert [row[-1].text for row in known] == [
        f"equal to known case p{n}" for n in range(0, 300, 15)
    ]
    close = rows[15:16].copy()
    close[0, 0] += 0.5
    assert write(detector, profile, close, number=2)[0][-1].text == "near known case p15"
    words = [row[-1].text for row in write(detector, profile, rows[codes == 0]) if row]
    assert np.mean(["known case" in text for text in words]) < 0.05
