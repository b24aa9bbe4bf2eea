"""Two models on one labelled table: which ranks better, and the rows that they decide otherwise."""

from array import array
from dataclasses import asdict, dataclass
from os import fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boreod.ensemble.calibration import count_as_inliers, expit
from boreod.metrics import Compared, compare_rankings
from boreod.neighbors.known_rows import UNKNOWN
from boreod.parallel import Progress, plain_interrupts
from boreod.tables import TableError, open_table, read_label_column
from boreod.tables.arrow import pa
from boreod.tables.reader import TableReader
from boreod.tables.reading.blocks import check_columns
from boreod.tables.reading.locations import STANDARD
from boreod.text import count_of, shorten
from boreod.tool.scoring.scoring import Cut, Scoring, is_alert, judge_rows, suspicion_of
from boreod.tool.scoring.table_predictor import TablePredictor
from boreod.tool.scoring.writing import BATCH_ROWS
from boreod.tool.words import UNFAIR, tell_better
from boreod.validation import INLIER, OUTLIER, UNLABELLED

LABELS = {OUTLIER: "outlier", INLIER: "inlier", UNLABELLED: None}


class Change(NamedTuple):
    """A row that is an alert of one model only."""

    row: int  # from 1
    ids: dict[str, Any]
    label: str | None
    old: float  # probabilities
    new: float
    is_alert: bool  # of the new model


@dataclass(frozen=True)
class Comparison:
    """What two models say about the same rows.

    Attributes
    ----------
    rows, outliers, inliers
        Numbers of rows, and of those that judge the models.
    assumed
        Whether unlabelled rows count as inliers.
    learned
        Numbers of rows that the old and the new model have learned from, which are judged out of
        bag.
    measures
        AUC and average precision of the new and the old model with an interval of the difference;
        empty if the labelled rows are of one class.
    alerts, caught
        Numbers of alerts, and of known outliers among them, of the old and the new model.
    changed
        Number of rows that are alerts of one model only.
    changes
        Some of these, those first whose probability differs most.
    verdict
        Which model is better, in a sentence; None if nobody can tell.
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
        measures = {name: of._asdict() for name, of in self.measures.items()}
        changes = [change._asdict() for change in self.changes]
        return {**asdict(self), "measures": measures, "changes": changes}


class _Scored(NamedTuple):
    chances: NDArray
    suspicions: NDArray  # NaN for training rows that every bag holds
    learned: int  # rows that the model has learned from, whose scores are out of bag
    alerts: NDArray
    codes: NDArray | None


def compare_models(
    old: TablePredictor,
    new: TablePredictor,
    source: Any,
    *,
    label: str | None = None,
    outlier_label: Any = None,
    alerts: int | None = None,
    most: int = 20,
    novelty: bool = True,
    seed: int = 0,
    reading: dict[str, Any] | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare two models on a file, each with its own preparation of columns.

    Rows that a model has learned from are judged by its out-of-bag scores. The file is read twice,
    and once more for ids; memory is 50 bytes a row.

    Parameters
    ----------
    old, new
        Two models, perhaps of different columns.
    source
        A table with the columns of both.
    label, outlier_label
        The column of labels and the label of outliers; None for those of the new model.
    alerts
        Both models raise so many; None for their thresholds.
    most
        Number of rows with another decision that are listed.
    novelty
        Whether novel rows are alerts and rank first.
    seed
        Of the bootstrap.
    reading
        Options of ``boreod.tables.open_table``.
    verbose
        Show a progress bar if it takes long.
    """
    path = fspath(source)
    if path == STANDARD:
        raise TableError("Two models read the table one after the other. Name a file, not a pipe.")
    if (reading or {}).get("bad_cells") == "drop":
        raise TableError(
            "Each model reads its own columns and would leave out other rows, and the same rows "
            "are compared. Take what is no number for missing: `bad_cells` (--bad-cells) missing."
        )
    label = label or new.preparation_.label_
    plain = {name: value for name, value in (reading or {}).items() if name != "labels"}
    after = _score(new, "new", path, alerts, novelty, reading, verbose, label, outlier_label)
    before = _score(old, "old", path, alerts, novelty, plain, verbose)
    if len(before.chances) != len(after.chances):
        raise TableError(f"{path} has changed while it was being read. Start again.")
    codes = np.full(len(after.chances), UNLABELLED) if after.codes is None else after.codes
    known = ~np.isnan(before.suspicions) & ~np.isnan(after.suspicions)
    assumed = bool((codes == OUTLIER).any() and not (codes == INLIER).any())
    counted = count_as_inliers(codes) if assumed else codes
    judged = (counted != UNLABELLED) & known
    outliers = counted[judged] == OUTLIER
    measures, verdict, notes = {}, None, _note_learned(before, after, int((~known).sum()))
    unfair = [name for name, of in (("old", old), ("new", new)) if of.learned_rows_ is None]
    notes += [UNFAIR.format(f"The {name} model's") for name in unfair]
    if 0 < outliers.sum() < len(outliers):
        scores = after.suspicions[judged], before.suspicions[judged]
        measures = compare_rankings(outliers, *scores, random_state=seed)
        told = tell_better(measures, "the new model", "the old model")
        verdict = None if unfair else f"{told[0].upper()}{told[1:]}."
    else:
        notes.append("Labelled rows of both classes are needed to tell which model is better.")
    if assumed:
        notes.append("No row is labelled an inlier: unlabelled rows count as inliers.")
    changed = np.flatnonzero((before.alerts != after.alerts) & known)
    far = np.argsort(-np.abs(after.chances - before.chances)[changed], kind="stable")
    shown = np.sort(changed[far[:most]])
    named = zip(shown.tolist(), _read_ids(new, path, shown, plain), strict=True)
    changes = [_change(place, ids, before, after, codes) for place, ids in named]
    return Comparison(
        len(codes),
        int(outliers.sum()),
        int((~outliers).sum()),
        assumed,
        (before.learned, after.learned),
        measures,
        (int(before.alerts.sum()), int(after.alerts.sum())),
        (int(before.alerts[codes == OUTLIER].sum()), int(after.alerts[codes == OUTLIER].sum())),
        len(changed),
        changes,
        verdict,
        notes,
    )


def _change(
    place: int, ids: dict[str, Any], before: _Scored, after: _Scored, codes: NDArray
) -> Change:
    chances = float(before.chances[place]), float(after.chances[place])
    return Change(place + 1, ids, LABELS[int(codes[place])], *chances, bool(after.alerts[place]))


def _score(
    model: TablePredictor,
    which: str,
    path: str,
    alerts: int | None,
    novelty: bool,
    reading: dict[str, Any] | None,
    verbose: bool,
    label: str | None = None,
    outlier_label: Any = None,
) -> _Scored:
    """Return probabilities and decisions of all rows, and their labels."""
    scoring = Scoring(model, ())
    options = scoring.reading(reading)
    if label is not None:
        options["types"] = {label: "text", **options["types"]}
        if options["columns"] is not None:
            ids = model.ids_ if "labels" in (reading or {}) else ()  # a second file is found by
            options["columns"] = list(dict.fromkeys([*options["columns"], *ids, label]))
    odds, suspicion, cells, seen, learned = array("d"), array("d"), [], 0, 0
    with (
        _open(path, which, label, options) as reader,
        Progress("scoring", None, verbose) as progress,
        plain_interrupts(),
    ):
        for batch in reader:
            if batch.num_rows:
                rows = model.prepare(batch, seen + 1)
                found = model.assess_rows(rows, False, novelty)
                own, novel, places = judge_rows(model, rows, found, seen)
                odds.extend(own)
                suspicion.extend(suspicion_of(own, novel))
                learned += int(np.count_nonzero(places != UNKNOWN))
                cells += [] if label is None else [batch.column(label)]
                seen += batch.num_rows
            progress.advance()
    if not seen:
        raise TableError(f"{path} has no rows to compare models on.")
    suspicions = np.frombuffer(suspicion)
    if alerts is None:
        above = is_alert(suspicions, model.alert_threshold(novelty=novelty))
    else:
        ranked = np.nan_to_num(suspicions, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        above = Cut.find(ranked, alerts).tells(ranked, 1)
    codes = None
    if label is not None:
        value = model.outlier_label if outlier_label is None else outlier_label
        assume = model.inliers == "assumed"
        codes = read_label_column(pa.chunked_array(cells), value, name=label, assume=assume)
    return _Scored(expit(np.frombuffer(odds)), suspicions, learned, above, codes)


def _open(path: str, which: str, label: str | None, options: dict[str, Any]) -> TableReader:
    """Return a reader of a table that has a column of labels."""
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
    model: TablePredictor, path: str, places: NDArray, reading: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the cells of the id columns at some places; empty if the table has none."""
    if not model.ids_ or not len(places):
        return [{} for _ in places]
    found, seen = [], 0
    given = {**(reading or {}), "types": dict.fromkeys(model.ids_, "text")}
    with open_table(path, **given) as reader:
        if not set(model.ids_) <= set(reader.schema.names):
            return [{} for _ in places]
        for batch in reader:
            first, last = np.searchsorted(places, [seen, seen + batch.num_rows])
            some = batch.select(list(model.ids_)).take(pa.array(places[first:last] - seen))
            found += some.to_pylist()
            seen += batch.num_rows
    return found


def _note_learned(before: _Scored, after: _Scored, unknown: int) -> list[str]:
    """Say how rows are judged that a model has learned from."""
    told = " and ".join(
        f"the {name} model knows {found.learned:,}"
        for name, found in (("old", before), ("new", after))
        if found.learned
    )
    if not told:
        return []
    left = f"; {count_of(unknown, 'row')} in every bag cannot be judged so" if unknown else ""
    return [
        f"Of these {len(before.chances):,} rows {told}, which were training rows or are equal to "
        f"some: on these it is judged by its out-of-bag scores{left}."
    ]
