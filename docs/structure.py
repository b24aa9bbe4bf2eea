"""Print how large the package is, how dense its code is, and how its files depend on each other.

Run it with ``python docs/structure.py``. ``tests/test_structure.py`` keeps every figure within its
limit. Limits may only fall.
"""

import ast
import io
import json
import os
import subprocess
import sys
import tokenize
import tomllib
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "boreod"
TESTS = ROOT / "tests"
FILES = sorted(PACKAGE.rglob("*.py"))
UPPER_FLOORS = ("tables", "tool", "paper")
OF_NAMED_TUPLES = ("_asdict", "_fields", "_make", "_replace")
Function = ast.FunctionDef | ast.AsyncFunctionDef


# Sizes.


def files_of(floor: str) -> list[Path]:
    """Return the files of a floor; the core is everything that is not on an upper floor."""
    if floor == "core":
        return [path for path in FILES if package_of(path) not in UPPER_FLOORS]
    return [path for path in FILES if package_of(path) == floor]


def names_at_root() -> list[str]:
    """Return the names of modules, packages and other files at the root of the package."""
    hidden = ("__init__.py", "__pycache__")
    return sorted(path.name for path in PACKAGE.iterdir() if path.name not in hidden)


def lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def code_lines(path: Path) -> int:
    """Return the number of lines without docstrings, comments and blank lines."""
    left_out = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type not in left_out:
            found |= set(range(token.start[0], token.end[0] + 1))
    for text in docstrings(parsed(path)):
        found -= set(range(text.lineno, (text.end_lineno or 0) + 1))
    return len(found)


def statements(path: Path) -> int:
    """Return the number of statements; an assignment of n values to n names counts n."""
    texts = set(docstrings(parsed(path)))
    number = 0
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.stmt) or node in texts:
            continue
        number += 1
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.List):
            pairs = [target for target in node.targets if isinstance(target, ast.Tuple | ast.List)]
            number += sum(len(target.elts) - 1 for target in pairs)
    return number


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Give the docstrings of a file, of its classes and of its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield first


# What a user meets.


def classes_of_detector() -> list[str]:
    """Return the classes of the package between a user and the engine."""
    from boreod.bore import BORE

    return [kind.__name__ for kind in BORE.__mro__ if kind.__module__.startswith("boreod.")]


def constructor_parameters() -> list[str]:
    """Return the parameters of a detector."""
    from boreod import Detector

    return list(Detector().get_params(deep=False))


def public_members() -> list[str]:
    """Return what a fitted detector shows besides its parameters and scikit-learn's own methods."""
    import numpy as np
    from sklearn.base import BaseEstimator

    from boreod import BORE, OutlierRepresentation

    X = np.random.default_rng(0).normal(size=(12, 2))
    few = OutlierRepresentation(["knn"], [2])
    with warnings.catch_warnings(action="ignore"):
        model = BORE(few, n_estimators=2, random_state=0).fit(X, np.arange(12) % 3 == 0)
    own = {*dir(BaseEstimator), *model.get_params(deep=False)}
    shown = {*dir(model), "feature_names_in_"}
    return sorted(
        name
        for name in shown - own
        if not name.startswith("_") and not (name.startswith("set_") and name.endswith("_request"))
    )


# Functions.


def longest_signatures() -> list[str]:
    """Return functions of more than 8 parameters, and constructors and kernels of more than 16."""
    found = []
    for path, function in functions():
        decorators = decorator_names(function)
        if "plain_errors" in decorators:  # a command of the command line
            continue
        is_large = function.name == "__init__" or decorators & {"compiled", "inner"}
        if count_parameters(function) > (16 if is_large else 8):
            found.append(f"{short(path)}: {function.name}")
    return found


def count_parameters(function: Function) -> int:
    """Return how many parameters a function names, besides the object itself."""
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def decorator_names(function: Function) -> set[str]:
    """Return the names of the decorators of a function."""
    found = set()
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        found.add(node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))
    return found


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


def small_files() -> list[str]:
    """Return files of fewer than 60 lines."""
    return [short(path) for path in FILES if path.name != "__init__.py" and lines(path) < 60]


def tests_not_parametrised() -> int:
    """Return the percentage of test functions that run with one set of values only."""
    tests = [
        node
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, Function) and node.name.startswith("test_")
    ]
    single = [test for test in tests if "parametrize" not in decorator_names(test)]
    return round(100 * len(single) / len(tests))


# Private names.


def private_reads() -> list[str]:
    """Return private names of one package that another one reads or imports."""
    known = owners()
    return [
        f"{short(path)}:{line}: {name} of {', '.join(sorted(known[name]))}"
        for path in FILES
        for line, name in read_names(parsed(path))
        if is_private(name) and name in known and package_of(path) not in known[name]
    ]


def foreign_private_names() -> list[str]:
    """Return private names of other libraries that the package reads or imports."""
    known = owners()
    found = {
        f"{short(path)}: {name}"
        for path in FILES
        for _, name in read_names(parsed(path))
        if is_private(name) and name not in known and name not in OF_NAMED_TUPLES
    }
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module and "._" in node.module:
                found.add(f"{short(path)}: {node.module}")
    return sorted(found)


def owners() -> dict[str, set[str]]:
    """Return, for each defined name, the packages that define it."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for name in defined_names(parsed(path)):
            found.setdefault(name, set()).add(package_of(path))
    return found


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
    """Return whether an attribute belongs to the object whose method reads it."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def is_private(name: str) -> bool:
    """Return whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


# Imports.


def layers() -> list[str]:
    """Return the layers of the import contract, top first; siblings must be independent."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contract = next(c for c in settings["importlinter"]["contracts"] if c["type"] == "layers")
    dependent = [layer for layer in contract["layers"] if ":" in layer]
    if dependent or not contract["exhaustive"] or contract.get("ignore_imports"):
        raise ValueError(f"The contract must be exhaustive, siblings separated by |: {dependent}")
    return list(contract["layers"])


def reachable_files() -> list[Path]:
    """Return the files that ``boreod.detector`` imports, at once or when a function is called."""
    places = {module_of(path): path for path in FILES}
    found: set[str] = set()
    waiting = ["boreod.detector"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        parent = name.rpartition(".")[0]
        if parent and parent != "boreod":
            waiting.append(parent)
        waiting += [target for target in imported_modules(places[name]) if target in places]
    return [places[name] for name in sorted(found)]


def imported_modules(path: Path) -> Iterator[str]:
    """Give the modules of the package that a file imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("boreod."):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# The way of a prediction.


def search_chain() -> list[str]:
    """Return the files of the longest stack from ``predict_proba`` down to a search kernel."""
    return traced()[0]


def entered_files() -> list[str]:
    """Return the files of all calls before the search kernel, whether they have returned or not."""
    return traced()[1]


@cache
def traced() -> list[list[str]]:
    """Trace in a separate process, in which kernels are not compiled and their calls are seen."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-W", "ignore", __file__, "--trace"]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return list(json.loads(result.stdout))


def trace() -> tuple[list[str], list[str]]:
    """Score one row and many rows with a fitted and with a loaded model, and watch all calls."""
    import numpy as np

    from boreod import BORE, OutlierRepresentation, load

    random = np.random.default_rng(0)
    X = random.normal(size=(12, 2))
    columns = OutlierRepresentation(["knn", "odin"], [2])
    model = BORE(columns, n_estimators=2, random_state=0).fit(X, np.arange(12) % 3 == 0)
    with TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        models = [model, load(f"{folder}/model")]
    kernels = {(str(path), f.name) for path, f in functions() if is_search_kernel(path, f)}
    longest: tuple[list[str], list[str]] = ([], [])
    entered: dict[str, None] = {}

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
            # The file of the kernel comes last, even if it also calls the kernel.
            chain.pop(file_of(code), None)
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
    """Return whether a function of ``neighbors`` is compiled."""
    return package_of(path) == "neighbors" and "compiled" in decorator_names(function)


# Shared parts.


def functions() -> Iterator[tuple[Path, Function]]:
    """Give every function of the package with its file."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, Function):
                yield path, node


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    """Return a path below the package."""
    return path.relative_to(PACKAGE).as_posix()


def package_of(path: Path) -> str:
    """Return the name at the package root to which a file belongs."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def total(measure: Callable[[Path], int], paths: list[Path]) -> int:
    """Return the sum of a measure over files."""
    return sum(map(measure, paths))


# Every limit is the present value.
FIGURES: dict[str, tuple[Callable[[], list[str] | int], int]] = {
    "classes from user to engine": (classes_of_detector, 3),
    "parameters of the constructor": (constructor_parameters, 16),
    "public members": (public_members, 30),
    "files": (lambda: len(FILES), 145),
    "names at the package root": (names_at_root, 20),
    "lines of code": (lambda: total(code_lines, FILES), 23_389),
    "statements": (lambda: total(statements, FILES), 18_089),
    "core: files": (lambda: len(files_of("core")), 71),
    "core: lines of code": (lambda: total(code_lines, files_of("core")), 10_883),
    "core: statements": (lambda: total(statements, files_of("core")), 8_818),
    "tables: statements": (lambda: total(statements, files_of("tables")), 3_529),
    "tool: statements": (lambda: total(statements, files_of("tool")), 3_687),
    "paper: statements": (lambda: total(statements, files_of("paper")), 2_055),
    "files that `Detector` imports for numbers": (lambda: len(reachable_files()), 60),
    "lines that `Detector` imports for numbers": (lambda: total(lines, reachable_files()), 14_730),
    "private names of other libraries": (foreign_private_names, 2),
    "functions above 8 parameters, kernels above 16": (longest_signatures, 0),
    "tests that are not parametrised, %": (tests_not_parametrised, 64),
    "import layers, siblings independent": (layers, 15),
    "files under 60 lines, without `__init__.py`": (small_files, 0),
    "longest chain of files from `BORE().predict_proba` to the search kernel": (search_chain, 8),
    "files entered on that way": (entered_files, 15),
    "bodies over 60 lines": (long_bodies, 0),
    "untyped returns": (untyped_returns, 0),
    "private names of one package read in another": (private_reads, 0),
}


def main() -> None:
    """Print all figures, and the items of every figure that is above its limit."""
    found = {name: measure() for name, (measure, _) in FIGURES.items()}
    print("| figure | now | limit |\n|---|--:|--:|")
    for name, (_, limit) in FIGURES.items():
        value = found[name]
        print(f"| {name} | {value if isinstance(value, int) else len(value):,} | <= {limit:,} |")
    for name, value in found.items():
        if isinstance(value, list) and len(value) > FIGURES[name][1]:
            print(f"\n{name}:", *value, sep="\n- ")


if __name__ == "__main__":
    if "--trace" in sys.argv:
        print(json.dumps(trace()))
    else:
        main()
