"""Parquet files in pieces: scored wherever an engine likes, and ranked when all are there."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import whole_file
from boreod.parallel import Threads, use_engine
from boreod.table_model.scoring import Scoring
from boreod.table_model.spool import ODDS, rank
from boreod.tables.arrow import TableError, pa, rebatch
from boreod.tables.binary_files import Member, read_rows
from boreod.tables.writer import writing


@dataclass(frozen=True)
class Piece:
    """A stretch of rows of a file.

    Attributes
    ----------
    number
        Among all pieces.
    member
        The file.
    start, stop
        Its rows, from 0.
    first_row
        Number of the first row among those of all files, from 1.
    """

    number: int
    member: Member
    start: int
    stop: int
    first_row: int

    @property
    def rows(self) -> slice:
        """Its rows among those of all files, from 0."""
        first = self.first_row - 1
        return slice(first, first + self.stop - self.start)


@dataclass(frozen=True)
class Store:
    """A folder of unfinished scores that all workers see; 8 bytes a row are kept in memory.

    Attributes
    ----------
    folder
        Its name.
    """

    folder: str

    def path(self, name: str) -> Path:
        """Return the path of a file; refuse if there is no folder."""
        if not os.path.isdir(self.folder):
            raise TableError(
                f"There is no folder {os.path.dirname(self.folder)} where rows were scored. All "
                "workers must see it under this name: choose one on a disk that they share."
            )
        return Path(self.folder, name)

    def write(self, piece: Piece, scored: Iterable[tuple[Any, NDArray]], schema: Any) -> NDArray:
        """Write the scores of a piece, and return its log-odds; writing it again does no harm."""
        odds: list[NDArray] = []
        schema = schema.append(pa.field(ODDS, pa.float64()))
        path = self.path(f"{piece.number}.scores")
        with (
            writing("A file of scores"),
            whole_file(path) as unfinished,
            pa.OSFile(str(unfinished), "wb") as file,
            pa.ipc.new_stream(file, schema) as sink,
        ):
            for batch, part in scored:
                sink.write_batch(batch.append_column(ODDS, pa.array(part)))
                odds.append(part)
                self.path("")  # after Ctrl-C nobody waits for the rest
        return np.concatenate(odds)

    def rank(self, odds: NDArray) -> None:
        """Remember the log-odds of all rows for their ranks; they are sorted in place."""
        odds.sort()
        with writing("A file of scores"):
            np.save(self.path("sorted.npy"), odds)

    def ranked(self, numbers: Iterable[int]) -> Iterator[tuple[Any, NDArray]]:
        """Give the batches of some pieces, each with the ranks of its rows."""
        ascending = np.load(self.path("sorted.npy"), mmap_mode="r")  # no worker has to hold it
        for number in numbers:
            with pa.OSFile(str(self.path(f"{number}.scores"))) as file:
                for batch in pa.ipc.open_stream(file):
                    last = batch.num_columns - 1  # by place: a table may have such a column
                    odds = batch.column(last).to_numpy()
                    order = np.argsort(odds)  # neighbors of each other are in the same pages
                    ranks = np.empty(len(odds), np.int64)
                    ranks[order] = rank(odds[order], ascending)
                    yield batch.select(list(range(last))), ranks


@dataclass(frozen=True)
class PieceScorer:
    """What workers need to score pieces.

    Attributes
    ----------
    scoring
        What is wanted of the rows.
    schema
        Columns to read.
    store
        Takes the scores.
    batch_rows
        Rows that are scored at once.
    """

    scoring: Scoring
    schema: Any
    store: Store
    batch_rows: int


def score_piece(score: PieceScorer, piece: Piece) -> NDArray:
    """Put the scores of a piece into the store, and return its log-odds.

    Parameters
    ----------
    score
        The same for all pieces.
    piece
        The rows.
    """
    schema = score.scoring.schema(score.schema)
    with use_engine(Threads):  # pieces are what is spread over workers, not what is within them
        return score.store.write(piece, _scored(score, piece), schema)


def _scored(score: PieceScorer, piece: Piece) -> Iterator[tuple[Any, NDArray]]:
    rows, first = score.batch_rows, piece.first_row
    read = read_rows(piece.member, score.schema, rows, piece.start, piece.stop)
    for batch in rebatch(read, rows):
        yield score.scoring.score(batch, first)
        first += batch.num_rows
    if first - piece.first_row != piece.stop - piece.start:
        raise TableError(
            f"{piece.member.place.shown} has changed while it was being read. Start again."
        )


def cut(members: Sequence[Member], groups: Sequence[Sequence[int]], most: int) -> list[Piece]:
    """Return the pieces of files; they end where row groups do, unless these are long.

    Parameters
    ----------
    members
        The files.
    groups
        Rows of the row groups of every file.
    most
        Rows of a piece.
    """
    pieces: list[Piece] = []
    seen = 0
    for member, sizes in zip(members, groups, strict=True):
        for start, stop in stretches(sizes, most):
            pieces.append(Piece(len(pieces), member, start, stop, seen + start + 1))
        seen += sum(sizes)
    return pieces


def stretches(sizes: Iterable[int], most: int) -> list[tuple[int, int]]:
    """Return first and last rows of stretches, most of them as long as several row groups.

    Examples
    --------
    >>> stretches([40, 40, 40, 250], 100)
    [(0, 80), (80, 120), (120, 220), (220, 320), (320, 370)]
    """
    found, start, stop = [], 0, 0
    for rows in sizes:
        if stop > start and stop + rows - start > most:
            found.append((start, stop))
            start = stop
        stop += rows
        while stop - start > most:
            found.append((start, start + most))
            start += most
    return [*found, (start, stop)] if stop > start else found
