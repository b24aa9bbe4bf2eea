"""Readers of original files: ARFF, comma-separated text and MATLAB.

Numbers in text go through Python's ``float``, which rounds correctly: the same bits on any machine.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ATTRIBUTE = re.compile(r"@attribute\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))\s+\S", re.IGNORECASE)


@dataclass(frozen=True)
class TextTable:
    """Names of columns, and rows of cells that are still text."""

    names: list[str]
    cells: list[list[str]]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        position = self.names.index(name)
        return [row[position] for row in self.cells]

    def numbers(self, wanted: Callable[[str], bool]) -> NDArray:
        """Return the columns whose names are wanted as float64."""
        positions = [i for i, name in enumerate(self.names) if wanted(name)]
        return np.array([[float(row[i]) for i in positions] for row in self.cells])


def read_arff(path: Path) -> TextTable:
    """Read a dense ARFF file; quotes around names and values are taken away."""
    names: list[str] = []
    with path.open(encoding="utf-8", newline="") as file:
        lines = _significant_lines(file)
        for line in lines:
            attribute = ATTRIBUTE.match(line)
            if attribute:
                names.append(next(group for group in attribute.groups() if group is not None))
            elif line.lower().startswith("@data"):
                break
            elif not line.lower().startswith("@relation"):
                raise ValueError(
                    f"{path} must begin with @relation, @attribute and @data as ARFF files do; "
                    f"got {line[:40]!r}. Replace it by the original."
                )
        cells = list(csv.reader(lines, quotechar="'", skipinitialspace=True))
    return _checked(path, TextTable(names, cells))


def read_csv(path: Path) -> TextTable:
    """Read comma-separated text whose first line has the names."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *cells = [row for row in csv.reader(file) if row] or [[]]
    return _checked(path, TextTable(names, cells))


def read_mat(path: Path) -> tuple[NDArray, NDArray]:
    """Read X and y of a MATLAB file."""
    from scipy.io import loadmat

    held: dict[str, Any] = loadmat(path, variable_names=["X", "y"])
    if "X" not in held or "y" not in held:
        raise ValueError(
            f"{path} must hold X and y; it holds only {sorted(held.keys() & {'X', 'y'})} of them. "
            "Replace it by the original."
        )
    points = held["X"].astype(np.float64, order="C")  # MATLAB stores columns
    return points, held["y"].ravel().astype(np.int8)


def labelled_rows(table: TextTable) -> tuple[NDArray, NDArray]:
    """Return X and y of a table that has the columns ``id`` and ``outlier`` (yes or no), too."""
    rows = table.numbers(lambda name: name not in ("id", "outlier"))
    return rows, np.array([cell == "yes" for cell in table.column("outlier")], dtype=np.int8)


def draw_events(
    background: TextTable, signal: TextTable, n: int, outliers: int, seed: int
) -> tuple[NDArray, NDArray]:
    """Draw inliers from background events and outliers from signal events, in order of EventId."""
    random = np.random.default_rng(seed)
    rows, labels, events = [], [], []
    for table, label, size in ((background, 0, n - outliers), (signal, 1, outliers)):
        drawn = np.sort(random.choice(len(table.cells), size, replace=False))
        rows.append(table.numbers(lambda name: name.startswith(("DER_", "PRI_")))[drawn])
        labels.append(np.full(size, label, dtype=np.int8))
        events.append(np.array(table.column("EventId"), dtype=np.int64)[drawn])
    order = np.argsort(np.concatenate(events), kind="stable")
    return np.concatenate(rows)[order], np.concatenate(labels)[order]


def _significant_lines(file: Iterable[str]) -> Iterator[str]:
    """Leave out empty lines and comments."""
    for line in file:
        stripped = line.strip()
        if stripped and not stripped.startswith("%"):
            yield stripped


def _checked(path: Path, table: TextTable) -> TextTable:
    """Refuse tables without rows or with rows that are longer or shorter than their header."""
    expected = len(table.names)
    for number, row in enumerate(table.cells, start=1):
        if len(row) != expected:
            raise ValueError(
                f"Every row of {path} must have {expected} values as its header says; row {number} "
                f"has {len(row)}. Replace it by the original."
            )
    if not table.cells:
        raise ValueError(f"{path} must hold rows; it holds none. Replace it by the original.")
    return table
