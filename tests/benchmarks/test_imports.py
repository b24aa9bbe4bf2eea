"""Everything that benchmarks import from boreod exists.

mypy checks what benchmarks call. It cannot check these names, because it takes every name of a
module that imports late for granted.
"""

import ast
from pathlib import Path

import pytest

SCRIPTS = (Path(__file__).parents[2] / "benchmarks").glob("*.py")
NODES = [node for script in SCRIPTS for node in ast.walk(ast.parse(script.read_bytes()))]
IMPORTS = {
    (node.module, imported.name)
    for node in NODES
    if isinstance(node, ast.ImportFrom) and node.module.startswith("boreod")
    for imported in node.names
}
ATTRIBUTES = {
    ("boreod", node.attr)
    for node in NODES
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "boreod"
}


@pytest.mark.parametrize(("module", "name"), sorted(IMPORTS | ATTRIBUTES))
def test_every_imported_name_exists(module, name):
    assert hasattr(__import__(module, fromlist=[name]), name)
