"""Model files by someone who knows the format: hashes and checksums are right, content is not."""

import hashlib
import io
import json
import zipfile

from boreod.persistence.archive import MANIFEST_LIMIT, write_archive

HUGE = (10**6, 2**31, 2**40, 2**62, 2**64, 10**30, 10**400)

ODD = (
    None,
    True,
    -1,
    0,
    3,
    1e-320,
    1e307,
    "",
    "x",
    "lof",
    "@",
    [],
    {},
    [1],
    {"a": 1},
    "\0",
    10**400,
)

MANIFESTS = {
    "empty": b"",
    "no JSON": b"{'format': 3}",
    "a list": b"[]",
    "not ASCII": b"\xff\xfe{}",
    "NaN": b'{"format": NaN}',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "many digits": b'{"format": ' + b"9" * 10_000 + b"}",
    "no format": b"{}",
    "format of another type": b'{"format": "3"}',
    "large": b'{"format": 3, "extra": [' + b"[]," * (MANIFEST_LIMIT // 3 - 20) + b"[]]}",
    "large objects": b'{"format": 3, "extra": [' + b"{}," * (MANIFEST_LIMIT // 3 - 20) + b"{}]}",
}


def take_apart(content):
    """Return manifest and bytes of the arrays of a good model file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("manifest.json")), archive.read("arrays.safetensors")


def forge(path, manifest, arrays, honest=True):
    """Write a file whose hash and checksums are right, whatever is in it."""
    if honest:
        digest = hashlib.sha256(arrays).hexdigest()
        manifest = {**manifest, "sha256": digest}
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    write_archive(path, text, arrays)
    return path


def somewhere(value, random):
    """Return a random place in nested lists and dicts."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[random.integers(len(keys))]
        inside = value[key]
        if not isinstance(inside, dict | list) or not inside or random.random() < 0.15:
            return value, key
        value = inside


def spoil_manifest(manifest, random):
    """Remove something of a manifest, add something unknown, or put an odd value there."""
    holder, key = somewhere(manifest, random)
    action = random.integers(3)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        holder["unknown"] = holder[key]
    else:
        holder[key] = ODD[random.integers(len(ODD))]
