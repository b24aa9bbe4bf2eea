"""From parsed JSON to dataclasses, strictly: nothing missing, nothing unknown, no other type."""

from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from boreod.persistence.errors import ModelFileError
from boreod.text import shorten
from boreod.validation import is_number

NAMES = {int: "a whole number", str: "a text", bool: "true or false"}


def read(kind: Any, value: Any, where: str) -> Any:
    """Return a value of some annotated type, or say where it is not one.

    Parameters
    ----------
    kind
        A dataclass, ``int``, ``float``, ``str``, ``bool``, ``Any``, or a list, dict or optional of
        these.
    value
        What the JSON parser returned.
    where
        Place in the manifest, for the message.

    Examples
    --------
    >>> read(dict[str, list[int] | None], {"a": [1, 2], "b": None}, "sizes")
    {'a': [1, 2], 'b': None}
    """
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _read_dataclass(kind, value, where)
    if get_origin(kind) is not None:
        return _read_generic(get_origin(kind), get_args(kind), value, where)
    if kind is float:
        _expect(is_number(value) and abs(value) < 1e308, "a finite number", value, where)
        return float(value)
    _expect(type(value) is kind, NAMES[kind], value, where)
    return value


def _read_generic(kind: Any, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if kind is UnionType:  # with None
        return None if value is None else read(arguments[0], value, where)
    if kind is list:
        _expect(isinstance(value, list), "a list", value, where)
        return [read(arguments[0], item, f"{where}.{n}") for n, item in enumerate(value)]
    _expect(isinstance(value, dict), "an object", value, where)
    return {k: read(arguments[1], item, f"{where}.{k}") for k, item in value.items()}


def _read_dataclass(kind: Any, value: Any, where: str) -> Any:
    _expect(isinstance(value, dict), "an object", value, where)
    names = [field.name for field in fields(kind)]
    if set(value) != set(names):
        wrong = sorted(set(value) ^ set(names))
        problem = "has no" if wrong[0] in names else "has an unknown"
        raise ModelFileError(f"{_place(where)} {problem} {shorten(wrong[0])}")
    hints = get_type_hints(kind)
    return kind(**{name: read(hints[name], value[name], f"{where}.{name}") for name in names})


def _expect(right: bool, what: str, value: Any, where: str) -> None:
    if not right:
        raise ModelFileError(f"{_place(where)} must be {what}, but is {shorten(value)}")


def _place(where: str) -> str:
    return shorten(where).strip("'\"")
