"""Print how large the package is and how its files depend on each other.

Run it with ``python docs/structure.py``; ``tests/test_structure.py`` keeps the figures within
their bars.
"""

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "boreod"
FILES = sorted(PACKAGE.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_at_root() -> list[str]:
    """Return modules, packages and other files of the package's folder."""
    hidden = ("__init__.py", "__pycache__")
    return sorted(path.name for path in PACKAGE.iterdir() if path.name not in hidden)


def layers() -> list[str]:
    """Return the layers of the import contract, top first; siblings must be independent."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contract = next(c for c in settings["importlinter"]["contracts"] if c["type"] == "layers")
    dependent = [layer for layer in contract["layers"] if ":" in layer]
    if dependent or not contract["exhaustive"]:
        raise ValueError(f"The contract must be exhaustive, siblings separated by |: {dependent}")
    return list(contract["layers"])


def small_files() -> list[str]:
    """Return files of fewer than 60 lines."""
    return [short(path) for path in FILES if path.name != "__init__.py" and lines(path) < 60]


def long_bodies() -> list[str]:
    """Return functions of more than 60 lines, without signature and docstring."""
    found = []
    for path, function in functions():
        code = function.body[1:] if ast.get_docstring(function) else function.body
        if code and (code[-1].end_lineno or 0) - code[0].lineno + 1 > 60:
            found.append(f"{short(path)}: {function.name}")
    return found


def untyped_returns() -> list[str]:
    """Return functions that do not say what they return."""
    return [f"{short(path)}: {f.name}" for path, f in functions() if f.returns is None]


def private_reads() -> list[str]:
    """Return private names of one package that another one reads or imports."""
    owners: dict[str, set[str]] = {}
    for path in FILES:
        for name in defined_names(parsed(path)):
            owners.setdefault(name, set()).add(package_of(path))
    return [
        f"{short(path)}:{line}: {name} of {', '.join(sorted(owners[name]))}"
        for path in FILES
        for line, name in read_names(parsed(path))
        if is_private(name) and name in owners and package_of(path) not in owners[name]
    ]


def search_chain() -> list[str]:
    """Return the files of the longest stack from ``predict_proba`` down to a search kernel."""
    return traced()[0]


def entered_files() -> list[str]:
    """Return the files of all calls before that kernel, whether they have returned or not."""
    return traced()[1]


@cache
def traced() -> list[list[str]]:
    """Trace in a process of its own, where kernels are not compiled and can be seen."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-W", "ignore", __file__, "--trace"]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return list(json.loads(result.stdout))


def trace() -> tuple[list[str], list[str]]:
    """Score one row and many rows with a fitted and with a loaded model, and watch all calls."""
    import numpy as np

    from boreod import BORE, OutlierRepresentation, load, save

    random = np.random.default_rng(0)
    X = random.normal(size=(12, 2))
    columns = OutlierRepresentation(["knn", "odin"], [2])
    model = BORE(columns, n_estimators=2, random_state=0).fit(X, np.arange(12) % 3 == 0)
    with TemporaryDirectory() as folder:
        save(model, f"{folder}/model")
        models = [model, load(f"{folder}/model")]
    kernels = {(str(path), f.name) for path, f in functions() if is_search_kernel(path, f)}
    longest: tuple[list[str], list[str]] = ([], [])
    entered: dict[str, None] = {}  # in order

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal longest
        code = frame.f_code
        if event == "call" and file_of(code):
            entered[file_of(code)] = None
            if (code.co_filename, code.co_name) in kernels:
                chain = files_above(frame, kernels)
                longest = max(longest, (chain, list(entered)), key=lambda pair: len(pair[0]))

    for scoring in models:
        for rows in (X[:1] + 0.5, random.normal(size=(520, 2))):
            entered.clear()
            sys.setprofile(watch)
            scoring.predict_proba(rows)
            sys.setprofile(None)
    return longest


def files_above(frame: FrameType | None, kernels: set[tuple[str, str]]) -> list[str]:
    """Return the distinct files of a stack down to its first kernel."""
    stack = []
    while frame is not None:
        stack.append(frame.f_code)
        frame = frame.f_back
    chain: dict[str, None] = {}
    for code in filter(file_of, reversed(stack)):
        is_kernel = (code.co_filename, code.co_name) in kernels
        if is_kernel:
            chain.pop(file_of(code), None)  # its file comes last, also if it calls the kernel
        chain[file_of(code)] = None
        if is_kernel:
            break
    return list(chain)


@cache
def file_of(code: CodeType) -> str:
    """Return the file of code of the package, nothing for other code."""
    path = Path(code.co_filename)
    return short(path) if PACKAGE in path.parents else ""


def is_search_kernel(path: Path, function: Function) -> bool:
    """Tell whether a function of ``neighbors`` is compiled."""
    names = [d.id for d in function.decorator_list if isinstance(d, ast.Name)]
    return package_of(path) == "neighbors" and "compiled" in names


def functions() -> Iterator[tuple[Path, Function]]:
    """Give every function of the package with its file."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, Function):
                yield path, node


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Give the names of functions, classes, variables and attributes that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr


def read_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Give attributes of other objects and imported names, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not is_own(node):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)


def is_own(node: ast.Attribute) -> bool:
    """Tell whether an attribute belongs to the object whose method reads it."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def is_private(name: str) -> bool:
    """Tell whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def short(path: Path) -> str:
    """Return a path below the package."""
    return path.relative_to(PACKAGE).as_posix()


def package_of(path: Path) -> str:
    """Return the name at the package root to which a file belongs."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FIGURES: dict[str, tuple[Callable[[], list[str] | int], int]] = {
    "files": (lambda: len(FILES), 184),
    # 21,000 before tree heads, isolation forests, averaged heads, assumed inliers, rankings without
    # labels, budgets for trees and the comparison with few labels came; 25,000 and 150 files before
    # messy tables, dates, ids, labels in other files, checks of new files, comparisons; 31,500 and
    # 175 before exports with titles, predictors without scikit-learn, kernels of loops, folds;
    # 33,500 and 177 before numbers too large, zones told, forks, `python -m boreod`, and
    # distances by products, weights of heads by a regression; 34,400 and 180 before prices of
    # calls; 34,600 before these are measured when somebody asks; 34,720 and 181 before memory of
    # searches is set aside by Python; 34,830 before candidates for budgets cut trees of the fit;
    # 34,890 before machine code was made of whole kernels alone, and a row skips far cells; 34,930
    # and 182 before boosted trees of our own; 35,330 and 183 before one kernel for all scores of
    # distances, one for probabilities of bags, and factors of Hessians that are used again
    "lines": (lambda: sum(map(lines, FILES)), 35_795),
    "names at the package root": (names_at_root, 25),  # one of them is __main__.py, as Python asks
    "import layers, siblings independent": (layers, 11),  # the uppermost is __main__.py
    "files under 60 lines, without `__init__.py`": (small_files, 12),
    "longest chain of files from `BORE().predict_proba` to the search kernel": (search_chain, 10),
    "files entered on that way": (entered_files, 17),
    "bodies over 60 lines": (long_bodies, 0),
    "untyped returns": (untyped_returns, 0),
    "private names of one package read in another": (private_reads, 0),
}


def main() -> None:
    """Print the table, and what makes up the figures that are above their bars."""
    found = {name: measure() for name, (measure, _) in FIGURES.items()}
    print("| figure | now | bar |\n|---|--:|--:|")
    for name, (_, bar) in FIGURES.items():
        value = found[name]
        print(f"| {name} | {value if isinstance(value, int) else len(value):,} | <= {bar:,} |")
    for name, value in found.items():
        if isinstance(value, list) and len(value) > FIGURES[name][1]:
            print(f"\n{name}:", *value, sep="\n- ")


if __name__ == "__main__":
    if "--trace" in sys.argv:
        print(json.dumps(trace()))
    else:
        main()
