"""Is the time per row that a budget promises kept, and do shared prices buy better columns?

It needs the environment variable BOREOD_DATA, the folder of the paper's data. It also uses the sets
in the folder `../extra` beside it, if there are any.
"""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from timing import report, seconds

from boreod import BORE, Detector, save
from boreod import load as load_predictor
from boreod.selection.budgets import read_budget

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_data import SETS, folder, load

CALLS = (("100us", 1), ("500us", 1), ("100us", 10), ("100us", 100), ("20us", None))


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows, test rows and their labels."""
    extra = folder().parent / "extra" / f"{name}.npz"
    if extra.exists():
        data = np.load(extra)
        X, y = data["X"].astype(float), data["y"].astype(int)
    else:
        X, y = load(name, seed)
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)


def draw_new_rows(X: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Draw 2000 test rows and move them a little, so that none is a copy of another."""
    random = np.random.default_rng(0)
    new = X_test[random.integers(len(X_test), size=2000)]
    return new + random.normal(0.0, 1e-6, new.shape) * X.std(axis=0)


def keep_time(name: str) -> None:
    """Predict 2000 new rows in one call, and some of them one by one."""
    X, X_test, y, _ = split(name, 0)
    new = draw_new_rows(X, X_test)
    model = BORE(random_state=0).fit(X, y)
    model.measure_costs()
    for budget in ("50us", "200us", "1ms", "5ms"):
        amount, _ = read_budget(budget)
        fast = model.within(budget)
        fast.predict_proba(new)
        runs = [seconds(lambda m=fast: m.predict_proba(new)) / len(new) for _ in range(5)]
        fast.set_params(n_jobs=1)
        alone = [seconds(lambda m=fast: m.predict_proba(new)) / len(new) for _ in range(5)]
        fast.set_params(n_jobs=-1)
        rows = [new[place : place + 1] for place in range(300)]
        single = np.median([seconds(lambda m=fast, r=row: m.predict_proba(r)) for row in rows])
        print(f"{name}, {budget}: {len(fast.columns_)} columns, priced {1e6 * fast.cost_:.0f} us; "
              f"per row {1e6 * np.median(runs):.0f} us in a batch, {1e6 * np.median(alone):.0f} us "
              f"on one core, {1e6 * single:.0f} us one by one")  # fmt: skip
        for what, times in (("all cores", runs), ("one core", alone)):
            share = float(np.median(times)) / amount
            report(f"{name}: time / {budget}, {what}", share, "below 1.15", share < 1.15)


def keep_time_of_calls(name: str) -> None:
    """Predict rows that come alone, few or many at once, in a new process.

    Prices are measured for every table; cached prices are not used.
    """
    X, X_test, y, _ = split(name, 0) if name != "cloud" else make_cloud()
    new = draw_new_rows(X, X_test)
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/new.npy", new)
        for kind in (Detector, BORE):
            os.environ["BOREOD_CACHE"] = f"{folder}/{kind.__name__}"
            model = kind(random_state=0).fit(X, y)
            for budget, size in CALLS:
                fast = model.within(budget, batch_size=size)
                save(fast, f"{folder}/fast.boreod")
                command = [sys.executable, __file__, f"{folder}/new.npy", f"{folder}/fast.boreod"]
                rows = len(new) if size is None else size
                said = subprocess.run([*command, str(rows)], capture_output=True, check=True)
                share = float(said.stdout) / read_budget(budget)[0]
                what = f"{name}: {kind.__name__}, time / {budget}, batches of {rows}"
                report(what, share, "below 1.15", share < 1.15)


def make_cloud() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return 5000 training rows and 5000 test rows of a cloud; outliers are spread more widely."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(10_000, 20)), np.repeat([0, 1, 0, 1], [4900, 100, 4900, 100])
    X[y == 1] += random.normal(0.0, 2.0, size=(200, 20))
    return X[:5000], X[5000:], y[:5000], y[5000:]


def time_calls(rows: str, model: str, size: int) -> None:
    """Print the seconds per row of calls with ``size`` rows: the lowest median of five rounds."""
    new, fast = np.load(rows), load_predictor(model)
    fast.n_jobs = 1
    calls = [new[start : start + size] for start in range(0, len(new), size)][:300]
    fast.predict_proba(calls[0])
    rounds = []
    for _ in range(5):
        times = []
        for call in calls:
            started = time.thread_time()
            fast.predict_proba(call)
            times.append(time.thread_time() - started)
        rounds.append(float(np.median(times)) / size)
    print(min(rounds))


def equal_time(model: BORE, budget: str) -> BORE:
    """Return the model chosen by additive costs that takes about as long as a budget allows."""
    amount, _ = read_budget(budget)
    shared = model.costs_
    additive = shared.additive()
    low, high = amount, additive.total()
    best = model.within(budget, costs=additive)
    for _ in range(12):
        middle = float(np.sqrt(low * high))
        candidate = model.within(f"{middle!r}s", costs=additive)
        if shared.total(candidate.columns_) <= amount:
            low, best = middle, candidate
        else:
            high = middle
    return best


def compare_sharing() -> None:
    """Compare the AUC of models bought at shared and at additive prices, at equal time."""
    results = []
    for name in SETS:
        found = []
        for seed in range(3):
            X, X_test, y, y_test = split(name, seed)
            model = BORE(random_state=seed).fit(X, y)
            for budget in ("10us", "20us", "50us", "100us"):
                three = (model.within(budget), equal_time(model, budget),
                        model.within(budget, costs=model.costs_.additive()))  # fmt: skip
                found.append([roc_auc_score(y_test, m.predict_proba(X_test)[:, 1]) for m in three])
        results.append(np.mean(found, axis=0))
        shared, equal, nominal = 100 * results[-1]
        print(f"{name:13} shared {shared:.2f}, additive {equal:.2f} (unequal time {nominal:.2f})")
    shared, equal, nominal = 100 * np.mean(results, axis=0)
    print(
        f"mean AUC: shared {shared:.2f}, additive at equal time {equal:.2f}, additive {nominal:.2f}"
    )
    report("AUC gained by sharing", shared - equal, "at least 0", shared >= equal)


def main() -> None:
    """Measure both."""
    if folder() is None:
        print("skipped: BOREOD_DATA names no folder")
        return
    warnings.simplefilter("ignore")
    for name in ("cardio", "pageblocks", "shuttle"):
        if name != "shuttle" or (folder().parent / "extra" / "shuttle.npz").exists():
            keep_time(name)
    for name in ("cardio", "pageblocks", "wilt", "cloud"):
        keep_time_of_calls(name)
    compare_sharing()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        time_calls(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
