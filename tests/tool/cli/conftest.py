"""Tables and models that commands work with."""

import json

import pytest
from payments import make_frauds, small_model, write

from tool.cli.runner import run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with tables, a model of the command line and one of Python."""
    path = tmp_path_factory.mktemp("commands")
    write(make_frauds(), path / "payments.parquet")
    write(make_frauds(210, seed=1), path / "new.parquet")
    write(make_frauds(210, seed=1), path / "new.csv")
    small_model(threshold="fpr:0.05").save(path / "small.boreod")
    return path


@pytest.fixture(scope="session")
def fitted(folder):
    """What `fit` printed, as JSON, and its model file."""
    table, output = folder / "payments.parquet", folder / "fraud.boreod"
    options = ["--label", "fraud", "--id", "id", "--budget", "15us", "--threshold", "alerts:30",
               "--method", "bore"]  # fmt: skip
    result = run("fit", table, *options, "--json", "-o", output)
    return json.loads(result.stdout), output
