"""Broken tables and damaged model files on the command line: one sentence, no file."""

import os

import numpy as np
import pytest
from fuzz.model_cases import forge, take_apart
from payments import make_frauds, small_model, write
from tables.reading.broken import BROKEN
from typer.testing import CliRunner

from boreod.tool.cli import app

OPTIONS = {"format": "--format", "separator": "--separator", "encoding": "--encoding",
           "decimal": "--decimal"}  # fmt: skip
TYPED = [case for case in BROKEN if set(case[2]) <= set(OPTIONS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("broken")
    small_model().save(path / "fraud.boreod")
    write(make_frauds(20, seed=1), path / "new.csv")
    return path


def assert_refused(*arguments):
    """Run a command; expect one sentence and an exit code that tells."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code in (1, 2), result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "unforeseen" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    TYPED,
    ids=[f"{name}-{' '.join(words)[:30]}" for name, _, _, words in TYPED],
)
def test_broken_tables(name, content, options, words, folder, tmp_path):
    table = tmp_path / name
    table.write_bytes(content)
    given = [word for key, value in options.items() for word in (OPTIONS[key], value)]
    command = ["fit", table, "--label", "no such label", "-o", tmp_path / "a.boreod"]
    sentence = assert_refused(*command, *given)
    assert all(word in sentence for word in words)
    assert_refused("score", folder / "fraud.boreod", table, "-o", tmp_path / "a.csv", *given)
    assert_refused("explain", folder / "fraud.boreod", table, *given)
    assert os.listdir(tmp_path) == [name]


BAD_COLUMNS = {
    "column missing": (lambda t: t.drop_columns(["amount"]), "no column 'amount'"),
    "id missing": (lambda t: t.drop_columns(["id"]), "no column 'id'"),
    "words for numbers": (lambda t: replaced(t, "amount", ["many"] * 20), "'many'"),
    "numbers for truth": (lambda t: replaced(t, "abroad", [7.0] * 20), "true or false"),
    "infinity": (lambda t: replaced(t, "amount", [np.inf] * 20), "finite"),
}


def replaced(table, name, values):
    import pyarrow as pa

    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_tables_that_do_not_fit_the_model(name, suffix, folder, tmp_path):
    change, words = BAD_COLUMNS[name]
    table = write(change(make_frauds(20, seed=1)), tmp_path / f"new.{suffix}")
    sentence = assert_refused("score", folder / "fraud.boreod", table, "-o", tmp_path / "a.csv")
    assert words in sentence
    assert os.listdir(tmp_path) == [table.name]


def mutations(original):
    """Give damaged copies of a model file, most of them by chance and some on purpose."""
    random = np.random.default_rng(0)
    for place in random.integers(len(original), size=16):
        changed = bytearray(original)
        changed[place] ^= 1 << random.integers(8)
        yield "bit", bytes(changed)
    for length in (0, 10, 100, len(original) // 2, len(original) - 1):
        yield "cut", original[:length]
    yield "longer", original + b"more"
    yield "twice", original * 2
    yield "text", b"a,b\n1,2\n"


def forgeries(path):
    """Give manifests and arrays that were changed by someone who knows the format."""
    manifest, arrays = take_apart(path.read_bytes())
    yield {**manifest, "format": 8}, arrays
    table = manifest["table"]
    steps = {**table["preparation"], "steps": [{"task": "text"}]}
    for forged in ({"preparation": None}, {"preparation": steps}, {"curve": {"auc": []}}):
        yield {**manifest, "table": {**table, **forged}}, arrays
    yield {**manifest, "table": []}, arrays
    yield {**manifest, "rows": 2**40, "shares": {**manifest["shares"], "n_rows": 2**40}}, arrays
    yield {**manifest, "shares": {**manifest["shares"], "n_rows": 7}}, arrays
    for name in ("oob.probabilities", "oob.labels", "reference", "base"):
        yield manifest, {**arrays, name: arrays[name][:-1]}
    yield manifest, {**arrays, "oob.probabilities": arrays["oob.probabilities"] + 1.0}
    yield manifest, {**arrays, "oob.labels": 2 * arrays["oob.labels"]}


def test_damaged_model_files(folder, tmp_path):
    path = tmp_path / "a.boreod"
    arguments = ["score", path, folder / "new.csv", "-o", tmp_path / "a.csv"]
    count = 0
    for kind, content in mutations((folder / "fraud.boreod").read_bytes()):
        path.write_bytes(content)
        count += 1
        assert "cannot be used" in assert_refused(*arguments), kind
    for manifest, arrays in forgeries(folder / "fraud.boreod"):
        forge(path, manifest, arrays)
        assert "cannot be used" in assert_refused(*arguments)
        count += 1
    assert count >= 35
    assert os.listdir(tmp_path) == ["a.boreod"]
    assert_refused("info", path)
    assert_refused("explain", path, folder / "new.csv")
