"""Damaged and forged model files: they are refused in a sentence, or they are models.

Forged by someone who knows the format: hashes and checksums are right, content is not.
"""

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from boreod.files import MOST_MARKS
from boreod.persistence.container import JSON_LIMIT, write_model_file
from boreod.persistence.manifest import FORMAT
from boreod.predictor import assess, prepare
from boreod.tool.scoring.scoring import columns_to_read, types_to_read

from .verdicts import (
    REFUSED,
    SCORED,
    Wrong,
    check_finite,
    check_folder,
    check_scores,
    check_sentence,
    run_command,
)

ODD_BYTES = (b'"', b"\x00", b"\xff\xfe", b"\n\n", b",,,", b"\r", b"1e999", b"{", b"nan")
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

START = f'{{"format": {FORMAT}'.encode()
MANIFESTS = {
    "empty": b"",
    "no JSON": b"{'format': 5}",
    "a list": b"[]",
    "not ASCII": b"\xff\xfe{}",
    "NaN": b'{"format": NaN}',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "many digits": b'{"format": ' + b"9" * 10_000 + b"}",
    "no format": b"{}",
    "format of another type": b'{"format": "5"}',
    "large": START + b', "extra": [' + b"[]," * (MOST_MARKS // 2 - 20) + b"[]]}",
    "large objects": START + b', "extra": [' + b"{}," * (MOST_MARKS // 2 - 20) + b"{}]}",
    "large text": START + b', "extra": ["' + b"a" * (JSON_LIMIT - 100) + b'"]}',
    "many values": START + b', "extra": [' + b"1," * MOST_MARKS + b"1]}",
}


def damage(content: bytes, random: np.random.Generator) -> bytes:
    """Return the content with flipped bits, a part cut out, doubled, or replaced by odd bytes."""
    data = bytearray(content)
    start = int(random.integers(len(data)))
    stop = min(len(data), start + int(random.integers(1, 40)))
    kind = random.integers(5)
    if kind == 0:
        data[start] ^= 1 << int(random.integers(8))
    elif kind == 1:
        del data[start:]
    elif kind == 2:
        del data[start:stop]
    elif kind == 3:
        data[start:start] = data[start:stop]
    else:
        data[start:stop] = ODD_BYTES[int(random.integers(len(ODD_BYTES)))]
    return bytes(data)


def damage_often(content: bytes, random: np.random.Generator) -> bytes:
    """Return the content after one to six kinds of damage; what is empty stays so."""
    for _ in range(int(random.integers(1, 7))):
        content = damage(content, random) if content else content
    return content


def splice(one: bytes, two: bytes, random: np.random.Generator) -> bytes:
    """Return the beginning of one content and the end of another."""
    return one[: random.integers(len(one) + 1)] + two[random.integers(len(two) + 1) :]


def take_apart(content):
    """Return manifest and arrays of a good model file."""
    arrays = load(content)
    del arrays["sha256"]
    return json.loads(arrays.pop("manifest").tobytes()), arrays


def forge(path, manifest, arrays):
    """Write a file whose hash is right, whatever is in it."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    write_model_file(path, text, arrays)
    return path


def split_header(content):
    """Return the list of arrays in a model file, and what follows it."""
    end = 8 + int.from_bytes(content[:8], "little")
    return content[8:end], content[end:]


def join_header(header, rest):
    """Return a model file of a list of arrays and what follows it."""
    return len(header).to_bytes(8, "little") + header + rest


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


HOSTILE = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-300, -1.0, 1e150, -1e150, 1e308, -1e308)
NUMBERS = (-1, 0, 1, 2, 7, 299, 301, -(2**31), 1e-320, 1e300, -0.5, *HUGE)
Random = np.random.Generator


def make(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write a model file that somebody spoilt, and a table to score with it."""
    models = sorted(good.glob("*.boreod"))
    one, two = (models[number] for number in random.integers(len(models), size=2))
    way = WAYS[random.integers(len(WAYS))]
    path = folder / "model.boreod"
    if way in _OF_BYTES:
        path.write_bytes(way(one.read_bytes(), two.read_bytes(), random))
    else:
        manifest, arrays = take_apart(one.read_bytes())
        way(path, manifest, arrays, random)
    table = {"rows": "rows.csv", "kinds": "kinds.csv"}.get(one.name.partition("-")[0], "score.csv")
    shutil.copy(good / table, folder / "table.csv")
    reasons = int(random.integers(3))
    return {"way": way.__name__, "of": one.name, "reasons": reasons}


def run(folder: Path, settings: dict[str, Any]) -> str:
    """Load, describe, score."""
    from boreod import load
    from boreod.persistence import ModelFileError, load_predictor

    path, table, output = folder / "model.boreod", folder / "table.csv", folder / "output"
    output.mkdir()
    model = None
    for read in (load, load_predictor):  # commands need less, and load less
        try:
            model = read(path, 1)
        except ModelFileError as error:
            check_sentence(str(error))
            if model is not None:
                raise Wrong("a model can be loaded, and not as a predictor") from None
    described = run_command("info", path)
    options = ["--jobs", 1, "--reasons", settings["reasons"]]
    scored = run_command("score", path, table, "-o", output / "scored.csv", *options)
    check_folder(output, ["scored.csv"] if scored else [])
    if model is None:
        if described or scored:
            raise Wrong("a command uses a model file that cannot be loaded")
        return REFUSED
    if not scored:
        return REFUSED
    if not described:
        raise Wrong("a model scores a table and cannot be described")
    check_scores(output / "scored.csv", whole=True)
    _check_log_odds(model, table)
    return SCORED


def _check_log_odds(model: Any, table: Path) -> None:
    """Infinite log-odds hide behind probabilities of 0 and 1."""
    from boreod.tables import open_table

    since = model.preparation_.since_
    with open_table(
        table,
        types=types_to_read(model.preparation_),
        columns=columns_to_read(model.preparation_),
        since=since,
    ) as reader:
        for batch in reader:
            check_finite(model.decision_function(batch), "log-odds")
            found = assess(model, prepare(model, batch), explain=True)
            check_finite(found.log_odds, "explained log-odds")
            if model.fitted_.logistic is None:
                check_finite(found.explanation.contributions, "contributions")
            check_finite(found.novelty.times_usual, "distances")


def _bytes(one: bytes, two: bytes, random: Random) -> bytes:
    return damage_often(one, random)


def _splice(one: bytes, two: bytes, random: Random) -> bytes:
    return splice(one, two, random)


def _archives(one: bytes, two: bytes, random: Random) -> bytes:
    """Write zip archives, as older model files were, packed or not, some members twice."""
    manifest, _ = take_apart(one)
    members = [("manifest.json", json.dumps(manifest).encode()), ("arrays.safetensors", one)]
    members += [("manifest.json", b"{}"), ("more.py", b"raise SystemExit"), ("../up", b"")]
    sink = io.BytesIO()
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(sink, "w", random.choice([0, 8])) as archive:
        warnings.simplefilter("ignore")  # that a name is there twice
        for number in random.integers(len(members), size=random.integers(1, 5)):
            archive.writestr(*members[number])
    return sink.getvalue()


def _entries(one: bytes, two: bytes, random: Random) -> bytes:
    """Write the list of arrays again, some twice, some not, or with numbers of another one."""
    header, rest = split_header(one)
    entries = list(json.loads(header).items())
    for _ in range(random.integers(1, 4)):
        (name, entry), (_, other) = (
            entries[place] for place in random.integers(len(entries), size=2)
        )
        key = str(random.choice(["dtype", "shape", "data_offsets"]))
        changed = [{**entry, key: other[key]}, {**entry, "shape": [int(random.choice(HUGE[:4]))]}]
        entries.append((name, changed[random.integers(2)]))
        if random.random() < 0.7:
            entries.remove((name, entry))
    texts = [f"{json.dumps(name)}:{json.dumps(entry)}" for name, entry in entries]
    return join_header(f"{{{','.join(texts)}}}".encode(), rest)


def _header_bytes(one: bytes, two: bytes, random: Random) -> bytes:
    header, rest = split_header(one)
    return join_header(damage_often(header, random), rest)


def _odd_values(path: Path, manifest: dict, arrays: dict, random: Random) -> None:
    table = manifest["extra"].get("boreod")
    part = table if table and random.random() < 0.3 else manifest
    for _ in range(random.integers(1, 4)):
        if part:
            spoil_manifest(part, random)
    forge(path, manifest, arrays)


def _odd_numbers(path: Path, manifest: dict, arrays: dict, random: Random) -> None:
    """Put other numbers where numbers are; half of the time wherever the same number is."""
    for _ in range(200):
        holder, key = somewhere(manifest, random)
        if type(holder[key]) in (int, float):
            break
    old, new = holder[key], NUMBERS[random.integers(len(NUMBERS))]
    if random.random() < 0.5 or old in (0, 1, True):
        holder[key] = new
    else:
        manifest = _replaced(manifest, old, new)
    forge(path, manifest, arrays)


def _replaced(value: Any, old: Any, new: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(inside, old, new) for key, inside in value.items()}
    if isinstance(value, list):
        return [_replaced(inside, old, new) for inside in value]
    return new if value == old and type(value) is type(old) else value


def _hostile_arrays(path: Path, manifest: dict, arrays: dict, random: Random) -> None:
    """Put hostile numbers into arrays: one cell, a few, or all."""
    for name in random.choice(sorted(arrays), random.integers(1, 3)):
        values = arrays[name] = arrays[name].copy()
        count = int(random.choice([1, 3, max(1, values.size)]))
        places = random.integers(values.size, size=count)
        if values.dtype.kind == "f":
            values.flat[places] = random.choice(HOSTILE)
        else:
            limits = np.iinfo(values.dtype)
            values.flat[places] = random.choice([-1, 0, 1, limits.min, limits.max])
    forge(path, manifest, arrays)


def _other_shapes(path: Path, manifest: dict, arrays: dict, random: Random) -> None:
    """Cut or lengthen arrays, and change the manifest wherever the old length is."""
    sizes = sorted({values.shape[0] for values in arrays.values()})
    old = int(random.choice(sizes))
    new = int(random.choice([0, 1, 2, old - 1, old + 1, 2 * old]))
    for name, values in list(arrays.items()):
        for axis, length in enumerate(values.shape):
            if length == old:
                cut = arrays[name].take(np.arange(new) % old, axis)
                arrays[name] = np.ascontiguousarray(cut)
    forge(path, _replaced(manifest, old, new), arrays)


def _other_manifest(path: Path, manifest: dict, arrays: dict, random: Random) -> None:
    names = sorted(MANIFESTS)
    content = MANIFESTS[names[random.integers(len(names))]]
    if random.random() < 0.7:
        content = damage_often(json.dumps(manifest).encode(), random)
    forge(path, content, arrays)


_OF_BYTES = (_bytes, _splice, _archives, _entries, _header_bytes)
_OF_PARTS = (_odd_values, _odd_numbers, _hostile_arrays, _other_shapes)
WAYS = (*_OF_BYTES, *_OF_PARTS, *_OF_PARTS, _other_manifest)
