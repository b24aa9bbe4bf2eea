"""A table of payments in which some are fraud, with ids, categories and missing values."""

import numpy as np
import pyarrow as pa


def make_payments(rows=500, seed=0):
    random = np.random.default_rng(seed)
    fraud = random.random(rows) < 0.06
    amount = np.where(fraud, random.lognormal(5, 1, rows), random.lognormal(3, 1, rows))
    hour = np.where(fraud, random.integers(0, 9, rows), random.integers(6, 23, rows))
    country = np.where(fraud, random.choice(["DE", "BR"], rows), random.choice(["DE", "FR"], rows))
    return pa.table(
        {
            "id": [f"p{number:04d}" for number in range(rows)],
            "amount": amount.round(2),
            "hour": pa.array(hour.astype(float), mask=random.random(rows) < 0.05),
            "country": country.tolist(),
            "fraud": pa.array(fraud.astype(int), mask=random.random(rows) < 0.3),
        }
    )
