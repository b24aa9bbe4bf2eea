"""Payments with columns of all kinds, some of them frauds: as tables, files and a small model."""

import numpy as np
import pyarrow as pa

from boreod import ColumnSelection, Heads, OutlierRepresentation
from boreod.tables import write_batches
from boreod.tool import fit_table

FEW = OutlierRepresentation(["knn", "lof"], ks=[5, 10])
SUFFIXES = ("csv", "parquet", "jsonl", "arrow", "csv.gz", "tsv")
ROLES = {"label": "fraud", "ids": ["id"]}


def make_payments(rows=400, seed=0):
    """Return payments with labels that mean nothing."""
    random = np.random.default_rng(seed)
    hours = pa.array(random.integers(0, 24, rows).astype(float), mask=random.random(rows) < 0.1)
    return pa.table(
        {
            "id": [f"p{number:06d}" for number in range(rows)],
            "amount": random.lognormal(3, 2, rows),
            "hour": hours,
            "abroad": pa.array(random.random(rows) < 0.3, mask=random.random(rows) < 0.05),
            "country": random.choice(["DE", "FR", "IT", "NA", None], rows).tolist(),
            "shop": [f"shop {int(number)}" for number in random.geometric(0.03, rows)],
            "currency": ["EUR"] * rows,
            "voucher": pa.array([5.0] * rows, mask=random.random(rows) < 0.7),
            "fraud": pa.array(random.integers(0, 2, rows), mask=random.random(rows) < 0.5),
        }
    )


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


def small_model(table=None, **options):
    """Return a model of payments that is fitted in no time."""
    given = {"label": "fraud", "ids": ["id"], "name": "payments.parquet", "random_state": 0}
    fitted = {"method": "bore", "representation": FEW, "n_estimators": 20}
    fitted["selection"] = ColumnSelection(costs="complexity:shared")
    fitted["heads"] = Heads(fit_intercept=True)
    return fit_table(make_frauds() if table is None else table, **{**given, **fitted, **options})


def worse_model(**options):
    """Return a model whose training rows had the amounts of others."""
    table = make_frauds()
    mixed = np.random.default_rng(0).permutation(table["amount"].to_numpy())
    return small_model(table.set_column(1, "amount", pa.array(mixed)), **options)
