"""Rows of hostile numbers, the tables they are compared with, and distances by plain NumPy."""

import numpy as np

VALUES = np.array(
    [0.0, -0.0, 1e-300, -1e-300, 5e-324, -5e-324, 1.0, -1.0, 1e7, -1e7, 1e9, -1e9, 1e18, -1e18,
     1e150, -1e150]
)  # fmt: skip
MILD = VALUES[:12]
Random = np.random.Generator


def make_reference(number: int) -> np.ndarray:
    """Return one of the tables to fit; the same number gives the same table."""
    random = np.random.default_rng(number)
    normal = random.normal
    kind = number % REFERENCES
    tables = [
        lambda: normal(size=(300, 4)),
        lambda: normal(size=(2500, 6)),
        lambda: np.sort(normal(size=(4200, 3)), axis=0),
        lambda: random.integers(0, 4, (700, 4)).astype(float),
        lambda: np.repeat(normal(size=(40, 2)), 30, axis=0),
        lambda: normal(size=(600, 4)) * [1.0, 0.0, 1e18, 1e-9],
        lambda: np.vstack([normal(size=(600, 5)), np.full((1, 5), 1e9)]),
        lambda: normal(0, 1e-6, (600, 5)),
        lambda: normal(1e6, 1, (600, 5)),
        lambda: normal(size=(300, 1)),
        lambda: np.vstack([normal(size=(90, 3)), random.choice(MILD, (60, 3))]),
        lambda: normal(size=(3000, 8)) + 100.0 * random.integers(3, size=(3000, 1)),
        lambda: np.vstack([normal(size=(150, 2)), random.choice(VALUES, (50, 2))]),
        lambda: normal(size=(1100, 12)) + random.choice(MILD[6:], (1100, 1)),
    ]
    return np.ascontiguousarray(tables[kind]())


REFERENCES = 14


def make_rows(reference: np.ndarray, random: Random) -> np.ndarray:
    """Return a batch of hostile rows."""
    size = int(random.choice([1, 2, 3, 17, 100, 513, 1200, 3000]))
    columns = reference.shape[1]
    rows = reference[random.integers(len(reference), size=size)].copy()
    near = rows + random.normal(size=rows.shape) * np.abs(rows).mean(axis=0)
    styles = random.integers(8, size=size) if random.random() < 0.6 else np.full(
        size, random.integers(8))  # fmt: skip
    values = VALUES if random.random() < 0.5 else MILD
    with np.errstate(over="ignore"):
        for style, changed in (
            (1, near),
            (2, rows + random.choice([-1e-9, 1e-9], rows.shape)),  # near-copies
            (3, rows * (1.0 + random.choice([-1e-9, 1e-9], rows.shape))),
            (4, random.choice(values, rows.shape)),
            (5, np.where(random.random(rows.shape) < 0.3, random.choice(values, rows.shape), near)),
            (6, np.where(np.arange(columns) == random.integers(columns), values.max(), rows)),
            (7, near * random.choice(np.abs(values))),
        ):
            rows[styles == style] = changed[styles == style]
    copies = random.random(size) < 0.1
    rows[copies] = rows[random.integers(size, size=int(copies.sum()))]
    return np.clip(rows, -1e150, 1e150)


def stir_memory(random: Random) -> None:
    """Fill memory with random integers and give it back, so that unset arrays hold garbage."""
    for size in (2**12, 2**16, 2**20, 2**22):
        pieces = [random.integers(-(2**62), 2**62, size // 8) for _ in range(4)]
        del pieces


def nearest_distances(
    rows: np.ndarray, reference: np.ndarray, metric: str, ks: list[int]
) -> np.ndarray:
    """Return the distances to the k-th neighbors; a copy of a reference row leaves it out."""
    known = np.array([bool((reference == row).all(axis=1).any()) for row in rows])
    if metric == "cosine":
        rows, reference = _directions(rows), _directions(reference)
    total = np.zeros((len(rows), len(reference)))
    for column in range(rows.shape[1]):
        difference = rows[:, column, None] - reference[None, :, column]
        total += np.abs(difference) if metric == "manhattan" else difference * difference
    if metric == "euclidean":
        total = np.sqrt(total)
    elif metric == "cosine":
        total *= 0.5
    total.sort(axis=1)
    places = np.array(ks)[None, :] - 1 + known[:, None]
    return np.take_along_axis(total, places, axis=1)


def _directions(rows: np.ndarray) -> np.ndarray:
    """Return rows of length one; those of zeros are on an axis of their own."""
    largest = np.abs(rows).max(axis=1)
    empty = largest == 0.0
    rows = rows / np.where(empty, 1.0, largest)[:, None]
    lengths = np.array([np.sqrt(np.dot(row, row)) for row in rows])
    return np.column_stack([rows / np.where(empty, 1.0, lengths)[:, None], empty])
