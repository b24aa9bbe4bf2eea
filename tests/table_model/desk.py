"""Payments of which some are frauds, as tables, files and a small model."""

import numpy as np
import pyarrow as pa
from tables.payments import make_payments

from boreod import OutlierRepresentation
from boreod.table_model import fit_table
from boreod.tables import write_batches

FEW = OutlierRepresentation(["knn", "lof"], ks=[5, 10])
SUFFIXES = ("csv", "parquet", "jsonl", "arrow", "csv.gz", "tsv")


def make_frauds(rows=300, seed=0):
    """Return payments; frauds have large amounts, and a fifth of the rows have no label."""
    table = make_payments(rows, seed).drop_columns(["shop"])
    random = np.random.default_rng(seed)
    fraud = np.arange(rows) % 12 == 3
    amounts = table["amount"].to_numpy() * np.where(fraud, 30.0, 1.0)
    labels = pa.array(fraud.astype(int), mask=random.random(rows) < 0.2)
    place = table.column_names.index
    table = table.set_column(place("amount"), "amount", pa.array(amounts))
    return table.set_column(place("fraud"), "fraud", labels)


def write(table, path):
    """Write a table in the format of its name."""
    write_batches(path, table.to_batches())
    return path


def small_model(**options):
    """Return a model of payments that is fitted in no time."""
    given = {"label": "fraud", "ids": ["id"], "name": "payments.parquet", "random_state": 0}
    fitted = {"representation": FEW, "n_estimators": 20, "costs": "complexity:shared"}
    return fit_table(make_frauds(), **{**given, **fitted, **options})
