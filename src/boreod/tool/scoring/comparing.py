"""Compare a table with the training table, and two models on a labelled table.

The second comparison says which model ranks better, and which decisions differ.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import count_as_inliers, expit
from boreod.metrics import Compared
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Progress, plain_interrupts
from boreod.predictor import Predictor, assess, prepare, settings_of
from boreod.tables import TableError, open_table, read_label_column
from boreod.tables.arrow import MissingColumnsError, pa
from boreod.tables.cells import TYPES
from boreod.tables.reader import TableReader
from boreod.tables.reading.blocks import check_columns
from boreod.tables.reading.locations import STANDARD
from boreod.text import count_of, shorten
from boreod.tool.scoring import judging, parts
from boreod.tool.scoring.checking import Finding, Limits, Tally
from boreod.tool.scoring.scoring import BATCH_ROWS, ScoreOptions, Scoring, types_to_read
from boreod.validation import INLIER, OUTLIER, UNLABELLED

LABELS = {OUTLIER: "outlier", INLIER: "inlier", UNLABELLED: None}


@dataclass(frozen=True)
class CheckedTable:
    """The number of rows of a table, and its findings: the differences from the training table."""

    rows: int
    findings: list[Finding]


def check_table(
    model: Predictor,
    source: str | PathLike[str],
    *,
    limits: Limits | None = None,
    threshold: float | str | None = None,
    novelty: bool = True,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> CheckedTable:
    """Return how a table differs from the training table; memory does not depend on its length.

    Parameters
    ----------
    limits
        How far the table may differ. If None, the default limits are used.
    threshold, novelty
        As in :class:`ScoreOptions`. With ``"alerts:20"`` the number of alerts is not checked.
    model, source, reading, verbose
        As in :func:`score_table`.
    """
    scoring = Scoring.plan(model, ScoreOptions((), threshold=threshold, novelty=novelty))
    given = dict(reading or {})
    # Without ids or times, the time since the last row cannot be computed.
    if not model.preparation_.since_:
        given["optional"] = scoring.columns or ()
    tally = Tally()
    try:
        with parts.open_whole(fspath(source), scoring, given, verbose) as table:
            header = table.header
            batches = table.parts[0].read(table.schema, BATCH_ROWS)
            gone = [name for name in scoring.columns or () if name not in header]
            batches = _with_empty(batches, gone, types_to_read(model.preparation_))
            for _ in scoring.score_all(batches, tally=tally):
                pass
            scoring = scoring.ranked(tally.novel, tally.rows)
    except MissingColumnsError as error:
        header = error.known
    return CheckedTable(tally.rows, scoring.find(tally, limits or Limits(), header))


def _with_empty(batches: Iterable[Any], gone: list[str], types: dict[str, Any]) -> Iterator[Any]:
    """Yield batches with empty columns for those that are gone, so that others can be compared."""
    kinds = {name: TYPES.get(types.get(name, "text"), pa.string()) for name in gone}
    for batch in batches:
        empty = [pa.nulls(batch.num_rows, kind) for kind in kinds.values()]
        names = [*batch.schema.names, *kinds]
        yield pa.RecordBatch.from_arrays([*batch.columns, *empty], names) if gone else batch


@dataclass(frozen=True)
class CompareOptions:
    """How two models are compared.

    Attributes
    ----------
    label, outlier_label
        The column of labels, and the label of outliers. If None, they are taken from the new model.
    alerts
        Number of alerts that each model raises. If None, the thresholds of the models are used.
    most
        Maximum number of rows to list among the rows that are alerts of one model only.
    novelty
        Whether novel rows are alerts and rank first.
    seed
        Random seed of the bootstrap.
    """

    label: str | None = None
    outlier_label: Any = None
    alerts: int | None = None
    most: int = 20
    novelty: bool = True
    seed: int = 0


class Change(NamedTuple):
    """A row that is an alert of one model only.

    ``row`` is its number from 1. ``old`` and ``new`` are its probabilities by the two models.
    ``is_alert`` says whether it is an alert of the new model.
    """

    row: int
    ids: dict[str, Any]
    label: str | None
    old: float
    new: float
    is_alert: bool


@dataclass(frozen=True)
class Comparison:
    """The results of two models on the same rows.

    Attributes
    ----------
    rows, outliers, inliers
        Number of all rows, and of the outliers and inliers by which the models are judged.
    assumed
        Whether unlabelled rows count as inliers.
    learned
        Numbers of rows that the old and the new model have learned from. On these rows, the model
        is judged out of bag.
    measures
        AUC and average precision of the new and the old model, with an interval of the difference;
        empty if all labelled rows are of one class.
    alerts, caught
        Numbers of alerts of the old and the new model, and of known outliers among these alerts.
    changed
        Number of rows that are alerts of one model only.
    changes
        The changed rows whose probabilities differ most, in the order of the table.
    verdict
        A sentence that says which model is better; None if the models cannot be judged.
    notes
        Remarks for the user.
    """

    rows: int
    outliers: int
    inliers: int
    assumed: bool
    learned: tuple[int, int]
    measures: dict[str, Compared]
    alerts: tuple[int, int]
    caught: tuple[int, int]
    changed: int
    changes: list[Change]
    verdict: str | None
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        measures = {name: measure._asdict() for name, measure in self.measures.items()}
        changes = [change._asdict() for change in self.changes]
        return {**asdict(self), "measures": measures, "changes": changes}


class _Scored(NamedTuple):
    """The results of one model on all rows.

    ``learned`` is the number of rows that the model has learned from, which are scored out of bag.
    If every bag holds a training row, the suspicion of this row is NaN.
    """

    chances: NDArray
    suspicions: NDArray
    learned: int
    alerts: NDArray
    codes: NDArray | None


def compare_models(
    old: Predictor,
    new: Predictor,
    source: Any,
    options: CompareOptions | None = None,
    *,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare two models on a file. Each model prepares the columns in its own way.

    On rows that a model has learned from, it is judged by its out-of-bag scores. The file is read
    twice, and once more for ids. This takes 50 bytes of memory per row.

    Parameters
    ----------
    old, new
        Two models, which may use different columns.
    source
        A table with the columns of both models.
    options
        How to compare them.
    reading
        Options of ``boreod.tables.open_table``.
    verbose
        Whether to show a progress bar if the work takes long.
    """
    path = fspath(source)
    given = reading or {}
    wanted = options or CompareOptions()
    if path == STANDARD:
        raise TableError("Two models read the table one after the other. Name a file, not a pipe.")
    if given.get("bad_cells") == "drop":
        raise TableError(
            "Each model reads its own columns and would leave out other rows, and the same rows "
            "are compared. Take what is no number for missing: `bad_cells` (--bad-cells) missing."
        )
    label = wanted.label or new.preparation_.label_
    plain = {name: value for name, value in given.items() if name != "labels"}
    after = _score(new, path, wanted, given, verbose, label, "new")
    before = _score(old, path, wanted, plain, verbose, None, "old")
    if len(before.chances) != len(after.chances):
        raise TableError(f"{path} has changed while it was being read. Start again.")
    codes = np.full(len(after.chances), UNLABELLED) if after.codes is None else after.codes
    known = ~np.isnan(before.suspicions) & ~np.isnan(after.suspicions)
    assumed = bool((codes == OUTLIER).any() and not (codes == INLIER).any())
    counted = count_as_inliers(codes) if assumed else codes
    judged = (counted != UNLABELLED) & known
    outliers = counted[judged] == OUTLIER
    notes = _note_learned(before, after, int((~known).sum()))
    found = judging.compare_scores(
        outliers,
        after.suspicions[judged],
        before.suspicions[judged],
        ("the new model", "the old model"),
        seed=wanted.seed,
    )
    verdict = None
    if found is None:
        notes.append("Labelled rows of both classes are needed to say which model is better.")
    else:
        verdict = f"{found.verdict[0].upper()}{found.verdict[1:]}."
    if assumed:
        notes.append("No row is labelled an inlier: unlabelled rows count as inliers.")
    changed = np.flatnonzero((before.alerts != after.alerts) & known)
    far = np.argsort(-np.abs(after.chances - before.chances)[changed], kind="stable")
    shown = np.sort(changed[far[: wanted.most]])
    ids = _read_ids(new, path, shown, plain)
    caught = codes == OUTLIER
    return Comparison(
        rows=len(codes),
        outliers=int(outliers.sum()),
        inliers=int((~outliers).sum()),
        assumed=assumed,
        learned=(before.learned, after.learned),
        measures={} if found is None else found.measures,
        alerts=(int(before.alerts.sum()), int(after.alerts.sum())),
        caught=(int(before.alerts[caught].sum()), int(after.alerts[caught].sum())),
        changed=len(changed),
        changes=_list_changes(shown, ids, before, after, codes),
        verdict=verdict,
        notes=notes,
    )


def _list_changes(
    rows: NDArray, ids: list[dict[str, Any]], before: _Scored, after: _Scored, codes: NDArray
) -> list[Change]:
    columns = [
        (rows + 1).tolist(),
        ids,
        [LABELS[code] for code in codes[rows].tolist()],
        before.chances[rows].tolist(),
        after.chances[rows].tolist(),
        after.alerts[rows].tolist(),
    ]
    return [Change(*row) for row in zip(*columns, strict=True)]


def _score(
    model: Predictor,
    path: str,
    wanted: CompareOptions,
    reading: dict[str, Any],
    verbose: bool,
    label: str | None,
    which: str,
) -> _Scored:
    """Return probabilities and decisions of all rows, and their labels if ``label`` is given."""
    options = Scoring(model, ()).reading(reading)
    if label is not None:
        options["types"] = {label: "text", **options["types"]}
        if options["columns"] is not None:
            # Labels from a second file are matched by the ids.
            ids = model.preparation_.ids_ if "labels" in reading else ()
            options["columns"] = list(dict.fromkeys([*options["columns"], *ids, label]))
    odds = array("d")
    suspicion = array("d")
    cells = []
    seen = learned = 0
    with (
        _open(path, which, label, options) as reader,
        Progress("scoring", None, verbose) as progress,
        plain_interrupts(),
    ):
        for batch in filter(len, reader):
            rows = prepare(model, batch, seen + 1)
            found = assess(model, rows, False, wanted.novelty)
            own, novel, places = judging.judge_rows(model, rows, found, seen)
            odds.extend(own)
            suspicion.extend(judging.suspicion_of(own, novel))
            learned += int(np.count_nonzero(places != UNKNOWN))
            if label is not None:
                cells.append(batch.column(label))
            seen += batch.num_rows
            progress.advance()
    if not seen:
        raise TableError(f"{path} has no rows to compare models on.")
    suspicions = np.frombuffer(suspicion)
    if wanted.alerts is None:
        above = judging.is_alert(suspicions, judging.alert_threshold(model, novelty=wanted.novelty))
    else:
        ranked = np.nan_to_num(suspicions, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        above = judging.Cut.find(ranked, wanted.alerts).alerts(ranked, 1)
    codes = None
    if label is not None:
        value = model.outlier_label if wanted.outlier_label is None else wanted.outlier_label
        assume = settings_of(model).assumes_inliers
        codes = read_label_column(pa.chunked_array(cells), value, name=label, assume=assume)
    return _Scored(expit(np.frombuffer(odds)), suspicions, learned, above, codes)


def _open(path: str, which: str, label: str | None, options: dict[str, Any]) -> TableReader:
    """Return a reader of the table; an error about a missing column says which model needs it."""
    try:
        reader = open_table(path, batch_rows=BATCH_ROWS, **options)
        check_columns([] if label is None else [label], reader.schema.names, path)
    except TableError as error:
        if "has no column" not in str(error):
            raise
        hint = f"The {which} model needs it."
        if label is not None and f"has no column {shorten(label)}" in str(error):
            hint = "Name the column of labels: --label (`label`)."
        raise TableError(f"{error} {hint}") from None
    return reader


def _read_ids(
    model: Predictor, path: str, places: NDArray, reading: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the ids of the rows at ``places``, by column; empty if there are no id columns."""
    names = list(model.preparation_.ids_)
    if not names or not len(places):
        return [{} for _ in places]
    found = []
    seen = 0
    with open_table(path, **{**reading, "types": dict.fromkeys(names, "text")}) as reader:
        if not set(names) <= set(reader.schema.names):
            return [{} for _ in places]
        for batch in reader:
            first, last = np.searchsorted(places, [seen, seen + batch.num_rows])
            found += batch.select(names).take(pa.array(places[first:last] - seen)).to_pylist()
            seen += batch.num_rows
    return found


def _note_learned(before: _Scored, after: _Scored, unknown: int) -> list[str]:
    """Return a note on how a model is judged on rows that it has learned from."""
    known = " and ".join(
        f"the {name} model has learned from {found.learned:,}"
        for name, found in (("old", before), ("new", after))
        if found.learned
    )
    if not known:
        return []
    left = f"; {count_of(unknown, 'row')} in every bag cannot be judged so" if unknown else ""
    return [
        f"Of these {len(before.chances):,} rows (or of equal rows), {known}. On such rows, a model "
        f"is judged by its out-of-bag scores{left}."
    ]
