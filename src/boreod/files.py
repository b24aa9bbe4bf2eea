"""Atomic writing of files, the cache folder, and the check of JSON from files.

JSON that others may have written is turned into dataclasses. Every field must be there and have its
type, and there must be no other fields.
"""

import errno
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

# The version is written into files.
__version__ = "0.1.0"


def cache_folder() -> Path:
    """Return the folder of downloads and measured prices, which may not exist yet.

    BOREOD_CACHE names it. Otherwise it is ``boreod`` in XDG_CACHE_HOME or in ``~/.cache``.
    """
    chosen = os.environ.get("BOREOD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return shared / "boreod"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename that file to ``path`` at the end.

    After an error or Ctrl-C the temporary file is removed and an older file stays as it was. If
    ``path`` is a link, the file that it points to is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder", str(path))
    if target.exists() and not target.is_file():
        # The path may be a device, and renaming a file to it would delete it.
        raise OSError(errno.EEXIST, "Is there and is no ordinary file", str(path))
    unfinished = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        yield unfinished
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, and make its folder if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


def parse_json(text: bytes, where: str) -> Any:
    """Return the content of untrusted JSON in ASCII, or raise a ``ValueError``.

    NaN, infinities, names that occur twice in one object and very deep nesting are refused.
    ``where`` names the text in the message.

    Examples
    --------
    >>> parse_json(b'{"a": [1, 2]}', "the list of sizes")
    {'a': [1, 2]}
    """
    try:
        return json.loads(
            text.decode("ascii"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is no JSON ({error})") from None


def typed_json(kind: Any, value: Any, where: str) -> Any:
    """Return parsed JSON as a value of an annotated type, or raise a ``ValueError``.

    This is the one check of JSON from files that others may have written. ``kind`` is a dataclass,
    ``int``, ``float``, ``str``, ``bool``, ``Any``, or a list, tuple, dict or optional of these. An
    object must have exactly the fields of its dataclass, whose ``__post_init__`` may refuse more.
    ``where`` names the place in the file, for the message.

    Examples
    --------
    >>> typed_json(dict[str, list[int] | None], {"a": [1, 2], "b": None}, "sizes")
    {'a': [1, 2], 'b': None}
    """
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _typed_dataclass(kind, value, where)
    if get_origin(kind) is not None:
        return _typed_generic(get_origin(kind), get_args(kind), value, where)
    if kind is float:
        is_number = type(value) in (int, float) and abs(value) < 1e308
        _expect(is_number, "a finite number", value, where)
        return float(value)
    names = {int: "a whole number", str: "a text", bool: "true or false"}
    _expect(type(value) is kind, names[kind], value, where)
    return value


def _typed_generic(kind: Any, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if kind is UnionType:
        # Unions of a type and None are the only ones in use.
        return None if value is None else typed_json(arguments[0], value, where)
    if kind in (dict, Mapping):
        _expect(isinstance(value, dict), "an object", value, where)
        return {k: typed_json(arguments[1], item, f"{where}.{k}") for k, item in value.items()}
    _expect(isinstance(value, list), "a list", value, where)
    if kind is tuple:
        _expect(len(value) == len(arguments), f"{len(arguments)} values", value, where)
        return tuple(map(typed_json, arguments, value, [where] * len(value)))
    return [typed_json(arguments[0], item, f"{where}.{n}") for n, item in enumerate(value)]


def _typed_dataclass(kind: Any, value: Any, where: str) -> Any:
    _expect(isinstance(value, dict), "an object", value, where)
    hints = _hints(kind)
    for name in sorted(set(value) ^ set(hints)):
        problem = "has no" if name in hints else "has an unknown"
        raise ValueError(f"{where:.60} {problem} {name!r:.60}")
    return kind(**{n: typed_json(hint, value[n], f"{where}.{n}") for n, hint in hints.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _expect(right: bool, what: str, value: Any, where: str) -> None:
    if not right:
        raise ValueError(f"{where:.60} must be {what}, but is {value!r:.60}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found
