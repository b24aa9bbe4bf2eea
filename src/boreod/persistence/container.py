"""The container of model files: arrays in a safetensors file.

One array holds the manifest, which is JSON. Another array holds the SHA-256 of all other arrays.
"""

import errno
import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from boreod.files import parse_json, typed_json, whole_file
from boreod.text import shorten

# The manifest and the list of arrays have at most this many bytes each.
JSON_LIMIT = 2**24
TYPES: dict[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
}

MOST = float(np.finfo(np.float64).max)


class Tensor(NamedTuple):
    """The type and the shape of an array, and the range and the order of its numbers.

    ``order`` compares each number with the next one on the last axis. Empty arrays are not in the
    file.
    """

    kind: str
    shape: list[int]
    least: float = -MOST
    most: float = MOST
    order: np.ufunc | None = None


# In the file, the name of an array begins with its owner, as in members.0.coefficients.
Arrays = dict[str, NDArray]
Tensors = dict[str, Tensor]
Part = TypeVar("Part")


class ModelFileError(ValueError):
    """A file cannot be used as a model file, or a model cannot be stored in one."""


@dataclass(frozen=True)
class _Entry:
    """An array in the list of a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class ModelFile:
    """A model file that is open: its manifest, and the number of bytes in its arrays."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if start[:4] in (b"PK\3\4", b"PK\5\6"):
            raise ModelFileError(
                "it is a zip archive, as model files were before format 8, so fit again with this "
                "version"
            )
        if length > min(size - 8, JSON_LIMIT):
            raise ModelFileError("it was not written by `boreod.save`, or it was cut off")
        listed = parse_json(file.read(length), "its list of arrays")
        entries = typed_json(dict[str, _Entry], listed, "its list of arrays")
        if not {"manifest", "sha256"} <= set(entries):
            raise ModelFileError("it has no manifest")
        begin, end = entries["manifest"].data_offsets
        room = size - 8 - length
        if not 0 <= begin <= end <= room or end - begin > JSON_LIMIT:
            raise ModelFileError(
                f"its manifest claims the bytes from {shorten(begin)} to {shorten(end)} of {room}"
            )
        file.seek(8 + length + begin)
        self.manifest = file.read(end - begin)
        # The SHA-256 takes 32 bytes.
        self._arrays_size = room - len(self.manifest) - 32

    def read_arrays(self, expected: Tensors) -> Arrays:
        """Return the arrays, after a check of their size, hash, types and shapes."""
        wanted = sum(
            TYPES[tensor.kind].itemsize * prod(tensor.shape) for tensor in expected.values()
        )
        if wanted != self._arrays_size:
            raise ModelFileError(
                f"its manifest asks for {wanted} bytes of arrays, but there are {self._arrays_size}"
            )
        self._file.seek(0)
        try:
            found: dict[str, Any] = dict(deserialize(self._file.read(self._size)))  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise ModelFileError(f"its arrays cannot be read ({error})") from None
        if _hash({name: item["data"] for name, item in found.items()}) != found["sha256"]["data"]:
            raise ModelFileError("its content does not have the SHA-256 that the file names")
        known = {"manifest": ("U8", [len(self.manifest)]), "sha256": ("U8", [32])}
        known |= {name: (t.kind, t.shape) for name, t in expected.items() if 0 not in t.shape}
        if {name: (item["dtype"], item["shape"]) for name, item in found.items()} != known:
            raise ModelFileError("its arrays are not those that its manifest asks for")
        arrays = {}
        for name, tensor in expected.items():
            flat = np.frombuffer(found.pop(name, {"data": b""})["data"], TYPES[tensor.kind])
            # Kernels are compiled for writable arrays.
            arrays[name] = np.require(flat.reshape(tensor.shape), requirements=["C", "A", "W"])
        return arrays


@contextmanager
def open_model_file(path: Path) -> Iterator[ModelFile]:
    """Open a model file and read its manifest."""
    with _naming(path, "read"):
        # Opening a pipe would wait for a writer.
        if stat.S_ISFIFO(path.stat().st_mode):
            raise ModelFileError("it is a pipe, but a model file must be a regular file")
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ModelFileError("it is a device, but a model file must be a regular file")
            yield ModelFile(file, facts.st_size)


@contextmanager
def _naming(path: Path, done: str) -> Iterator[None]:
    """Replace errors of the system by errors that name the model file, not a temporary file."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        words = f"The model file could not be {done} ({reason})"
        raise OSError(error.errno or errno.EIO, words, str(path)) from None


def write_model_file(path: Path, manifest: bytes, arrays: Arrays) -> None:
    """Write a model file atomically."""
    parts = {**arrays, "manifest": np.frombuffer(manifest, np.uint8)}
    parts["sha256"] = np.frombuffer(_hash(parts), np.uint8)
    content = save(parts)
    longest = max(len(manifest), int.from_bytes(content[:8], "little"))
    if longest > JSON_LIMIT:
        raise ModelFileError(
            f"The manifest of a model file may have {JSON_LIMIT} bytes, but this manifest has "
            f"{longest}. Save a model of fewer columns (`within`), or shorten `extra`."
        )
    # A model file holds ids and values of known outliers, so a new file is private.
    with (
        _naming(path, "written"),
        whole_file(path, private=True) as unfinished,
        unfinished.open("wb") as file,
    ):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _hash(parts: dict[str, Any]) -> bytes:
    """Return the SHA-256 of all arrays in the order of their names, without the hash itself."""
    digest = hashlib.sha256()
    for name in sorted(parts.keys() - {"sha256"}):
        digest.update(parts[name])
    return digest.digest()


def named(owner: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays or tensors of an owner, with the names that they have in the file."""
    return {f"{owner}.{name}": part for name, part in parts.items()}


def owned(owner: str, parts: Iterable[Part]) -> Iterator[tuple[str, Part]]:
    """Yield parts of the model with their names, such as ``members.0``."""
    for place, part in enumerate(parts):
        yield f"{owner}.{place}", part


def by_owner(arrays: Arrays) -> dict[str, Arrays]:
    """Return the arrays by owner, and then by the part of the name that follows the owner."""
    owners: dict[str, Arrays] = defaultdict(dict)
    for full_name, values in arrays.items():
        owner, _, name = full_name.rpartition(".")
        owners[owner][name] = values
    return owners
