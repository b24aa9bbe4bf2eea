"""Damage to the bytes of any file."""

import numpy as np

ODD_BYTES = (b'"', b"\x00", b"\xff\xfe", b"\n\n", b",,,", b"\r", b"1e999", b"{", b"nan")


def damage(content: bytes, random: np.random.Generator) -> bytes:
    """Return the content with flipped bits, a piece cut out, doubled, or replaced by odd bytes."""
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
