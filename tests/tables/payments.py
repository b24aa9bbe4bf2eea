"""A table of payments with columns of all kinds."""

import numpy as np
import pyarrow as pa


def make_payments(rows=400, seed=0):
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


ROLES = {"label": "fraud", "ids": ["id"]}
