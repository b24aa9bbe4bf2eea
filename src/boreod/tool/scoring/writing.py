"""Score a table of any size, and write the scores to a file or a folder.

Ranks are known only after all rows are scored. So scored batches are first written to a temporary
file or folder, and only 8 bytes per row stay in memory.
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import expit
from boreod.files import keep_permissions, whole_file
from boreod.parallel import Engine, Progress, Threads, current_engine, use_engine
from boreod.predictor import Predictor
from boreod.tables import TableError, TableWriter
from boreod.tables.arrow import pa, parquet
from boreod.tables.reading.locations import STANDARD, SUFFIXES, local_path, refuse_address
from boreod.tables.writer import writing
from boreod.tool.scoring import parts
from boreod.tool.scoring.checking import Finding, Limits, Tally
from boreod.tool.scoring.judging import NOVEL, Cut, is_alert, say_unlike
from boreod.tool.scoring.scoring import ScoreOptions, Scoring, ranked_schema, with_ranks

# The suspicions of all rows in ascending order, which workers map from the disk.
SORTED = "sorted.npy"


@dataclass(frozen=True)
class ScoreSummary:
    """Counts of scored rows, alerts and written rows.

    Attributes
    ----------
    rows
        Number of rows that were scored.
    outliers
        Number of alerts: rows above the threshold, and novel rows.
    novel
        Number of novel rows; None if novelty was not requested or cannot be computed.
    threshold
        Probability above which a row is an alert.
    written
        Number of rows in the output.
    notes
        Remarks for the user.
    files
        Number of files in the output.
    asked
        Requested number of alerts; None if a threshold decides which rows are alerts.
    findings
        The differences from the training table, the most important first; also in the notes.
    ranked_by
        ``"novelty"`` if novel rows rank first, or ``"probability"``.
    warning
        Why novel rows of a table do not rank first, although they are known; otherwise None.
    """

    rows: int
    outliers: int
    novel: int | None
    threshold: float
    written: int
    notes: tuple[str, ...] = ()
    files: int = 1
    asked: int | None = None
    findings: tuple[Finding, ...] = ()
    ranked_by: str = "novelty"
    warning: str | None = None


class UnlikeTrainingError(TableError):
    """A table is not scored because it is unlike the training table; ``findings`` say why."""

    def __init__(self, text: str, findings: Iterable[Finding] = ()) -> None:
        super().__init__(text)
        self.findings = list(findings)


def score_table(
    model: Predictor,
    source: str | PathLike[str],
    output: str | PathLike[str],
    options: ScoreOptions | None = None,
    *,
    reading: dict[str, Any] | None = None,
    strict: bool = False,
    verbose: bool = False,
) -> ScoreSummary:
    """Score a table, and write the scores to a file, or scores of Parquet files to a folder.

    The output has the id columns, ``probability``, ``rank``, ``outlier``, ``novelty``, ``outside``
    and reasons. A folder has a file for each input file, with the same name; ranks and row numbers
    count the rows of all files. Memory does not depend on the length of the table, except for 8
    bytes per row.

    Inside ``with boreod.parallel.dask(...)`` the cluster scores Parquet files in chunks, and all
    workers must be able to write to the disk of the output. Otherwise ``n_jobs`` threads, as set in
    the model, do all work.

    Parameters
    ----------
    model
        The model that scores the rows.
    source
        Any table, or ``-`` for standard input. If the output is a folder, this must be a Parquet
        file or a folder of Parquet files; an address such as ``s3://bucket/folder`` is allowed.
    output
        A file whose suffix gives the format, ``-`` for standard output, or a folder. The name of a
        folder ends in a slash or has no suffix, and the folder must be new or empty.
    options
        What the scored table holds.
    reading
        Options of ``boreod.tables.open_table``, such as ``{"scale": {"weight": 0.001}}``.
    strict
        Whether to write nothing, and raise an error, if ``check_table`` would raise an alarm.
    verbose
        Whether to show a progress bar if the work takes long.
    """
    wanted = options or ScoreOptions()
    name = fspath(source)
    target = fspath(output)
    scoring = Scoring.plan(model, wanted)
    into_folder = is_folder_name(target)
    engine = current_engine(model.n_jobs, verbose)
    in_chunks = into_folder or not isinstance(engine, Threads)
    writer = None
    store: parts.Store
    with ExitStack() as stack:
        if in_chunks:
            parts.check_chunks(name, wanted, reading, target if into_folder else None)
            _check_output(target, name, into_folder)
        if not into_folder:
            writer = stack.enter_context(TableWriter(target, inputs=[name]))
        if in_chunks:
            table = parts.open_chunks(name, scoring, reading, engine)
            store = stack.enter_context(parts.temporary_folder(target))
        else:
            table = stack.enter_context(parts.open_whole(name, scoring, reading, verbose))
            store = stack.enter_context(parts.temporary_file(target))
            # The table is a single part, which has a progress bar of its own.
            engine = Threads(model.n_jobs)
        scoring.check(table.schema.names)
        suspicion, tally = _score_parts(table, scoring, store, engine)
        scoring = scoring.ranked(tally.novel, tally.rows)
        findings = scoring.find(tally, Limits(), table.header)
        alarms = [finding.text for finding in findings if finding.is_alarm]
        if strict and alarms:
            raise UnlikeTrainingError(
                f"The table is unlike the training table: {'; '.join(alarms)}.", findings
            )
        novel = int(np.count_nonzero(suspicion >= NOVEL))
        if scoring.by_probability:
            suspicion = _read_log_odds(store, table.parts)
        cut = scoring.cut(suspicion)
        suspicion.sort()
        schema = ranked_schema(scoring.schema(table.schema))
        if writer is None:
            assert isinstance(store, parts.FolderStore)
            with writing(parts.TEMPORARY):
                np.save(store.path(SORTED), suspicion)
            _write_folder(table.files, schema, store, target, engine, cut)
        else:
            ranked = read_ranked(store, table.parts, suspicion, cut)
            with Progress("writing", -(-len(suspicion) // wanted.batch_rows), verbose) as progress:
                for batch in choose_rows(ranked, wanted.top):
                    writer.write(batch)
                    progress.advance()
            if not len(suspicion):
                writer.write(pa.RecordBatch.from_pylist([], schema))
    summary = _summarize(suspicion, scoring, novel, findings)
    if writer is None:
        return replace(summary, written=len(suspicion), files=len(table.files))
    return replace(summary, written=writer.rows)


def is_folder_name(path: str) -> bool:
    """Return whether an output is a folder: it ends in a slash, is one already, or has no suffix.

    Examples
    --------
    >>> is_folder_name("scores/"), is_folder_name("scores"), is_folder_name("scores.parquet")
    (True, True, False)
    """
    if path == STANDARD:
        return False
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return True
    return not Path(path).suffix and not os.path.exists(path)


def _summarize(
    suspicion: NDArray, scoring: Scoring, novel: int, findings: list[Finding]
) -> ScoreSummary:
    """Return the summary, given the suspicions of all rows in ascending order."""
    notes = []
    if scoring.options.novelty and not scoring.knows_novelty:
        notes.append(
            "The model searches no neighbors: novel rows are not known and raise no alert. The "
            "column `outside` names values beyond the training range; a larger budget would show "
            "more."
        )
    threshold = scoring.threshold
    outliers = int(np.count_nonzero(is_alert(suspicion, threshold)))
    if scoring.alerts is not None:
        outliers = min(scoring.alerts, len(suspicion))
        lowest = suspicion[-outliers] if outliers else 0.0
        threshold = float(expit(min(lowest, NOVEL)))
        if outliers < len(suspicion) and suspicion[-outliers - 1] == lowest:
            tied = int(np.count_nonzero(suspicion == lowest))
            notes.append(
                f"The last alerts are {tied:,} rows with the same score; of these the first in "
                "the table were taken."
            )
    is_first = scoring.knows_novelty and not scoring.by_probability
    return ScoreSummary(
        rows=len(suspicion),
        outliers=outliers,
        novel=novel if scoring.knows_novelty else None,
        threshold=threshold,
        written=len(suspicion),
        notes=(*notes, *(finding.text for finding in findings)),
        asked=scoring.alerts,
        findings=tuple(findings),
        ranked_by="novelty" if is_first else "probability",
        warning=say_unlike(novel, len(suspicion)) if scoring.by_probability else None,
    )


def _score_parts(
    table: parts.PartedTable, scoring: Scoring, store: parts.Store, engine: Engine
) -> tuple[NDArray, Tally]:
    """Write the scores of all rows to the store, and return their suspicions and a tally."""
    threads = engine.n_threads if isinstance(engine, Threads) else 1
    small = scoring.without_training(max(1, threads // len(table.parts)))
    suspicion = np.empty(table.rows or 0)
    # Several threads may call `take` at once, so tallies are merged afterwards.
    tallies: dict[int, Tally] = {}

    def take(part: parts.Part, found: tuple[NDArray, Tally]) -> None:
        nonlocal suspicion
        if table.rows is None:
            suspicion = found[0]
        else:
            suspicion[part.first_row - 1 :][: len(found[0])] = found[0]
        tallies[part.first_row] = found[1]

    engine.map_unordered(_score_part, table.parts, take, "scoring", [small, table.schema, store])
    tally = Tally()
    for _, other in sorted(tallies.items()):
        tally.merge(other)
    return suspicion, tally


def _score_part(
    scoring: Scoring, schema: Any, store: parts.Store, part: parts.Part
) -> tuple[NDArray, Tally]:
    """Write the scores of a part, and return the suspicions of its rows and a tally."""
    tally = Tally()
    suspicion = array("d")
    schema_of_scores = scoring.schema(schema)
    for name in ("log-odds", "suspicion"):
        schema_of_scores = schema_of_scores.append(pa.field(name, pa.float64()))
    batches = part.read(schema, scoring.options.batch_rows)
    with (
        # Workers share the parts, so each part is scored by threads of one worker only.
        use_engine(Threads),
        writing(parts.TEMPORARY),
        store.create(part.first_row) as file,
        pa.ipc.new_stream(file, schema_of_scores) as sink,
    ):
        for scored, own, log_odds in scoring.score_all(batches, part.first_row, tally):
            # After Ctrl-C, this raises an error, which stops the worker.
            store.check()
            columns = [*scored.columns, pa.array(log_odds), pa.array(own)]
            sink.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema_of_scores))
            suspicion.frombytes(np.ascontiguousarray(own, np.float64).tobytes())
    return np.frombuffer(suspicion, np.float64), tally


def _read_log_odds(store: parts.Store, chunks: Iterable[parts.Part]) -> NDArray:
    """Return the log-odds of all rows from the store."""
    found = [np.empty(0)]
    for part in chunks:
        with store.open(part.first_row) as file:
            found += [batch.column(-2).to_numpy() for batch in pa.ipc.open_stream(file)]
    return np.concatenate(found)


def read_ranked(
    store: parts.Store, chunks: Iterable[parts.Part], ascending: NDArray, cut: Cut | None
) -> Iterator[Any]:
    """Yield the scored batches of some parts with ranks; a ``cut`` decides which are alerts.

    ``ascending`` holds the suspicions of all rows, sorted; or log-odds, if the ``cut`` says so.
    """
    for part in chunks:
        first_row = part.first_row
        with store.open(first_row) as file:
            for batch in pa.ipc.open_stream(file):
                # Log-odds and suspicion are the last columns. Others may have the same names.
                by_probability = cut is not None and cut.by_probability
                suspicion = batch.column(-2 if by_probability else -1).to_numpy()
                scored = batch.select(list(range(batch.num_columns - 2)))
                yield with_ranks(scored, suspicion, ascending, cut, first_row)
                first_row += batch.num_rows


def choose_rows(batches: Iterable[Any], top: int | None) -> Iterator[Any]:
    """Yield all ranked batches, or only the ``top`` most suspicious rows, sorted by rank."""
    if top is None:
        yield from batches
        return
    kept: list[Any] = []
    for batch in batches:
        chosen = np.flatnonzero(batch.column("rank").to_numpy() <= top)
        kept.append(pa.Table.from_batches([batch.take(pa.array(chosen))]))
        table = pa.concat_tables(kept)
        # Rows are dropped after every batch, because very many rows may share a rank.
        order = np.argsort(table.column("rank").to_numpy(), kind="stable")[:top]
        kept = [table.take(pa.array(order))]
    for table in kept:
        yield from table.combine_chunks().to_batches()


def _write_folder(
    files: list[parts.ChunkedFile],
    schema: Any,
    store: parts.FolderStore,
    target: str,
    engine: Engine,
    cut: Cut | None,
) -> None:
    """Write all files into a folder of the store, and then move that folder to the output."""
    whole = store.path("whole")
    # Folders are made here and not in threads: a thread might make them again after Ctrl-C.
    with writing(target):
        for file in files:
            Path(whole, file.name).parent.mkdir(parents=True, exist_ok=True)

    def take(file: parts.ChunkedFile, written: str) -> None:
        with writing(target):
            is_parquet = SUFFIXES.get(PurePosixPath(file.name).suffix.lower()) == "parquet"
            name = file.name if is_parquet else f"{file.name}.parquet"
            os.replace(store.path(written), Path(whole, name))

    engine.map_unordered(_write_file, files, take, "writing", [store, schema, cut])
    with writing(target):
        place = Path(os.path.realpath(target))
        if place.exists():
            keep_permissions(place, whole)
        whole.replace(place)


def _write_file(
    store: parts.FolderStore, schema: Any, cut: Cut | None, file: parts.ChunkedFile
) -> str:
    """Write the scores of one file, and return their file name in the store."""
    name = f"{file.number}.parquet"
    kept = [column for column in schema.names if column not in file.added]
    with (
        writing(file.name),
        whole_file(store.path(name)) as unfinished,
        parquet.ParquetWriter(unfinished, pa.schema(map(schema.field, kept))) as writer,
    ):
        ascending = np.load(store.path(SORTED), mmap_mode="r")
        for batch in read_ranked(store, file.chunks, ascending, cut):
            writer.write_batch(batch.select(kept))
    return name


def _check_output(path: str, source: str, into_folder: bool) -> None:
    """Raise if chunks cannot be written to the output, or if its folder is not empty."""
    refuse_address(path)
    if path == STANDARD:
        raise TableError("Scores in chunks need a place on a disk. Name a file or a folder.")
    if not into_folder:
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise TableError(
            f"{path} is no folder or is not empty, and nothing in it is overwritten. Name a new "
            "folder, or empty it first."
        )
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {Path(path).parent} to write to. Make it first.")
    read = local_path(source)
    if read is not None and Path(os.path.realpath(read)) in target.parents:
        raise TableError(
            f"{path} is in the folder that is being read, and would be part of the table the next "
            "time. Choose another folder."
        )
