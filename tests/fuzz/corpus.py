"""Good model files and tables, made once a run, and large tables.

``python -m fuzz.corpus NAME FOLDER MEGABYTES`` writes a large table.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from payments import make_frauds, small_model, write
from tables.test_reader import make_table

from boreod import (
    BORE,
    Bagging,
    ColumnSelection,
    Detector,
    Heads,
    OutlierRepresentation,
    Reference,
    save,
)
from boreod.ensemble.members import KINDS
from boreod.tool import fit_table

SUFFIXES = ("csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "jsonl.gz")
ROWS, LATER = 150, 40  # of the tables to fit and to score

REPRESENTATIONS = {
    "raw": {"scores": []},
    "knn": {"scores": ["knn_10"], "passthrough": False},
    "reverse": {"scores": ["odin", "inflo"], "ks": [5, 10]},
    "geometry": {"scores": ["cof", "ldof", "abod"], "ks": [5, 10]},
    "samples": {"scores": ["knn", "lof"], "ks": [5], "views": ["full", "sample:64", "cosine"]},
    "everything": {"scores": "all", "ks": [5]},
    "trees": {"scores": ["knn_5", "lof_10", "iforest"]},
}
OPTIONS = {
    "raw": {"heads": Heads(penalty=1e-2)},
    "samples": {"scaling": "rank"},
    "everything": {"budget": 60, "calibration": "platt"},
    "trees": {"heads": Heads(kinds=KINDS, n_trees=2), "scaling": "both",
              "bagging": Bagging(ratio=10.0, inliers="assumed"),
              "reference": Reference(outliers=False)},
}  # fmt: skip
SEARCHES = {"reverse": "brute", "geometry": "tree", "samples": "tree", "knn": "brute"}


def make_good_files(folder: Path) -> None:
    """Write models of tables, models of rows, and tables in all formats."""
    folder.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in REPRESENTATIONS:
            small_model(n_jobs=1, **_options(name)).save(folder / f"table-{name}.boreod")
            given = {
                "selection": ColumnSelection(costs="complexity:shared"),
                "n_estimators": 20,
                "random_state": 0,
                "n_jobs": 1,
            }
            preset = Detector if name == "trees" else BORE
            model = preset(**given, **_options(name)).fit(*labelled_rows())
            save(model, folder / f"rows-{name}.boreod")
        ranking = Detector(
            OutlierRepresentation(["knn_5", "iforest"]), heads=Heads(n_trees=2), n_jobs=1
        )
        ranking.set_params(n_estimators=9, random_state=0).fit(labelled_rows()[0])
        save(ranking, folder / "rows-ranking.boreod")
        fit_table(make_kinds(240), **KINDS_FIT).save(folder / "kinds-all.boreod")
    write(make_kinds(LATER, seed=1), folder / "kinds.csv")
    first, later = make_frauds(ROWS), make_frauds(LATER, seed=1)
    for suffix in SUFFIXES:
        write(first, folder / f"fit.{suffix}")
        write(later, folder / f"score.{suffix}")
        write(make_table(50), folder / f"other.{suffix}")
    rows = labelled_rows()[0][:LATER]
    lines = [",".join(f"x{number}" for number in range(rows.shape[1]))]
    lines += [",".join(map(repr, row)) for row in rows.tolist()]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


KINDS_FIT = {
    "label": "fraud", "ids": "id", "reading": {"since": "card:when"}, "method": "bore",
    "n_estimators": 20,
    "representation": OutlierRepresentation(["knn_5"]), "random_state": 0, "n_jobs": 1,
}  # fmt: skip


def make_kinds(rows: int, seed: int = 0) -> pa.Table:
    """Return a table whose columns are prepared in all ways: numbers, dates, levels, text."""
    random = np.random.default_rng(seed)
    days = np.datetime64("2024-01-01T08:00") + np.arange(rows) * np.timedelta64(397, "m")
    amounts = random.lognormal(5, 1, rows) * np.where(np.arange(rows) % 12 == 3, 9.0, 1.0)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(rows)],
            "amount": [f"${amount:,.2f}" for amount in amounts],
            "rate": [f"{value:.1f}%" for value in random.normal(5, 2, rows)],
            "when": [f"{day:%m/%d/%Y %H:%M}" for day in days.tolist()],
            "opened": [int(day) for day in days.astype("datetime64[s]").astype(int)],
            "card": [f"card {number}" for number in random.integers(0, 9, rows)],
            "shop": [f"shop {number}" for number in random.geometric(0.02, rows)],
            "zip": 10_115 + random.integers(0, 40, rows),
            "country": random.choice(["DE", "FR", None], rows).tolist(),
            "abroad": pa.array(random.random(rows) < 0.3, mask=random.random(rows) < 0.1),
            "memo": [f"{'pay ' * (n % 7)}for {'x' * (n % 9)} {n}" for n in range(rows)],
            "fraud": (np.arange(rows) % 12 == 3).astype(int),
        }
    )


def make_unit_files(folder: Path) -> None:
    """Write models of patients, and a later table, whose columns can have wrong units."""
    first, options = make_patients(600), {"label": "ill", "ids": "id", "n_estimators": 20}
    linear = {"heads": Heads(kinds=["logistic"])}
    raw = {"representation": OutlierRepresentation([])}
    for name, more in (("linear", linear), ("trees", {}), ("raw", raw)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit_table(first, **options, **more, random_state=0, n_jobs=1)
        model.save(folder / f"units-{name}.boreod")
    pq.write_table(make_patients(400, seed=1), folder / "units.parquet")


def make_patients(rows: int, seed: int = 0) -> pa.Table:
    """Return patients, of whom a few are ill: light, warm and expensive."""
    random = np.random.default_rng(seed)
    ill = random.random(rows) < 0.05
    height = random.normal(172.0, 8.0, rows).round().astype(int)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(rows)],
            "weight": random.normal(70.0, 9.0, rows) - 14.0 * ill,
            "height": pa.array(height, mask=random.random(rows) < 0.05),
            "temperature": random.normal(36.6, 0.4, rows) + 0.9 * ill,
            "amount": random.lognormal(3.0 + 1.2 * ill, 0.8, rows).round(2),
            "ward": random.choice(["A", "B"], rows),
            "ill": ill.astype(int),
        }
    )


def labelled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of four columns, of which the first 30 are outliers, and their labels."""
    random = np.random.default_rng(0)
    labels = np.repeat([1, 0], [30, 270])
    rows = random.normal(size=(300, 4))
    rows[labels == 1] += random.normal(0, 2.0, size=(30, 4))
    rows[100:110] = rows[200:210]  # copies
    rows[:, 3] *= 1e6
    return rows, labels


def _options(name: str) -> dict:
    search = SEARCHES.get(name, "auto")
    representation = OutlierRepresentation(**REPRESENTATIONS[name], neighbors=search)
    return {"representation": representation, **OPTIONS.get(name, {})}


REPEATED_ROWS = 5000  # rows that are repeated


def write_big_table(name: str, folder: Path, size: int) -> None:
    """Write a table of about ``size`` bytes, unless it packs well."""
    part = make_frauds(REPEATED_ROWS, seed=5)
    if name.endswith(".csv"):
        header, _, lines = _as_csv(part).partition(b"\n")
        (folder / name).write_bytes(header + b"\n" + _lines(name, lines, size))
    elif name.endswith(".jsonl"):
        line = b'{"id":"a","amount":1.5,"hour":3.0,"abroad":true,"country":"DE","currency":"EUR",'
        line += b'"voucher":5.0,"note":"' + b"n" * 200 + b'"}\n'
        (folder / name).write_bytes(line * (size // len(line)))
    else:
        _write_parquet(name, folder / name, part, size)


def _lines(name: str, lines: bytes, size: int) -> bytes:
    lines = lines.replace(b'"EUR"', b'"' + b"E" * 150 + b'"')  # no model asks for it
    many = lines * max(1, size // len(lines))
    if name == "late_word.csv":  # the last row cannot be read
        return many + lines.partition(b"\n")[0].replace(b",", b",many") + b"\n"
    if name == "long_cells.csv":
        longer = lines.replace(b"E" * 150, b"E" * 6000)[:size]
        return longer.rpartition(b"\n")[0] + b"\n"
    if name == "one_line.csv":
        return b"7" * size
    if name == "quote.csv":  # a cell that is never closed
        return lines + b'"' + many
    return many


def _write_parquet(name: str, path: Path, part: pa.Table, size: int) -> None:
    """Write one group of rows, with a column that no model asks for."""
    random = np.random.default_rng(0)
    rows = size // 250
    table = part.take(random.integers(REPEATED_ROWS, size=rows))
    notes = [random.bytes(110).hex() for _ in range(rows)]
    if name == "packed.parquet":  # a few bytes that become very many
        notes = ["n" * 3000] * rows
        table = part.take(np.zeros(rows, np.int64))
    elif name == "categories.parquet":  # a level of its own in every row
        table = table.set_column(table.column_names.index("country"), "country", pa.array(notes))
    elif name == "ids.parquet":  # what is carried through is large
        table = table.set_column(table.column_names.index("id"), "id", pa.array(notes))
    parts = pa.array(notes, pa.large_string())
    pq.write_table(table.append_column("note", parts), path, row_group_size=rows)


def _as_csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


if __name__ == "__main__":
    write_big_table(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) * 2**20)
