"""Files that are whole or not there, the folder for files that can be made again, and their JSON.

JSON that others may have written becomes dataclasses, strictly: nothing missing but what came with
a later version, nothing unknown, no other type.
"""

import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

__version__ = "0.1.0"  # is written into files
LATER = "later"  # marks a field that files of earlier versions do not have
NAMES = {int: "a whole number", str: "a text", bool: "true or false"}


def cache_folder() -> Path:
    """Return the folder of downloads and measured prices, whether it exists or not.

    BOREOD_CACHE names it, otherwise it is ``boreod`` in XDG_CACHE_HOME or in ``~/.cache``.
    """
    chosen = os.environ.get("BOREOD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return shared / "boreod"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give another name in the same folder, and rename what was written there in the end.

    After an error or Ctrl-C nothing is left, and an older file stays as it was. A link keeps
    leading to its file, whose content is new.

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
    if target.exists() and not target.is_file():  # a device would be gone after the renaming
        raise OSError(errno.EEXIST, "Is there and is no ordinary file", str(path))
    unfinished = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        yield unfinished
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a file that takes the place of an old one at once; its folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


def typed_json(kind: Any, value: Any, where: str) -> Any:
    """Return a value of some annotated type, or say in a ``ValueError`` where it is not one.

    ``kind`` is a dataclass, ``int``, ``float``, ``str``, ``bool``, ``Any``, or a list, tuple, dict
    or optional of these; ``where`` is the place in the file, for the message. Fields of a dataclass
    whose metadata say LATER may be missing: older files do not have them.

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
    _expect(type(value) is kind, NAMES[kind], value, where)
    return value


def _typed_generic(kind: Any, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if kind is UnionType:  # with None
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
    names = [field.name for field in fields(kind)]
    later = {field.name for field in fields(kind) if field.metadata.get(LATER)}
    names = [name for name in names if name in value or name not in later]
    if set(value) != set(names):
        wrong = sorted(set(value) ^ set(names))
        problem = "has no" if wrong[0] in names else "has an unknown"
        raise ValueError(f"{where:.60} {problem} {wrong[0]!r:.60}")
    hints = get_type_hints(kind)
    return kind(**{name: typed_json(hints[name], value[name], f"{where}.{name}") for name in names})


def _expect(right: bool, what: str, value: Any, where: str) -> None:
    if not right:
        raise ValueError(f"{where:.60} must be {what}, but is {value!r:.60}")
