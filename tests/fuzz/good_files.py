"""The good model files and tables that are damaged afterwards, made once a run."""

import warnings
from pathlib import Path

import numpy as np
from payments import make_frauds, small_model, write
from tables.test_reader import make_table

from boreod import BORE, OutlierRepresentation, save_model

SUFFIXES = ("csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "jsonl.gz")
ROWS, LATER = 150, 40  # of the tables to fit and to score

REPRESENTATIONS = {
    "raw": {"scores": []},
    "knn": {"scores": ["knn_10"], "passthrough": False},
    "reverse": {"scores": ["odin", "inflo"], "ks": [5, 10]},
    "geometry": {"scores": ["cof", "ldof", "abod"], "ks": [5, 10]},
    "samples": {"scores": ["knn", "lof"], "ks": [5], "views": ["full", "sample:64", "cosine"]},
    "everything": {"scores": "all", "ks": [5]},
}
OPTIONS = {
    "raw": {"aggregation": "log-odds"},
    "samples": {"scaling": "rank"},
    "everything": {"budget": 60, "calibration": "oob"},
}
SEARCHES = {"reverse": "brute", "geometry": "tree", "samples": "tree", "knn": "brute"}


def make_good_files(folder: Path) -> None:
    """Write models of tables, models of rows, and tables in all formats."""
    folder.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in REPRESENTATIONS:
            small_model(n_jobs=1, **_options(name)).save(folder / f"table-{name}.boreod")
            given = {
                "costs": "complexity:shared",
                "n_estimators": 20,
                "random_state": 0,
                "n_jobs": 1,
            }
            model = BORE(**given, **_options(name)).fit(*labelled_rows())
            save_model(model, folder / f"rows-{name}.boreod")
    first, later = make_frauds(ROWS), make_frauds(LATER, seed=1)
    for suffix in SUFFIXES:
        write(first, folder / f"fit.{suffix}")
        write(later, folder / f"score.{suffix}")
        write(make_table(50), folder / f"other.{suffix}")
    rows = labelled_rows()[0][:LATER]
    lines = [",".join(f"x{number}" for number in range(rows.shape[1]))]
    lines += [",".join(map(repr, row)) for row in rows.tolist()]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


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
