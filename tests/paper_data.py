"""The paper's data sets, where the environment variable BOREOD_DATA names their folder."""

import os
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from boreod.paper.reproduce.setup import SETS, load_repetition

__all__ = ["FLOORS", "SETS", "aucs", "folder", "load"]

# Mean AUC in percent over ten repetitions.
FLOORS = {
    "wilt": 98.0,
    "cardio": 95.3,
    "letter": 95.7,
    "ionosphere": 97.5,
    "waveform": 93.0,
    "spambase": 94.5,
    "pageblocks": 97.2,
}


def folder() -> Path | None:
    """Return the folder of the data sets, or None."""
    name = os.environ.get("BOREOD_DATA")
    return Path(name) if name else None


def load(name: str, repetition: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of one repetition, which is another sample if there are several."""
    return load_repetition(name, repetition, folder())


def aucs(make_model, name: str, repetition: int) -> tuple[float, float]:
    """Return the AUC on test rows in percent: with these rows in the fit, and without."""
    X, y = load(name, repetition)
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.4, stratify=y, random_state=repetition
    )
    partly = y.copy()
    partly[test] = -1
    results = []
    for rows, labels in ((X, partly), (X[train], y[train])):
        model = make_model(repetition).fit(rows, labels)
        results.append(100 * roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
    return results[0], results[1]
