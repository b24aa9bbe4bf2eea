"""Parquet from addresses, nested folders, and names of folders that are values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boreod.tables import TableError, open_table, read_table, write_batches

TABLE = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", None, "y"]})


def address(path, rest=""):
    return path.as_uri() + rest


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "my tables"
    for place, name in enumerate(["a.parquet", "a/b.parquet", "a-b.pq"]):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(TABLE.slice(place, 1), base / name)
    return base


def test_order_is_that_of_names_folder_by_folder(folder):
    assert read_table(folder)["a"].to_pylist() == [2.0, 3.0, 1.0]  # a/b, a-b.pq, a.parquet


def test_addresses(folder):
    assert "%20" in address(folder)
    assert read_table(address(folder)).equals(read_table(folder))
    assert read_table(address(folder, "/")).equals(read_table(folder))
    assert read_table(address(folder / "a.parquet")).equals(TABLE.slice(0, 1))
    with open_table(address(folder), columns=["b"], batch_rows=2) as reader:
        assert [batch.num_rows for batch in reader] == [2, 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("foo://bucket/a.parquet", r"foo://bucket/a\.parquet cannot be reached \(Unrecognized"),
        ("https://host/a.parquet", "cannot be reached .*s3://"),
        ("file:///no such place", "cannot be reached .*%20"),
        ("file:///no/such/place", "There is no file file:///no/such/place"),
        ("s3://key:secret@bucket/a?nothing=1", r"^s3://bucket/a cannot be reached"),
        ("s3://bucket/a.csv", "From addresses, only Parquet"),
    ],
)
def test_addresses_that_lead_nowhere(name, words):
    with pytest.raises(TableError, match=words) as caught:
        open_table(name)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["x.csv", "a/x.parquet", "new/x.pq"])
@pytest.mark.parametrize("source", [str, address])
def test_nothing_is_written_to_folders_that_are_read(folder, source, name):
    (folder / "new").mkdir()
    with pytest.raises(TableError, match="in the folder that is being read"):
        write_batches(folder / name, TABLE.to_batches(), inputs=[source(folder)])
    write_batches(folder / "a" / "x.csv", TABLE.to_batches(), inputs=[source(folder)])


def test_nothing_is_written_to_addresses(folder):
    with pytest.raises(TableError, match=r"not to addresses; got s3://bucket/a\.csv"):
        write_batches("s3://key:secret@bucket/a.csv", TABLE.to_batches())
    path = folder / "a.parquet"
    with pytest.raises(TableError, match="is being read"):
        write_batches(path, TABLE.to_batches(), inputs=[address(path)])


def test_links_are_followed_once(folder):
    (folder / "a" / "up").symlink_to(folder)
    (folder / "z").symlink_to(folder / "a")
    assert read_table(folder).num_rows == 3
    (folder / "a" / "up").unlink()
    other = folder.parent / "elsewhere"
    other.mkdir()
    pq.write_table(TABLE, other / "1.parquet")
    (folder / "linked").symlink_to(other)
    assert read_table(folder).num_rows == 6


def partitioned(folder, values):
    for place, value in enumerate(values):
        (folder / f"day={value}").mkdir(parents=True)
        pq.write_table(TABLE.slice(place, 1), folder / f"day={value}" / "part-0.parquet")
    return folder


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (["10", "7", "9.5"], [10.0, 7.0, 9.5]),
        (["07", "10", "11"], ["07", "10", "11"]),
        (["NA", "a%3Ab", "c"], ["NA", "a:b", "c"]),
        (["1", "3", "__HIVE_DEFAULT_PARTITION__"], [1.0, 3.0, None]),
        (["__HIVE_DEFAULT_PARTITION__", "false", "true"], [None, False, True]),
    ],
)
def test_names_of_folders_are_values(names, values, tmp_path):
    folder = partitioned(tmp_path, names)
    assert read_table(folder).equals(TABLE.append_column("day", pa.array(values)))
    assert read_table(folder, columns=["day"])["day"].to_pylist() == values
    assert read_table(folder, columns=["b", "a"]).column_names == ["b", "a"]
    as_text = read_table(folder, types={"day": "text"})["day"]
    assert as_text.type == pa.string()
    assert as_text.null_count == values.count(None)


def test_values_of_files_win(tmp_path):
    (tmp_path / "b=z").mkdir()
    pq.write_table(TABLE, tmp_path / "b=z" / "1.parquet")
    assert read_table(tmp_path).equals(TABLE)


def test_values_that_do_not_fit(tmp_path):
    partitioned(tmp_path, ["1", "x"])
    with pytest.raises(TableError, match="a folder is called 'day=x'"):
        read_table(tmp_path, types={"day": "number"})
    pq.write_table(TABLE, tmp_path / "loose.parquet")
    with pytest.raises(TableError, match=r"differs from .* in 'day'"):
        read_table(tmp_path)
