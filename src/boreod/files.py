"""Atomic writing of files, the cache folder, and the validation of JSON.

JSON from untrusted files is turned into dataclasses. An object must have exactly the fields of its
dataclass, and each value must have the type of its field.
"""

import errno
import glob
import json
import os
import secrets
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

# The package writes its version into files.
__version__ = "0.1.0"
# Linux keeps the access list of a file (setfacl) under this name.
ACCESS_LIST = "system.posix_acl_access"
# Parsed JSON takes up to 64 bytes for each comma, colon and opening bracket, besides its texts. A
# model of 50,000 columns has fewer of them.
MOST_MARKS = 1_500_000


def cache_folder() -> Path:
    """Return the folder for downloads and measured prices; the folder may not exist yet.

    The environment variable BOREOD_CACHE sets the folder. The default is ``boreod`` in
    XDG_CACHE_HOME or, if that is not set, in ``~/.cache``.
    """
    chosen = os.environ.get("BOREOD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "boreod"


@contextmanager
def whole_file(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, and rename the written file to ``path`` at the end.

    After an error or Ctrl-C, the temporary file is removed, and a file that already exists at
    ``path`` stays unchanged. If ``path`` is a link, its target is written. A file that is replaced
    keeps its permissions, and a write-protected file is not replaced. A new file has the
    permissions that the umask leaves; if it is ``private``, only its owner may read it. Until the
    file is whole, only its writer may read it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    target = _find_target(path)
    unfinished = target.with_name(f".{secrets.token_hex(6)}.part")
    try:
        # The system takes away the bits of the umask, and adds the access list of the folder.
        unfinished.touch(0o600 if private or target.exists() else 0o666, exist_ok=False)
        mode = stat.S_IMODE(unfinished.stat().st_mode)
        unfinished.chmod(0o600)
        yield unfinished
        if _find_target(target).exists():
            keep_permissions(target, unfinished)
        else:
            unfinished.chmod(mode)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _find_target(path: Path) -> Path:
    """Return the file at the end of links; raise if it may not be replaced by another file."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder", str(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        # The path may be a device. Renaming a file to this path would delete the device. Of links
        # that lead in a circle, none is an end.
        raise OSError(errno.EEXIST, "Is there and is no ordinary file", str(path))
    if is_protected(target):
        raise PermissionError(
            errno.EACCES, "Is write-protected: use chmod u+w, or choose another name", str(path)
        )
    return target


def is_protected(path: Path) -> bool:
    """Return whether a file is there that may not be written, even if an administrator could."""
    return path.exists() and not (path.stat().st_mode & stat.S_IWUSR and os.access(path, os.W_OK))


def keep_permissions(old: Path, new: Path) -> None:
    """Give a new file or folder the owner, the group and the permissions of the old one.

    Only an administrator may give a file to any owner or group. If the group cannot be kept, nobody
    gets a permission that the old group and all others did not both have.
    """
    facts = old.stat()
    mode = stat.S_IMODE(facts.st_mode)
    # Not every system has owners, groups and access lists.
    with suppress(OSError, AttributeError):
        os.chown(new, -1 if os.geteuid() else facts.st_uid, facts.st_gid)
    if new.stat().st_gid != facts.st_gid:
        mode &= 0o700 | (mode >> 3 & mode & 0o7) * 0o11
    with suppress(OSError, AttributeError):
        os.removexattr(new, ACCESS_LIST)
    with suppress(OSError, AttributeError):
        os.setxattr(new, ACCESS_LIST, os.getxattr(old, ACCESS_LIST))
    new.chmod(mode)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; create its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def closed_to_others(lock: Any) -> Iterator[None]:
    """Make new files and folders to which only this user may write, whatever the umask."""
    # The umask is that of the process, so threads take turns. While it is asked for, it is strict.
    with lock:
        before = os.umask(0o077)
        os.umask(before | 0o022)
        try:
            yield
        finally:
            os.umask(before)


@cache
def refuse_open(folder: str) -> None:
    """Raise if a folder of machine code is missing, or if another user may write to it.

    Whoever can write there could run code with the rights of this user. The files in it count, and
    the folder above, because the folder could be replaced there.
    """
    above = os.path.dirname(folder)
    for path in (above, folder, *code_in(folder)):
        facts = os.stat(path)
        closed = stat.S_IWOTH
        # Many systems give every user a group of the same number, and let it write to new files.
        if facts.st_gid != facts.st_uid:
            closed |= stat.S_IWGRP
        # In a sticky folder such as /tmp, nobody can replace the folders of others.
        if path == above and facts.st_mode & stat.S_ISVTX:
            closed = 0
        # Windows has no such modes.
        if os.name == "posix" and (facts.st_mode & closed or facts.st_uid not in (os.geteuid(), 0)):
            warn(
                f"Other users may write to {path}, so machine code in {folder} is not used: it "
                "would run with your rights. Take their rights (chmod -R go-w), or set the "
                "environment variable NUMBA_CACHE_DIR to a folder of your own."
            )
            raise PermissionError(path)


@cache
def warn(text: str) -> None:
    """Warn once in this process."""
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def code_in(folder: str, ending: str = "") -> list[str]:
    """Return the files of machine code in a folder; temporary ones have a longer ending."""
    return glob.glob(os.path.join(glob.escape(folder), f"*.nb[ci]{ending}"))


def parse_json(text: bytes, where: str) -> Any:
    """Parse untrusted ASCII JSON; raise a ``ValueError`` if it is invalid.

    NaN, infinities, names that occur twice in one object, very deep nesting and very many values
    are errors. ``where`` names the text in the error message.

    Examples
    --------
    >>> parse_json(b'{"a": [1, 2]}', "the list of sizes")
    {'a': [1, 2]}
    """
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > MOST_MARKS:
        raise ValueError(f"{where} holds more values than a model of 50,000 columns")
    try:
        return json.loads(
            text.decode("ascii"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is no JSON ({error})") from None


def typed_json(kind: Any, value: Any, where: str) -> Any:
    """Convert parsed JSON to an annotated type; raise a ``ValueError`` if it does not match.

    All JSON from untrusted files is checked here. ``kind`` is a dataclass, ``int``, ``float``,
    ``str``, ``bool``, ``Any``, or a list, tuple, dict or optional of these. An object must have
    exactly the fields of its dataclass, whose ``__post_init__`` may raise further errors.
    ``where`` names the place in the file in the error message.

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
        _expect(type(value) in (int, float) and abs(value) < 1e308, "a finite number", value, where)
        return float(value)
    names = {int: "a whole number", str: "a text", bool: "true or false"}
    _expect(type(value) is kind, names[kind], value, where)
    return value


def _typed_generic(kind: Any, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if kind is UnionType:
        # All unions in use are unions of one type and None.
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
