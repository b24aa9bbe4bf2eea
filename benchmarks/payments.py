"""Payments like those of a shop: amounts as text, timestamps, many merchants and devices."""

import numpy as np
import pandas as pd

GOODS = ("book", "shoes", "phone case", "garden chair", "coffee", "train ticket", "toy", "lamp")
COUNTRIES = ("DE", "FR", "IT", "ES", "PL", "NL", "US", "GB", "")


def make_payments(rows: int, known: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return payments with a column of labels, and which of them are frauds.

    Of the frauds, ``known`` are labelled and the others are not. There are four kinds of frauds:
    large amounts at night at a few merchants, gift cards, many payments of one device, and payments
    soon after the customer signed up.
    """
    random = np.random.default_rng(seed)
    fraud = random.random(rows) < 0.005
    kind = np.where(fraud, random.integers(0, 4, rows), -1)
    hours = np.where(kind == 0, random.normal(3, 1.5, rows), random.normal(14, 4, rows)) % 24
    days = np.sort(random.integers(0, 90, rows))
    paid = pd.Timestamp("2026-01-01") + pd.to_timedelta(days * 24 + hours, "h")
    age = random.exponential(300, rows) + 0.01
    age = np.where(kind == 3, random.uniform(0.0002, 0.01, rows), age)
    amount = random.lognormal(3.3 + 1.3 * (kind == 0) + 0.4 * (kind == 1), 1.0)
    devices = random.integers(0, 60_000, rows)
    devices = np.where(kind == 2, 60_000 + random.integers(0, 40, rows), devices)
    merchants = np.minimum(random.zipf(1.3, rows), 8000) - 1
    merchants = np.where(kind == 0, random.integers(4000, 4040, rows), merchants)
    goods = random.choice(GOODS, rows)
    counts = random.integers(1, 5, rows)
    orders = [f"order of {n} x {what}" for n, what in zip(counts, goods, strict=True)]
    texts = np.where(kind == 1, "order of 1 x gift card", orders)
    columns: dict[str, object] = {
        "payment_id": [f"p{number:09d}" for number in random.permutation(rows)],
        "paid_at": paid.round("s"),
        "signed_up_at": (paid - pd.to_timedelta(age, "D")).round("s"),
        "amount": [f"{value:,.2f} EUR" for value in amount],
        "fee": [f"{0.02 * value + 0.3:.2f}" for value in amount],
        "merchant": [f"M{number:05d}" for number in merchants],
        "device_id": [f"d{number:07d}" for number in devices],
        "text": texts,
        "card_country": random.choice(COUNTRIES, rows),
        "shop_country": random.choice(COUNTRIES, rows),
        "card_type": random.choice(["debit", "credit", "prepaid"], rows, p=[0.6, 0.35, 0.05]),
        "channel": random.choice(["app", "web", "phone"], rows),
        "language": random.choice(["de", "fr", "it", "en", "es"], rows),
        "is_guest": random.random(rows) < np.where(fraud, 0.6, 0.3),
        "n_items": counts,
        "n_cards": 1 + random.poisson(np.where(kind == 2, 2.0, 0.2), rows),
        "zip_code": random.integers(10_000, 99_999, rows),
        "browser": [f"browser {number}" for number in random.geometric(0.1, rows)],
    }
    for place in range(6):
        values = random.normal(size=rows) + (place < 2) * 0.5 * fraud
        columns[f"risk_{place}"] = np.where(random.random(rows) < 0.05, np.nan, values)
    frame = pd.DataFrame(columns)
    labels = np.full(rows, "", object)
    labels[random.permutation(np.flatnonzero(fraud))[:known]] = "yes"
    frame["fraud"] = labels
    return frame, fraud
