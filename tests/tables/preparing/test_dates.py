"""Dates and times: forms that people write, typed columns, numbers, zones; what they become."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from boreod.tables import Preparation, TableError, as_arrow, read_table
from boreod.tables.date_forms import read_written

WHEN = [dt.datetime(2024, 1, 31, 5, 30), dt.datetime(2024, 2, 3, 23, 0), None]  # a Wednesday
ROWS = [[5.5, 3.0, 31.0, 3.0 + 17.5 / 24.0], [23.0, 6.0, 3.0, 0.0]]
PARTS = ["d hour", "d weekday", "d day of month", "d age in days", "d is missing"]


def written(form):
    return [None if when is None else when.strftime(form) for when in WHEN]


def prepare(column):
    table = pa.table({"d": column})
    prepared = Preparation().fit(table)
    assert Preparation.from_dict(prepared.to_dict()).to_dict() == prepared.to_dict()
    return prepared, prepared.transform(table)


@pytest.mark.parametrize(
    "column",
    [
        WHEN,
        pa.array(WHEN, pa.timestamp("ns")),
        pa.array(WHEN, pa.timestamp("s", "Europe/Berlin")).cast(pa.timestamp("ms", "UTC")),
        written("%Y-%m-%d %H:%M:%S"),
        written("%Y-%m-%dT%H:%M:%S.000Z"),
        written("%Y-%m-%d %H:%M:%S+02:00"),
        written("%Y/%m/%d %H:%M"),
        written("%d.%m.%Y %H:%M"),
        written("%d/%m/%y %H:%M:%S"),
        written("%m/%d/%Y %I:%M %p"),
        written("%d-%b-%Y %H:%M"),
        written("%a, %d %b %Y %H:%M:%S GMT"),
        written("%B %d, %Y %H:%M"),
    ],
)
def test_forms_of_dates_and_times(column):
    prepared, rows = prepare(column)
    assert prepared.names_ == PARTS
    np.testing.assert_allclose(rows[:2, :4], ROWS, atol=1e-6)
    assert rows[:, 4].tolist() == [0.0, 0.0, 1.0]
    assert np.isin(rows[2, :4], rows[:2, :4]).all()  # a value that was there
    assert "hour, weekday, day of month, age in days before 2024-02-03" in prepared.describe()


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        ([when and when.date() for when in WHEN], [1, 2, 3]),
        (written("%Y-%m-%d"), [1, 2, 3]),
        ([when and when.time() for when in WHEN], [0]),
        (written("%H:%M"), [0]),
        (written("%H:%M:%S"), [0]),
    ],
)
def test_parts_that_do_not_vary_are_left_out(column, parts):
    prepared, rows = prepare(column)
    assert prepared.names_ == [PARTS[place] for place in [*parts, 4]]
    assert np.allclose(rows[:2, :-1][:, :2], np.floor(np.array(ROWS)[:, parts][:, :2] * 2) / 2)


def test_zones_matter_for_instants_and_not_for_clocks():
    there = ["2024-01-31T05:00+02:00", "2024-01-31T05:00Z", "2024-01-31T05:00-0130"]
    prepared, rows = prepare([*there, "2024-02-01T07:00Z"])
    assert prepared.names_ == ["d hour", "d weekday", "d day of month", "d age in days"]
    assert rows[:3, 0].tolist() == [5.0, 5.0, 5.0]
    assert (rows[:3, 3] * 24).round(6).tolist() == [28.0, 26.0, 24.5]
    berlin = pa.array(WHEN[:2], pa.timestamp("us", "Europe/Berlin"))
    prepared = Preparation().fit(pa.table({"d": berlin}))
    same = pa.table({"d": berlin.cast(pa.timestamp("s", "Asia/Tokyo"))})
    assert prepared.transform(same).tolist() == prepared.transform(pa.table({"d": berlin})).tolist()


SECONDS = np.array([1_706_679_000, 1_707_001_200])


@pytest.mark.parametrize(
    ("name", "column", "done"),
    [
        ("created_at", SECONDS, "seconds since 1970"),
        ("ts", SECONDS * 1000, "milliseconds since 1970"),
        ("time", SECONDS * 1_000_000_000, "nanoseconds since 1970"),
        ("n", np.sort(SECONDS[0] + 1000 * np.arange(30)), "seconds since 1970"),
        ("date", [20240131, 20240203], "days such as 20240131"),
    ],
)
def test_numbers_that_are_times(name, column, done):
    prepared = Preparation().fit(pa.table({name: column}))
    assert done in prepared.summary_[0].done
    assert f"{name} day of month" in prepared.names_ or name == "n"
    row = prepared.transform(pa.table({name: column[:1]}))
    assert row[0, prepared.names_.index(f"{name} hour")] == 5.5 if done.startswith("s") else True


@pytest.mark.parametrize("column", [SECONDS[::-1], [20240131, 20240232], [3, 5]])
def test_numbers_that_are_no_times(column):
    assert Preparation().fit(pa.table({"n": column})).names_ == ["n"]


def test_a_model_is_used_after_its_training():
    prepared, _ = prepare(["2024-01-01", "2024-03-01", "2024-02-01", "9999-12-31"])
    late = prepared.transform(pa.table({"d": ["2024-04-01", "2024-01-01", "9999-12-31"]}))
    assert late[:, prepared.names_.index("d age in days")].tolist() == [0.0, 60.0, 0.0]


def test_days_and_months():
    assert "written month/day/year" in prepare(["1/2/2024", "1/13/2024"])[0].summary_[0].done
    prepared, _ = prepare(["1/2/2024", "3/4/2024"])
    assert "days are taken" in prepared.notes_[0]
    assert not prepare(["1.2.2024", "3.4.2024"])[0].notes_


def test_dates_that_nobody_can_take_for_others_are_read_beside_the_form_of_the_training():
    prepared, rows = prepare(["1/30/2024", "1/31/2024", "2/29/2024"])
    others = pa.table({"d": ["2024-01-30", "31 Jan 2024", "Feb 29, 2024"]})
    assert prepared.transform(others).tobytes() == rows.tobytes()
    mixed, _ = prepare(["1/30/2024", "2024-01-31", "2/29/2024", "2024-01-31T10:00Z"])
    assert "written month/day/year, 2 otherwise" in mixed.summary_[0].done
    with pytest.warns(UserWarning, match="Column 'd' holds dates written month/day/year"):
        prepared.transform(pa.table({"d": ["30.1.2024"]}))
    swapped = pa.table({"d": ["30.1.2024", "1.2.2024", "29.2.2024", "13.2.2024"]})
    with pytest.raises(TableError, match=r"30.1.2024' have days first.*had months first"):
        prepared.transform(swapped)


def test_cells_without_a_date_are_missing_and_told():
    days = [f"2024-01-{day:02d}" for day in range(1, 31)]
    with pytest.warns(UserWarning, match="1 bad cell .'d' 1; row 31: '2024-02-30'"):
        prepared = Preparation().fit(pa.table({"d": [*days, "2024-02-30"]}))
    assert prepared.names_[-1] == "d is missing"
    with pytest.warns(UserWarning, match="row 8: 'soon'"):
        rows = prepared.transform(pa.table({"d": ["2024-01-05", "soon"]}), first_row=7)
    assert rows[:, -1].tolist() == [0.0, 1.0]


def test_fractions_of_seconds_do_not_depend_on_other_rows():
    random = np.random.default_rng(0)
    times = [
        f"2024-01-{n % 28 + 1:02d} {n % 24:02d}:01:02.{random.integers(10**6):06d}"[: 21 + n % 6]
        for n in range(200)
    ]
    alone = read_written(pa.array(times), "year-month-day").clock
    others = read_written(pa.array([*times, "2024-01-01 10:00:00Z"]), "year-month-day").clock
    assert alone.tobytes() == others[:-1].tobytes()
    assert len(np.unique(alone % 1)) > 100
    assert not np.isnan(alone).any()
    assert read_written(pa.array(["10:00:00,5"]), "hour:minute").clock.tolist() == [36000.5]


def test_times_of_the_day_may_be_written():
    prepared, rows = prepare(pa.array([73440, 3600, None], pa.time32("s")))
    text = pa.table({"d": ["20:24:00", "1:00", None]})
    assert prepared.names_ == ["d hour", "d is missing"]
    assert prepared.transform(text).tobytes() == rows.tobytes()


def test_durations_are_seconds():
    prepared, rows = prepare(pa.array([5000, 6000], pa.duration("ms")))
    assert (prepared.names_, rows.tolist()) == (["d"], [[5.0], [6.0]])


@pytest.fixture
def with_bad_date(tmp_path):
    """A file of thirty dates, a word and a missing value, and the preparation of such dates."""
    lines = [f"{number % 9},2024-01-{number:02d}" for number in range(1, 31)]
    (tmp_path / "t.csv").write_text("\n".join(["n,d", *lines, "5,soon", "6,NA"]))
    return tmp_path / "t.csv", Preparation().fit(pa.table({"d": [line[2:] for line in lines]}))


@pytest.mark.parametrize(("policy", "last"), [("missing", [None, "NA"]), ("drop", ["NA"])])
def test_bad_dates_in_files(with_bad_date, policy, last):
    path, prepared = with_bad_date
    with pytest.warns(UserWarning, match="1 bad cell .*'soon'"):
        table = read_table(path, bad_cells=policy, types=prepared.types_)
    assert table["d"].to_pylist()[30:] == last
    assert prepared.transform(table).shape == (len(table), 3)


def test_bad_dates_in_files_are_refused(with_bad_date):
    path, prepared = with_bad_date
    with pytest.raises(TableError, match="ine 32, column 'd': 'soon' is no date"):
        read_table(path, bad_cells="error", types=prepared.types_)


NAIVE = ["2024-01-31T05:00:00", "2024-02-03T23:30:00"]


@pytest.mark.parametrize(
    ("zoned", "shown"),
    [
        ([word + "Z" for word in NAIVE], ""),
        ([word + "+0200" for word in NAIVE], ""),
        (pa.array(WHEN[:2], pa.timestamp("us", "Europe/Berlin")), r" \('Europe/Berlin'\)"),
    ],
)
@pytest.mark.parametrize("naive", [NAIVE, pa.array(WHEN[:2], pa.timestamp("us"))])
def test_times_with_and_without_zones_are_told(zoned, shown, naive):
    here, there = pa.table({"d": naive}), pa.table({"d": zoned})
    prepared = Preparation().fit(here)
    prepared.transform(here)
    with pytest.warns(UserWarning, match=r"Column 'd' holds times with a zone, but .* had none"):
        prepared.transform(there)
    prepared = Preparation.from_dict(Preparation().fit(there).to_dict())
    prepared.transform(there)
    told = rf"Column 'd' holds times with no zone, but .* had one{shown}\..* count as UTC"
    with pytest.warns(UserWarning, match=told):
        prepared.transform(here)


def test_zones_of_some_cells_are_told_in_training_and_older_files_know_none():
    prepared, _ = prepare([*NAIVE, "2024-02-04T10:00Z", None])
    assert "holds times with a zone and 2 without" in prepared.notes_[0]
    assert Preparation().fit(pa.table({"d": ["12:30", "13:45"]})).steps_[0].zoned is None
    stored = Preparation().fit(pa.table({"d": NAIVE})).to_dict()
    del stored["steps"][0]["zoned"]
    old = Preparation.from_dict(stored)
    assert old.transform(pa.table({"d": [word + "Z" for word in NAIVE]})).shape == (2, 4)


@pytest.mark.parametrize(
    ("words", "month"),
    [
        ("maart mars März marzo março marts maaliskuuta Mart martie", 3),
        ("mei mai maj mayo maggio toukokuuta мая", 5),
        ("août agosto augusti elokuuta Ağustos августа Agustus", 8),
        ("november noviembre marraskuuta ноября Kas noiembrie", 11),
        ("december desember dezembro décembre joulukuuta Ara декабря", 12),
    ],
)
def test_names_of_months(words, month):
    cells = pa.array([f"5 {word} 2024" for word in words.split()])
    found = read_written(cells, "day month year").clock
    assert set(found.astype("datetime64[s]").astype(str)) == {f"2024-{month:02d}-05T00:00:00"}
    spelled = read_written(pa.array(["5 de março de 2024"]), "day month year").clock
    assert spelled.astype("datetime64[s]").astype(str) == "2024-03-05T00:00:00"
    assert np.isnan(read_written(pa.array(["5 listopada 2024"]), "day month year").clock).all()


def test_objects_with_several_zones_are_read_by_their_own_clocks():
    """Arrow would bring all of them to the zone of the first."""
    when = pd.Timestamp("2024-01-01 13:00")
    cells = [when, when.tz_localize("Asia/Tokyo"), when.tz_localize("Europe/Berlin"), None]
    texts = ["2024-01-01 13:00:00", "2024-01-01 13:00:00+09:00", "2024-01-01 13:00:00+01:00", None]
    frame = pd.DataFrame({"when": pd.Series(cells, dtype=object)})
    assert as_arrow(frame)["when"].to_pylist() == texts
    assert as_arrow(frame.to_numpy())["c0"].to_pylist() == texts
    same = pd.DataFrame({"when": pd.Series(cells[1:2] * 2, dtype=object)})
    assert str(as_arrow(same)["when"].type).startswith("timestamp")


def test_whole_numbers_that_no_machine_word_holds_are_text():
    frame = pd.DataFrame({"amount": pd.Series([10**20, 3], dtype=object)})
    assert as_arrow(frame)["amount"].to_pylist() == [str(10**20), "3"]
