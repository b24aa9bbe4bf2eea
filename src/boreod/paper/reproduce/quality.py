"""Compare detection quality with few labels: our methods and others that users could install."""

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
from boreod.paper.evaluation.methods import METHODS, PEERS, check_names
from boreod.paper.evaluation.runs import run_tasks
from boreod.paper.evaluation.splits import MEASURES, run_with_few_labels, takes_part
from boreod.paper.evaluation.summary import Best, Gain, Summary, find_gains, make_table
from boreod.paper.reproduce.setup import SETS, Settings, table_by_set, write_csv
from boreod.text import count_of, listed, show_percent, suggest
from boreod.tool.documents import Block, Paragraph, Section, Table

OURS = "detector"
JUDGED_BY = "average_precision"
SHOWN = {JUDGED_BY: "average precision", "auc": "AUC", "brier": "Brier score", "took": "seconds"}
KNOWN = {info.name: info for info in datasets.catalogue()}
PROTOCOL = (
    "At most 5000 rows of a set, columns scaled to [0, 1], 60 % of the rows to learn from and "
    "40 % to judge, stratified. A share of the outliers to learn from is labelled, at least two; "
    "all other rows are passed as inliers, hidden outliers too. Without labels only methods that "
    "need none take part, and Detector gives quantiles, which have no Brier score. Figures are "
    "means over sets of means over seeds; a method that fails counts as 0. Seconds are those of "
    "fit and scores, on one core beside other runs. Detector and BORE have their defaults, BORE "
    "is the printed method; ExtraTrees has bags of ten inliers an outlier (50 bags of 10 trees), "
    "isolation forest 300 trees, kNN k = 20, the others their defaults (CatBoost 1000 iterations)."
)
Runs = list[dict[str, Any]]


def reproduce_quality(settings: Settings) -> Section:
    """Compare methods at several shares of labelled outliers, with paired intervals over sets."""
    tried = [0.0, 0.05, 0.25, 1.0]
    seeds = settings.repetitions or (1 if settings.quick else 5)
    wanted = settings.methods
    if settings.quick:
        tried = [0.0, 0.25]
        # XGBOD takes as long as all others together.
        wanted = wanted or [name for name in PEERS if name != "xgbod"]
    names, missing = choose_methods(wanted)
    shares = [share for share in tried if any(takes_part(name, share) for name in names)]
    runs = _run(settings, names, shares, range(settings.seed, settings.seed + seeds))
    kept = ("dataset", "seed", "share", "method", *MEASURES, "brier", "took")
    rows = [{key: run.get(key, "") for key in kept} for run in runs]
    write_csv(settings.folder / "quality.csv", rows)
    summaries = {share: Summary([run for run in runs if run["share"] == share]) for share in shares}
    parts = [Section("Means over sets", [_means(summaries[share], share) for share in shares])]
    if OURS in names:
        parts.append(Section("Detector beside each of the others", _gains(summaries)))
    every_set = [
        table_by_set(
            summaries[share],
            JUDGED_BY,
            f"Average precision, {_labelled(share)}",
            lambda cell: f"{cell.mean:.3f}",
        )
        for share in shares
    ]
    parts.append(Section("Every set", every_set))
    texts = [PROTOCOL, *_about(settings, names, seeds), *missing, *_failures(runs)]
    return Section("Detection quality with few labels", list(map(Paragraph, texts)), parts)


def find_sets(data: Path | None) -> tuple[str, ...]:
    """Return the paper's sets, and the .npz files of a folder that the catalogue does not know."""
    known = {f"{name}_v{v:02d}" for name, info in KNOWN.items() for v in info.versions}
    others = [name for name in _files(data) if name not in KNOWN and name not in known]
    return (*SETS, *others)


def load_set(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Return rows and labels of an .npz file, a file of the folder, or a set of the catalogue.

    A set with several samples is always represented by the first.
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
    """Return the methods that can run, and a sentence for each that is not installed.

    Examples
    --------
    >>> choose_methods(["detector", "iforest"])
    (['detector', 'iforest'], [])
    """
    names = list(dict.fromkeys(PEERS if wanted is None else wanted))
    check_names(names, PEERS)
    able = [name for name in names if METHODS[name].is_installed]
    missing = [
        f"{METHODS[name].title} does not take part: it needs {' and '.join(METHODS[name].needs)}, "
        "not installed here: pip install boreod[peers]"
        for name in names
        if name not in able
    ]
    if not able:
        raise ValueError(
            " ".join(["No method to compare.", *missing, f"Methods are {', '.join(PEERS)}."])
        )
    return able, missing


def _files(data: Path | None) -> dict[str, Path]:
    """Return the .npz files of a folder and its subfolders by name."""
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


def _run(settings: Settings, names: list[str], shares: list[float], seeds: Iterable[int]) -> Runs:
    """Return one result for every set, seed, share and method; reuse those in the journal."""
    titles = {name: _title(name) for name in settings.datasets}
    twice = [t for t in dict.fromkeys(titles.values()) if list(titles.values()).count(t) > 1]
    if twice:
        raise ValueError(f"Every set needs a name of its own; got {listed(twice)} more than once.")
    tasks: dict[str, tuple[Any, ...]] = {}
    facts: Runs = []
    for name, seed, share, method in product(settings.datasets, seeds, shares, names):
        if takes_part(method, share):
            versions = " ".join(version(package) for package in METHODS[method].needs)
            digest = _digest(name, settings.data)
            key = f"few labels/{titles[name]}/{digest}/{seed}/{share:g}/{method} {versions}"
            tasks[key] = (name, settings.data, method, share, seed)
            facts.append({"dataset": titles[name], "seed": seed, "share": share, "method": method})
    journal = settings.journal
    results = run_tasks(_judge, tasks, journal, settings.n_jobs, "quality", settings.verbose)
    return [fact | _count(fact, result) for fact, result in zip(facts, results, strict=True)]


def _title(name: str) -> str:
    return Path(name).stem if name.endswith(".npz") else name


def _judge(name: str, data: Path | None, method: str, share: float, seed: int) -> dict[str, Any]:
    points, codes = load_set(name, data)
    return run_with_few_labels(points, codes, method, share, seed)


def _count(fact: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Count a failed run as the worst possible one."""
    if "error" not in result:
        return result
    worst = {JUDGED_BY: 0.0, "auc": 0.0, "failed": result["error"]}
    if fact["share"] and METHODS[fact["method"]].has_probabilities:
        worst["brier"] = 1.0
    return worst


@cache
def _digest(name: str, data: Path | None) -> str:
    return rows_digest(*load_set(name, data))[:12]


def _about(settings: Settings, names: list[str], seeds: int) -> list[str]:
    """Return sentences about sets, seeds, versions and the command."""
    packages = ["numpy", "scikit-learn", *(p for n in names for p in METHODS[n].needs)]
    versions = ", ".join(f"{name} {version(name)}" for name in dict.fromkeys(packages))
    command = "boreod reproduce quality"
    if settings.datasets != find_sets(settings.data):
        command += f" --datasets {','.join(Path(name).name for name in settings.datasets)}"
    if settings.methods:
        command += f" --methods {','.join(settings.methods)}"
    if settings.data:
        command += " --data FOLDER"
    if settings.quick:
        command += " --quick"
    return [
        f"{count_of(len(settings.datasets), 'set')} ({', '.join(map(_title, settings.datasets))}), "
        f"{count_of(seeds, 'seed')} from {settings.seed}.",
        f"boreod {__version__}, Python {platform.python_version()}, {versions}; "
        f"{count_of(os.cpu_count() or 1, 'core')}.",
        f"All figures were computed by `{command} --repetitions {seeds} --seed {settings.seed}`; "
        "none was typed in.",
    ]


def _failures(runs: Runs) -> list[str]:
    """Return a sentence for every method and share with failed runs, with the first error."""
    failed: dict[tuple[str, float], Runs] = {}
    for run in runs:
        if "failed" in run:
            failed.setdefault((run["method"], run["share"]), []).append(run)
    return [
        f"{METHODS[method].title}, {_labelled(share)}, failed in {count_of(len(those), 'run')} "
        f"({', '.join(dict.fromkeys(run['dataset'] for run in those))}), which count as 0: "
        f"{those[0]['failed']}"
        for (method, share), those in failed.items()
    ]


def _labelled(share: float) -> str:
    return f"{show_percent(share)} of the outliers labelled" if share else "no labels"


def _means(summary: Summary, share: float) -> Table:
    """Return the means over sets; those of the best method are bold."""
    rows = [[METHODS[method].title] for method in summary.methods]
    for measure in SHOWN:
        digits = 2 if measure == "took" else 3
        means = [summary.means(summary.datasets, name, measure) for name in summary.methods]
        rounded = [round(float(np.mean(known)), 3) if known else 0.0 for known in means]
        for row, known, mean in zip(rows, means, rounded, strict=True):
            text = f"{np.mean(known):.{digits}f}" if known else "-"
            row.append(Best(text) if measure in MEASURES and mean == max(rounded) else text)
    for row, method in zip(rows, summary.methods, strict=True):
        row.append(str(summary.wins(method, JUDGED_BY)))
    header = ["method", *SHOWN.values(), "best on sets"]
    return make_table(header, rows, _labelled(share))


def _gains(summaries: dict[float, Summary]) -> list[Block]:
    """Return differences of average precision as a table, and the conclusions in words."""
    gains = {share: find_gains(found, OURS, JUDGED_BY) for share, found in summaries.items()}
    rows = [
        [METHODS[name].title, *(str(found.get(name, "-")) for found in gains.values())]
        for name in PEERS
        if any(name in found for found in gains.values())
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
    best = METHODS[summary.ranking(JUDGED_BY)[0]].title
    text = f"With {_labelled(share)}, {best} has the highest mean"
    places = []
    for sign, what in ((1, "ahead of"), (-1, "behind"), (0, "not told apart from")):
        titles = [METHODS[name].title for name, gain in gains.items() if gain.sign == sign]
        if titles:
            places.append(f"{what} {', '.join(titles)}")
    if places:
        text += f"; Detector is {'; '.join(places)}"
    return f"{text}."
