"""A whole file or none, never over an input; standard streams."""

import errno
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from boreod.tables import TableError, TableWriter, open_table, read_table, write_batches

BATCH = pa.RecordBatch.from_pydict({"a": [1.0, 2.0], "b": ["x", None]})
NAMES = ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_nothing_is_left_after_an_error(tmp_path, name, error):
    def batches():
        yield BATCH
        assert len(list(tmp_path.iterdir())) == 1  # under another name
        assert not (tmp_path / name).exists()
        raise error

    with pytest.raises(error):
        write_batches(tmp_path / name, batches())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_an_older_file_survives_an_error(tmp_path, name):
    write_batches(tmp_path / name, [BATCH])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(ZeroDivisionError):
        write_batches(tmp_path / name, (1 / 0 for _ in range(3)))
    assert (tmp_path / name).read_bytes() == before
    write_batches(tmp_path / name, [BATCH, BATCH])
    assert read_table(tmp_path / name).num_rows == 4


class FullDisk(io.RawIOBase):
    """A file on a disk with little space."""

    def __init__(self, path, space):
        super().__init__()
        self.file, self.space = Path(path).open("wb"), space  # noqa: SIM115

    def writable(self):
        return True

    def write(self, data):
        self.space -= len(data)
        if self.space < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def close(self):
        self.file.close()
        super().close()


@pytest.mark.parametrize("space", [0, 100, 3000])
@pytest.mark.parametrize("name", NAMES)
def test_full_disk(tmp_path, name, space, monkeypatch):
    monkeypatch.setattr("builtins.open", lambda path, _: FullDisk(path, space))
    numbers = pa.array([0.1 * i for i in range(20_000)])
    with pytest.raises(TableError, match="the disk is full") as caught:
        write_batches(tmp_path / name, [pa.RecordBatch.from_arrays([numbers], ["a"])])
    assert "Nothing was left" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet", "arrow"])
def test_full_device(format_):
    with pytest.raises(TableError, match="the disk is full"):
        write_batches("/dev/full", [BATCH] * 10_000, format=format_)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_devices_are_not_replaced():
    assert write_batches("/dev/null", [BATCH], format="parquet") == 2
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("name", ["t.csv", "link.csv", "hard.csv", "./t.csv"])
def test_inputs_are_not_overwritten(tmp_path, name):
    path = tmp_path / "t.csv"
    write_batches(path, [BATCH])
    (tmp_path / "link.csv").symlink_to(path)
    os.link(path, tmp_path / "hard.csv")
    with pytest.raises(TableError, match="is being read"):
        TableWriter(f"{tmp_path}/{name}", inputs=[path])


def test_inputs_beside_an_output(tmp_path):
    path = tmp_path / "t.csv"
    write_batches(path, [BATCH])
    with pytest.raises(TableError, match="in the folder that is being read"):
        TableWriter(tmp_path / "new.parquet", inputs=[tmp_path])
    write_batches(tmp_path / "other.csv", [BATCH], inputs=[path, "-"])


def test_links_stay_links(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "folder" / "t.csv")
    write_batches(tmp_path / "link.csv", [BATCH])
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "folder" / "t.csv").is_file()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("t.xlsx", {}, "does not tell in which format to write"),
        ("t.parquet.gz", {"format": "parquet"}, "packed already"),
        ("none/t.csv", {}, "There is no folder"),
        (".", {"format": "csv"}, "is a folder"),
        ("t.csv", {"format": "excel"}, "'excel'"),
        ("-", {"format": "parquet"}, "Standard output"),
    ],
)
def test_bad_outputs(tmp_path, name, options, words):
    with pytest.raises(TableError, match=words):
        write_batches(name if name == "-" else tmp_path / name, [BATCH], **options)
    assert not list(tmp_path.iterdir())


def test_no_batches(tmp_path):
    with pytest.raises(TableError, match="There are no rows"):
        write_batches(tmp_path / "t.csv", [])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrong", [{"a": [1.0]}, {"a": ["x"], "b": ["y"]}, {"b": ["y"], "a": [3.0]}]
)
@pytest.mark.parametrize("name", NAMES)
def test_batches_have_the_schema_of_the_first(tmp_path, name, wrong):
    with pytest.raises(TableError, match="same columns and types"):
        write_batches(tmp_path / name, [BATCH, pa.RecordBatch.from_pydict(wrong)])
    assert not list(tmp_path.iterdir())


def test_json_has_no_infinite_numbers(tmp_path):
    batch = pa.RecordBatch.from_pydict({"a": [1.0, float("nan"), float("inf")]})
    with pytest.raises(TableError, match="infinite"):
        write_batches(tmp_path / "t.jsonl", [batch])
    write_batches(tmp_path / "t.jsonl", [batch.slice(0, 2)])
    assert (tmp_path / "t.jsonl").read_text() == '{"a": 1.0}\n{"a": null}\n'


COPY = """
import sys
from boreod.tables import TableError, open_table, write_batches
try:
    with open_table("-") as reader:
        write_batches("-", reader, format=sys.argv[1])
except TableError as error:
    sys.exit(str(error))
"""


def copy(data, format_):
    command = [sys.executable, "-c", COPY, format_]
    return subprocess.run(command, input=data, capture_output=True, check=False)


@pytest.mark.parametrize(
    "data", [b"a;b\n1;x\n", b'\n {"a": 1, "b": "x"}', b"a,b\r\n1.0,x"], ids=["csv", "json", "crlf"]
)
def test_standard_streams(data):
    assert copy(data, "csv").stdout == b'"a","b"\n1,"x"\n'
    assert copy(data, "jsonl").stdout == b'{"a": 1.0, "b": "x"}\n'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", b"standard input is empty"),
        (b"a,b\n1\n", b"Row 1 of standard input has 1 cell"),
        (b"PAR1....", b"Parquet"),
        (b"a\n\xff\n", b"line 2"),
    ],
)
def test_broken_standard_input(data, words):
    done = copy(data, "csv")
    assert done.returncode == 1
    assert words in done.stderr
    assert not done.stdout


def test_standard_input_is_text():
    with pytest.raises(TableError, match="Pass the name of a file"):
        open_table("-", format="parquet")


def test_missing_pyarrow():
    code = "import sys; sys.modules['pyarrow'] = None; import boreod.tables"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: Tables need pyarrow, which is not installed: pip install boreod[data]"
    )


def test_boreod_itself_does_not_load_pyarrow():
    code = "import sys, boreod, boreod.tool.cli; sys.exit('boreod.tables' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
