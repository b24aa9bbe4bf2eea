"""Hostile rows: finite results, the same alone as in a batch, and the distances of plain NumPy."""

import shutil
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .corpus import REPRESENTATIONS, labelled_rows
from .verdicts import REFUSED, SCORED, Wrong, check_finite, check_sentence

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
            # Near-copies.
            (2, rows + random.choice([-1e-9, 1e-9], rows.shape)),
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
        arrays = [random.integers(-(2**62), 2**62, size // 8) for _ in range(4)]
        del arrays


def nearest_distances(
    rows: np.ndarray, reference: np.ndarray, metric: str, ks: list[int]
) -> np.ndarray:
    """Return the distances to the k-th neighbors; a row that is a copy leaves its original out."""
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


KS = [3, 10, 40]
METRICS = ("euclidean", "manhattan", "cosine")
# Rows that are scored alone, and rows that are compared with plain NumPy.
ALONE = 12
ORACLE = 200


def make(random: Random, good: Path, folder: Path) -> dict[str, Any]:
    """Write rows and a model file, or rows and a table to fit."""
    settings: dict[str, Any] = {"stir": int(random.integers(2**31)) * int(random.integers(2))}
    if random.random() < 0.4:
        names = sorted(REPRESENTATIONS)
        name = names[random.integers(len(names))]
        shutil.copy(good / f"rows-{name}.boreod", folder / "model.boreod")
        reference = labelled_rows()[0]
        settings["way"] = f"model {name}"
    else:
        settings["reference"] = int(random.integers(REFERENCES))
        settings["metric"] = str(random.choice(METRICS))
        settings["neighbors"] = [["brute"], ["tree"], ["tree", "brute"]][random.integers(3)]
        settings["way"] = f"{settings['metric']} {'+'.join(settings['neighbors'])}"
        reference = make_reference(settings["reference"])
        np.save(folder / "reference.npy", reference)
    np.save(folder / "rows.npy", make_rows(reference, random))
    return settings


def run(folder: Path, settings: dict[str, Any]) -> str:
    """Score the rows in a batch and alone, by one or two searches."""
    rows = np.load(folder / "rows.npy")
    random = np.random.default_rng(settings["stir"])
    if settings["stir"]:
        stir_memory(random)
    alone = np.unique(random.integers(len(rows), size=min(ALONE, len(rows))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "reference" in settings:
            verdict = _run_representation(folder, settings, rows, alone)
        else:
            verdict = _run_model(folder / "model.boreod", rows, alone)
    for one in caught:
        if issubclass(one.category, RuntimeWarning):
            raise Wrong(f"a warning of NumPy in {Path(one.filename).name}: {one.message}")
    return verdict


def warm_up() -> None:
    """Compile all kernels, or load them, which may take longer than any case."""
    reference = make_reference(0)
    for metric in METRICS:
        for neighbors in ("brute", "tree"):
            _fit(reference.tobytes(), reference.shape, metric, neighbors).transform(reference[:2])


def _run_model(path: Path, rows: np.ndarray, alone: np.ndarray) -> str:
    from boreod import load
    from boreod.parallel import Threads
    from boreod.predictor import prepare

    model = load(path)
    try:
        odds = model.decision_function(rows)
    except ValueError as error:
        check_sentence(str(error))
        return REFUSED
    check_finite(odds, "log-odds")
    check_finite(model.predict_proba(rows), "probabilities")
    check_finite(model.explain(rows).log_odds, "explained log-odds")
    single = np.concatenate([model.decision_function(rows[[place]]) for place in alone])
    if not np.allclose(single, odds[alone], rtol=1e-12, atol=1e-12):
        raise Wrong(f"log-odds differ alone: {_first_difference(single, odds[alone])}")

    def represent(some: np.ndarray) -> np.ndarray:
        return model.fitted_.represent(prepare(model, some), Threads(1))

    _check_alone(represent, model.columns_, rows, alone, "columns of a model")
    return SCORED


def _run_representation(
    folder: Path, settings: dict[str, Any], rows: np.ndarray, alone: np.ndarray
) -> str:
    reference, metric = np.load(folder / "reference.npy"), settings["metric"]
    results = []
    for neighbors in settings["neighbors"]:
        fitted = _fit(reference.tobytes(), reference.shape, metric, neighbors)
        if isinstance(fitted, str):
            check_sentence(fitted)
            return REFUSED
        results.append(
            _check_alone(fitted.transform, fitted.columns_, rows, alone, f"columns by {neighbors}")
        )
        check_finite(results[-1], f"columns by {neighbors}")
        found = [name.partition("@")[0] for name in fitted.columns_]
        some = np.union1d(alone, np.arange(min(len(rows), ORACLE)))
        expected = nearest_distances(rows[some], reference, metric, KS)
        mine = results[-1][some][:, [found.index(f"knn_{k}") for k in KS]]
        floor = 1e-14 if metric == "cosine" else 0.0
        if not np.allclose(mine, expected, rtol=1e-9, atol=floor):
            raise Wrong(f"distances by {neighbors} are not those of NumPy: "
                        f"{_first_difference(mine, expected)}")  # fmt: skip
    if len(results) == 2 and not np.array_equal(*results):
        raise Wrong(f"searches differ: {_first_difference(*results)}")
    return SCORED


@lru_cache(maxsize=100)
def _fit(content: bytes, shape: tuple[int, ...], metric: str, neighbors: str) -> Any:
    """Return a fitted representation of all scores, or the sentence that refuses the table."""
    from boreod import OutlierRepresentation

    view = "full" if metric == "euclidean" else metric
    table = np.frombuffer(content).reshape(shape)
    model = OutlierRepresentation("all", KS, [view], False, neighbors, n_jobs=1)
    try:
        check_finite(model.fit_transform(table), f"columns of a fit by {neighbors}")
    except ValueError as error:
        return str(error)
    return model


def _check_alone(
    compute: Any, names: list[str], rows: np.ndarray, alone: np.ndarray, what: str
) -> np.ndarray:
    """Return the columns of rows, which must be the same for single rows.

    That is to the bit, except that rows which differ by the sign of a zero are copies.
    """
    columns = compute(rows)
    for place in alone:
        single = compute(rows[[place]])
        if not (single[0] == columns[place]).all():
            wrong = np.flatnonzero(~(single[0] == columns[place]))
            differing = [names[number] for number in wrong[:5]]
            difference = _first_difference(single, columns[[place]])
            raise Wrong(f"{what} differ alone ({differing}, row {place}): {difference}")
    return columns


def _first_difference(one: np.ndarray, two: np.ndarray) -> str:
    different = np.argwhere(one != two)
    if not len(different):
        return "only zeros with another sign"
    place = tuple(different[np.argmax(np.abs(one - two)[tuple(different.T)])])
    return f"{one[place]!r} and {two[place]!r} at {[int(number) for number in place]}"
