"""What commands import: a process that scores one row must not wait for what it does not need."""

import json

from tool.cli.runner import start_python

SHOW = """
import json, sys
from boreod.tool.cli import app
for command in json.loads(sys.argv[1]):
    app(command, standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""
FITTING = {"sklearn", "scipy.stats", "pandas", "polars", "matplotlib", "joblib", "dask", "duckdb"}
KERNELS = {"numba", "llvmlite", "scipy"}


def imported_by(*commands):
    process = start_python(SHOW, json.dumps([[str(word) for word in words] for words in commands]))
    output, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    return set(json.loads(output.decode().splitlines()[-1]))


def test_info_imports_no_kernels(folder):
    found = imported_by(["info", folder / "small.boreod"])
    assert "boreod.ensemble.fitted" in found
    assert not found & (FITTING | KERNELS)


def test_score_and_explain_import_nothing_that_learns(folder, fitted):
    model, table = folder / "small.boreod", folder / "new.csv"
    score = ["score", model, table, "--reasons", 2, "--top", 3]
    of_bore = ["score", fitted[1], table, "--quiet", "-o", folder / "start.csv"]
    found = imported_by(score, of_bore, ["explain", model, table, "--top", 2])
    assert "numba" in found
    assert not found & FITTING
