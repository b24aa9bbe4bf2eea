"""Detection quality with few labels: ours beside what a user would install instead."""

import os
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boreod.files import __version__
from boreod.paper import datasets
from boreod.paper.datasets.loading import read_npz, rows_digest
from boreod.paper.evaluation import MEASURES, Gain, Summary, find_gains, run_tasks
from boreod.paper.evaluation.few_labels import (
    OURS,
    PEERS,
    PROBABILITIES,
    SHARES,
    run_peer,
    takes_part,
)
from boreod.paper.reproduce.setup import SETS, Settings, write_csv
from boreod.text import count_of, listed, show_percent, suggest
from boreod.tool.documents import Block, Paragraph, Section, Table

SEEDS, QUICK_SEEDS, QUICK_SHARES = 5, 1, (0.0, 0.25)
SLOW = ("xgbod",)  # only if named, where results are wanted quickly
JUDGED_BY = "average_precision"
SHOWN = {JUDGED_BY: "average precision", "auc": "AUC", "brier": "Brier score", "took": "seconds"}
FAILED = {JUDGED_BY: 0.0, "auc": 0.0}
KNOWN = {info.name: info for info in datasets.catalogue()}
PROTOCOL = (
    "At most 5000 rows of a set, columns scaled to [0, 1], 60 % of the rows to learn from and "
    "40 % to judge, stratified. A share of the outliers to learn from is labelled, at least two; "
    "all other rows are passed as inliers, hidden outliers too. Without labels only methods that "
    "need none take part, and Detector gives quantiles, which have no Brier score. Figures are "
    "means over sets of means over seeds; a method that fails counts as 0. Seconds are those of "
    "fit and scores, on one core beside other runs. Detector and BORE have their defaults, BORE "
    "is the printed method; ExtraTrees has bags of ten inliers an outlier (50 bags of 10 trees), "
    "CatBoost 200 iterations, isolation forest 300 trees, kNN k = 20, the others their defaults."
)
Runs = list[dict[str, Any]]


def reproduce_quality(settings: Settings) -> Section:
    """Compare methods at several shares of labelled outliers, with paired intervals over sets."""
    tried = QUICK_SHARES if settings.quick else SHARES
    seeds = settings.repetitions or (QUICK_SEEDS if settings.quick else SEEDS)
    fast = [name for name in PEERS if name not in SLOW] if settings.quick else None
    names, missing = choose_methods(fast if settings.methods is None else settings.methods)
    shares = tuple(s for s in tried if any(takes_part(name, s) for name in names))
    runs = _run(settings, names, shares, range(settings.seed, settings.seed + seeds))
    _write(settings.folder / "quality.csv", runs)
    summaries = {share: Summary([run for run in runs if run["share"] == share]) for share in shares}
    notes = [*_about(settings, names, seeds), *missing, *_failures(runs)]
    parts = [
        Section("Means over sets", [_means(summaries[share], share) for share in shares]),
        Section("Detector beside each of the others", _gains(summaries)) if OURS in names else None,
        Section("Every set", [_every_set(summaries[share], share) for share in shares]),
    ]
    blocks = [Paragraph(text) for text in [PROTOCOL, *notes]]
    return Section("Detection quality with few labels", blocks, [part for part in parts if part])


def find_sets(data: Path | None) -> tuple[str, ...]:
    """Return the paper's sets, and the .npz files of a folder that the catalogue does not know."""
    known = {f"{name}_v{v:02d}" for name, info in KNOWN.items() for v in info.versions}
    others = [name for name in _files(data) if name not in KNOWN and name not in known]
    return (*SETS, *others)


def load_set(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Return rows and labels of a .npz file, a file of the folder, or a set of the catalogue.

    Of sets with several samples the first is taken, whatever the seed.
    """
    found = _files(data)
    if name.endswith(".npz"):
        return read_npz(Path(name))
    if name in KNOWN:
        loaded = datasets.load(name, data=found[name].parent if name in found else None)
        return loaded.X, loaded.y
    if name not in found:
        raise ValueError(
            f"A set is a name of the catalogue, a file of the folder that --data names without "
            f".npz, or the path of an .npz file; got {name!r}. "
            f"{suggest(name, [*KNOWN, *found], 'sets')}"
        )
    return read_npz(found[name])


def choose_methods(wanted: Iterable[str] | None) -> tuple[list[str], list[str]]:
    """Return the methods that can run, and a sentence on each that is not installed.

    Examples
    --------
    >>> choose_methods(["detector", "iforest"])
    (['detector', 'iforest'], [])
    """
    names = list(dict.fromkeys(PEERS if wanted is None else wanted))
    for name in names:
        if name not in PEERS:
            raise ValueError(f"Methods are {', '.join(PEERS)}; got {name!r}.")
    missing = [
        f"{PEERS[name].title} does not take part: it needs {' and '.join(PEERS[name].needs)}, not "
        "installed here: pip install boreod[peers]"
        for name in names
        if not PEERS[name].is_installed
    ]
    able = [name for name in names if PEERS[name].is_installed]
    if not able:
        raise ValueError(
            " ".join(["No method to compare.", *missing, f"Methods are {', '.join(PEERS)}."])
        )
    return able, missing


def _files(data: Path | None) -> dict[str, Path]:
    """Return the .npz files of a folder and of the folders in it, by name."""
    if data is None:
        return {}
    if not data.is_dir():
        raise ValueError(f"--data must name an existing folder with .npz files; got {str(data)!r}.")
    found: dict[str, Path] = {}
    for path in sorted(data.rglob("*.npz")):
        if path.stem in found:
            raise ValueError(
                f"{data} must hold one file of each name; got {found[path.stem]} and {path}. "
                "Rename one, or name a folder with one of them."
            )
        found[path.stem] = path
    return found


def _run(
    settings: Settings, names: list[str], shares: tuple[float, ...], seeds: Iterable[int]
) -> Runs:
    """Return one result for every set, seed, share and method, finished ones from the journal."""
    _check_names(settings.datasets)
    tasks: dict[str, tuple[Any, ...]] = {}
    facts: Runs = []
    for name, seed, share, method in product(settings.datasets, seeds, shares, names):
        if not takes_part(method, share):
            continue
        shown = _shown(name)
        digest = _digest(name, settings.data)
        key = f"quality/{shown}/{digest}/{seed}/{share:g}/{method} {_version(method)}"
        tasks[key] = (name, settings.data, method, share, seed)
        facts.append({"dataset": shown, "seed": seed, "share": share, "method": method})
    results = run_tasks(
        _judge, tasks, settings.journal, settings.n_jobs, "quality", settings.verbose
    )
    return [fact | _count(fact, result) for fact, result in zip(facts, results, strict=True)]


def _shown(name: str) -> str:
    return Path(name).stem if name.endswith(".npz") else name


def _check_names(names: tuple[str, ...]) -> None:
    shown = [_shown(name) for name in names]
    twice = [name for name in dict.fromkeys(shown) if shown.count(name) > 1]
    if twice:
        raise ValueError(f"Every set needs a name of its own; got {listed(twice)} more than once.")


def _judge(name: str, data: Path | None, method: str, share: float, seed: int) -> dict[str, Any]:
    points, codes = load_set(name, data)
    return run_peer(points, codes, method, share, seed)


def _count(fact: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Let a failed run count as the worst there is."""
    if "error" not in result:
        return result
    worst = FAILED | ({"brier": 1.0} if fact["share"] and fact["method"] in PROBABILITIES else {})
    return {**worst, "failed": result["error"]}


@cache
def _digest(name: str, data: Path | None) -> str:
    return rows_digest(*load_set(name, data))[:12]


def _version(method: str) -> str:
    """Return what tells the results of a method from those of another version of it."""
    return " ".join(version(package) for package in PEERS[method].needs)


def _about(settings: Settings, names: list[str], seeds: int) -> list[str]:
    """Return sentences on sets, seeds, versions and the command."""
    packages = ["numpy", "scikit-learn", *(p for n in names for p in PEERS[n].needs)]
    versions = ", ".join(f"{name} {version(name)}" for name in dict.fromkeys(packages))
    chosen = settings.datasets != find_sets(settings.data)
    shown = [Path(name).name for name in settings.datasets]
    command = ["boreod reproduce quality"]
    command += [f"--datasets {','.join(shown)}"] if chosen else []
    command += [f"--methods {','.join(settings.methods)}"] if settings.methods else []
    command += ["--data FOLDER"] if settings.data else []
    command += ["--quick"] if settings.quick else []
    command += [f"--repetitions {seeds} --seed {settings.seed}"]
    return [
        f"{count_of(len(shown), 'set')} ({', '.join(map(_shown, settings.datasets))}), "
        f"{count_of(seeds, 'seed')} from {settings.seed}.",
        f"boreod {__version__}, Python {platform.python_version()}, {versions}; "
        f"{count_of(os.cpu_count() or 1, 'core')}.",
        f"All figures were computed by `{' '.join(command)}`; none was typed in.",
    ]


def _failures(runs: Runs) -> list[str]:
    """Return a sentence on every method and share with failed runs, with the first error."""
    failed: dict[tuple[str, float], Runs] = {}
    for run in runs:
        if "failed" in run:
            failed.setdefault((run["method"], run["share"]), []).append(run)
    return [
        f"{PEERS[method].title}, {_labelled(share)}, failed in {count_of(len(those), 'run')} "
        f"({', '.join(dict.fromkeys(run['dataset'] for run in those))}), which count as 0: "
        f"{those[0]['failed']}"
        for (method, share), those in failed.items()
    ]


def _labelled(share: float) -> str:
    return f"{show_percent(share)} of the outliers labelled" if share else "no labels"


def _mean(summary: Summary, method: str, measure: str) -> float | None:
    """Return the mean over sets of means over runs that have the measure."""
    values = [
        [run[measure] for run in summary.runs(name, method) if measure in run]
        for name in summary.datasets
    ]
    means = [np.mean(found) for found in values if found]
    return float(np.mean(means)) if means else None


def _means(summary: Summary, share: float) -> Table:
    means = {
        method: {measure: _mean(summary, method, measure) for measure in SHOWN}
        for method in summary.methods
    }
    tops = {m: max(round(found[m] or 0.0, 3) for found in means.values()) for m in FAILED}
    rows, bold = [], set()
    for number, (method, found) in enumerate(means.items()):
        cells = [
            "-" if mean is None else f"{mean:.2f}" if measure == "took" else f"{mean:.3f}"
            for measure, mean in found.items()
        ]
        rows.append([PEERS[method].title, *cells, str(summary.wins(method, JUDGED_BY))])
        for place, measure in enumerate(SHOWN, 1):
            if measure in tops and round(found[measure] or 0.0, 3) == tops[measure]:
                bold.add((number, place))
    header = ["method", *SHOWN.values(), "best on sets"]
    return Table(header, rows, frozenset(bold), _labelled(share))


def _gains(summaries: dict[float, Summary]) -> list[Block]:
    """Return differences of average precision, and in words what they tell."""
    gains = {share: find_gains(found, OURS, JUDGED_BY) for share, found in summaries.items()}
    others = [name for name in PEERS if any(name in found for found in gains.values())]
    rows = [
        [PEERS[name].title, *(str(found.get(name, "-")) for found in gains.values())]
        for name in others
    ]
    header = ["Detector minus"]
    header += [_labelled(share).replace(" of the outliers", "") for share in gains]
    caption = (
        "Average precision, mean of paired differences over sets and its 90 % bootstrap interval: "
        "of one pair at a time, and for other sets only as far as these are like them"
    )
    sentences = [_verdict(share, summaries[share], found) for share, found in gains.items()]
    return [Table(header, rows, caption=caption), *map(Paragraph, sentences)]


def _verdict(share: float, summary: Summary, gains: dict[str, Gain]) -> str:
    groups = {"ahead of": 1, "behind": -1, "not told apart from": 0}
    titles = {
        what: [PEERS[name].title for name, gain in gains.items() if gain.sign == sign]
        for what, sign in groups.items()
    }
    texts = [f"{what} {', '.join(names)}" for what, names in titles.items() if names]
    best = PEERS[summary.ranking(JUDGED_BY)[0]].title
    text = f"With {_labelled(share)}, {best} has the highest mean"
    return text + (f"; Detector is {'; '.join(texts)}." if texts else ".")


def _every_set(summary: Summary, share: float) -> Table:
    rows, bold = [], set()
    for number, name in enumerate(summary.datasets):
        cells = [summary.cell(name, method, JUDGED_BY) for method in summary.methods]
        best = summary.best(name, JUDGED_BY)
        bold |= {(number, place) for place, m in enumerate(summary.methods, 1) if m in best}
        rows.append([name, *(f"{cell.mean:.3f}" if cell else "-" for cell in cells)])
    header = ["set", *(PEERS[method].title for method in summary.methods)]
    return Table(header, rows, frozenset(bold), f"Average precision, {_labelled(share)}")


def _write(path: Path, runs: Runs) -> None:
    """Write all single runs."""
    kept = ("dataset", "seed", "share", "method", *MEASURES, "brier", "took")
    rows = [{key: run.get(key, "") for key in kept} for run in runs]
    for row in rows:
        row.update({key: round(v, 6) for key, v in row.items() if isinstance(v, float)})
    write_csv(path, rows)
