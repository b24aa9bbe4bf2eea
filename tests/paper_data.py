"""The paper's data sets, where the environment variable BOREOD_DATA names their folder."""

import os
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from boreod.paper import datasets

FLOORS = {  # mean AUC in percent over ten repetitions
    "wilt": 98.0,
    "cardio": 95.3,
    "letter": 95.7,
    "ionosphere": 97.5,
    "waveform": 93.0,
    "spambase": 94.5,
    "pageblocks": 97.2,
}

SETS = [info.name for info in datasets.catalogue() if info.group == "paper"]


def folder() -> Path | None:
    """Return the folder of the data sets, or None."""
    name = os.environ.get("BOREOD_DATA")
    return Path(name) if name else None


def load(name: str, repetition: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of one repetition: another sample if there is one."""
    versions = {info.name: info.versions for info in datasets.catalogue()}[name]
    data = datasets.load(name, versions[repetition % len(versions)], folder())
    return data.X, data.y.astype(int)


def aucs(make_model, name: str, repetition: int) -> tuple[float, float]:
    """Return the AUC on the test rows in percent: among the neighbors in fit, and never seen."""
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
