"""Compare detection quality with few labels: our methods and others that users could install.

A run takes at most 5000 rows of a set, scales columns to [0, 1], and judges the scores of 40 % of
the rows. It labels a share of the training outliers, at least two. All other training rows are
passed as inliers. So the inliers include hidden outliers, as they do in practice.

    python benchmarks/few_labels.py --data FOLDER -o results
"""

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from boreod.files import write_text
from boreod.paper import datasets
from boreod.paper.datasets.loading import read_npz, rows_digest
from boreod.paper.evaluation.methods import METHODS, PEERS, find_missing
from boreod.paper.evaluation.runs import run_tasks
from boreod.paper.evaluation.splits import MEASURES, TEST_SHARE, judge
from boreod.paper.evaluation.summary import Loss, Run, Summary, find_losses
from boreod.paper.reproduce.setup import (
    SETS,
    Settings,
    describe_code,
    table_by_set,
    write_csv,
)
from boreod.text import count_of, listed, show_percent, suggest
from boreod.tool.documents import Block, Bold, Paragraph, Section, Table, to_markdown
from boreod.validation import INLIER, OUTLIER

OURS = "detector"
JUDGED_BY = "average_precision"
SHOWN = {JUDGED_BY: "average precision", "auc": "AUC", "brier": "Brier score", "took": "seconds"}
KNOWN = {info.name: info for info in datasets.catalogue()}
MOST_ROWS = 5000
PROTOCOL = (
    "A run takes at most 5000 rows of a set and scales columns to [0, 1]. Methods learn from 60 % "
    "of the rows and are judged on 40 %; the split is stratified. A share of the training "
    "outliers is labelled, at least two. All other training rows are passed as inliers, hidden "
    "outliers too. Without labels, only methods that need no labels take part, and Detector "
    "returns quantiles, which have no Brier score. Figures are means over seeds, then over sets; "
    "a method that fails counts as 0. Seconds are the time of fit and scores, on one core beside "
    "other runs. Detector and BORE have their defaults, and BORE is the printed method. "
    "ExtraTrees has 50 bags with ten inliers for each outlier, and 10 trees per bag. Isolation "
    "forest has 300 trees, and kNN has k = 20. All other methods have their defaults, such as "
    "1000 iterations for CatBoost."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare methods, print the tables and write them; a stopped run continues."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with .npz files")
    parser.add_argument("--sets", help="names or .npz files; default: the paper's and the folder's")
    parser.add_argument("--methods", help="methods, separated by commas; default: all installed")
    parser.add_argument("--seeds", type=int, help="number of seeds; default: 5, or 1 with --quick")
    parser.add_argument("--quick", action="store_true", help="two shares of labels, without XGBOD")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 for all cores")
    parser.add_argument("-o", "--output", type=Path, default=Path("results"), help="folder")
    given = parser.parse_args(arguments)
    sets = tuple(given.sets.split(",")) if given.sets else find_sets(given.data)
    settings = Settings(given.output, sets, given.seeds, given.quick, given.data, given.jobs)
    methods = given.methods.split(",") if given.methods else None
    print(compare_quality(settings, methods))


def compare_quality(settings: Settings, methods: Sequence[str] | None = None) -> str:
    """Write the comparison to the folder as CSV and Markdown, and return the Markdown."""
    text = to_markdown(describe_quality(settings, methods), level=1)
    write_text(settings.folder / "quality.md", text)
    return text


def describe_quality(settings: Settings, methods: Sequence[str] | None) -> Section:
    """Compare methods at several shares of labelled outliers, with paired intervals over sets."""
    tried = [0.0, 0.25] if settings.quick else [0.0, 0.05, 0.25, 1.0]
    seeds = settings.repetitions or (1 if settings.quick else 5)
    wanted = methods
    if settings.quick and not wanted:
        # XGBOD takes as long as all others together.
        wanted = [name for name in PEERS if name != "xgbod"]
    names, missing = choose_methods(wanted)
    every = product(range(settings.seed, settings.seed + seeds), tried, names)
    plan = [(seed, share, name) for seed, share, name in every if takes_part(name, share)]
    runs = _run(settings, plan)
    kept = ("dataset", "seed", "share", "method", *MEASURES, "brier", "took")
    write_csv(
        settings.folder / "quality.csv", [{key: run.get(key, "") for key in kept} for run in runs]
    )
    summaries = {
        share: Summary([run for run in runs if run["share"] == share])
        for share in dict.fromkeys(run["share"] for run in runs)
    }
    means = [_means(summary, share) for share, summary in summaries.items()]
    every_set = [
        table_by_set(
            summary,
            JUDGED_BY,
            f"Average precision, {_labelled(share)}",
            lambda cell: f"{cell.mean:.3f}",
        )
        for share, summary in summaries.items()
    ]
    parts = [Section("Means over sets", means), Section("Every set", every_set)]
    if OURS in names:
        parts.insert(1, Section("Detector beside each of the others", _losses(summaries)))
    texts = [PROTOCOL, *_about(settings, names, methods, seeds), *missing, *_failures(runs)]
    return Section("Detection quality with few labels", list(map(Paragraph, texts)), parts)


@dataclass(frozen=True)
class FewLabels:
    """Rows to learn from with labels (1 for known outliers, else 0), and rows to judge."""

    rows: NDArray
    labels: NDArray
    new_rows: NDArray
    outliers: NDArray


def draw_few_labels(points: NDArray, codes: NDArray, share: float, seed: int) -> FewLabels:
    """Draw rows, split them, and hide the labels of most outliers.

    The split does not depend on the share of labelled outliers. A share of 0 gives no labels.

    Examples
    --------
    >>> points, codes = np.arange(100.0).reshape(-1, 1), np.repeat([0, 1], [80, 20])
    >>> task = draw_few_labels(points, codes, share=0.25, seed=0)
    >>> len(task.rows), int(task.labels.sum()), int(task.outliers.sum())
    (60, 3, 8)
    """
    if len(codes) > MOST_ROWS:
        drawn, _ = draw(codes, seed, train_size=MOST_ROWS)
        points = points[drawn]
        codes = codes[drawn]
    width = np.ptp(points, axis=0)
    scaled = (points - points.min(axis=0)) / np.where(width > 0, width, 1.0)
    train, test = draw(codes, seed, test_size=TEST_SHARE)
    labels = codes[train].astype(np.int64)
    outliers = np.flatnonzero(labels == OUTLIER)
    n_known = max(2, round(share * len(outliers))) if share else 0
    labels[
        np.random.default_rng(1000 * seed + int(1000 * share)).permutation(outliers)[n_known:]
    ] = INLIER
    return FewLabels(scaled[train], labels, scaled[test], codes[test] == OUTLIER)


def run_with_few_labels(
    points: NDArray, codes: NDArray, name: str, share: float, seed: int
) -> dict[str, float]:
    """Return measures, seconds and, if labels gave probabilities, the Brier score."""
    task = draw_few_labels(points, codes, share, seed)
    method = METHODS[name]
    model = method.make(None, seed)
    started = time.perf_counter()
    model.fit(task.rows, task.labels if share else None)
    if method.has_probabilities:
        scores = model.predict_proba(task.new_rows)[:, 1]
    else:
        scores = model.decision_function(task.new_rows)
    result = {"took": time.perf_counter() - started, **judge(task.outliers, scores)}
    # Without labels a detector returns quantiles, which have no Brier score.
    if share and method.has_probabilities:
        result["brier"] = float(np.mean((scores - task.outliers) ** 2))
    return result


def takes_part(name: str, share: float) -> bool:
    """Whether a method is compared when this share of the outliers is labelled.

    Examples
    --------
    >>> [name for name in ("detector", "bore", "iforest", "knn") if takes_part(name, 0.0)]
    ['detector', 'iforest', 'knn']
    """
    method = METHODS[name]
    if share:
        return method.group != "unlabelled"
    return method.group == "ours" or method.labels == "none"


def draw(codes: NDArray, seed: int, **sizes: Any) -> list[NDArray]:
    """Return the places of two random parts of the rows, stratified by label."""
    return train_test_split(np.arange(len(codes)), stratify=codes, random_state=seed, **sizes)


def find_sets(data: Path | None) -> tuple[str, ...]:
    """Return the paper's sets, and the .npz files of a folder that are not in the catalogue."""
    known = {f"{name}_v{v:02d}" for name, info in KNOWN.items() for v in info.versions}
    others = [name for name in _files(data) if name not in KNOWN and name not in known]
    return (*SETS, *others)


def load_set(name: str, data: Path | None) -> tuple[NDArray, NDArray]:
    """Return rows and labels of an .npz file, a file of the folder, or a set of the catalogue.

    If a set has several samples, the first one is loaded.
    """
    if name.endswith(".npz"):
        return read_npz(Path(name))
    found = _files(data)
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
    lacking = find_missing(names, PEERS)
    missing = [
        f"{METHODS[name].title} does not take part: it {lack}" for name, lack in lacking.items()
    ]
    if len(lacking) == len(names):
        raise ValueError(
            " ".join(["No method to compare.", *missing, f"Methods are {', '.join(PEERS)}."])
        )
    return [name for name in names if name not in lacking], missing


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


def _run(settings: Settings, plan: list[tuple[int, float, str]]) -> list[Run]:
    """Return one result for every set and item of a plan; reuse those in the journal.

    An item is a seed, a share and a method. A failed run counts as the worst possible one.
    """
    titles = _titles(settings)
    twice = [title for title in dict.fromkeys(titles) if titles.count(title) > 1]
    if twice:
        raise ValueError(f"Every set needs a name of its own; got {listed(twice)} more than once.")
    tasks: dict[str, tuple[Any, ...]] = {}
    runs: list[Run] = []
    for name, title in zip(settings.datasets, titles, strict=True):
        points, codes = load_set(name, settings.data)
        digest = rows_digest(points, codes)[:12]
        for seed, share, method in plan:
            versions = " ".join(version(package) for package in METHODS[method].needs)
            key = f"few labels/{title}/{digest}/{seed}/{share:g}/{method} {versions}"
            tasks[key] = (points, codes, method, share, seed)
            runs.append({"dataset": title, "seed": seed, "share": share, "method": method})
    results = run_tasks(
        run_with_few_labels, tasks, settings.journal, settings.n_jobs, "quality", settings.verbose
    )
    for run, result in zip(runs, results, strict=True):
        run.update(result)
        if "error" in result:
            run.update({JUDGED_BY: 0.0, "auc": 0.0, "failed": run.pop("error")})
            if run["share"] and METHODS[run["method"]].has_probabilities:
                run["brier"] = 1.0
    return runs


def _titles(settings: Settings) -> list[str]:
    return [Path(name).stem if name.endswith(".npz") else name for name in settings.datasets]


def _about(
    settings: Settings, names: list[str], methods: Sequence[str] | None, seeds: int
) -> list[str]:
    """Return sentences about sets, seeds, versions and the command."""
    command = "python benchmarks/few_labels.py"
    if settings.datasets != find_sets(settings.data):
        command += f" --sets {','.join(Path(name).name for name in settings.datasets)}"
    if methods:
        command += f" --methods {','.join(methods)}"
    if settings.data:
        command += " --data FOLDER"
    if settings.quick:
        command += " --quick"
    return [
        f"{count_of(len(settings.datasets), 'set')} ({', '.join(_titles(settings))}), "
        f"{count_of(seeds, 'seed')} from {settings.seed}.",
        describe_code(*(package for name in names for package in METHODS[name].needs)),
        f"All figures were computed by `{command} --seeds {seeds}`; none was typed in.",
    ]


def _failures(runs: list[Run]) -> list[str]:
    """Return a sentence for every method and share with failed runs, with the first error."""
    failed: dict[tuple[str, float], list[Run]] = {}
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
    columns = [[METHODS[method].title for method in summary.methods]]
    for measure in SHOWN:
        digits = 2 if measure == "took" else 3
        means = [summary.means(summary.datasets, name, measure) for name in summary.methods]
        texts = [f"{np.mean(known):.{digits}f}" if known else "-" for known in means]
        best = max(texts) if measure in MEASURES else ""
        columns.append([Bold(text) if text == best else text for text in texts])
    columns.append([str(summary.wins(method, JUDGED_BY)) for method in summary.methods])
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(["method", *SHOWN.values(), "best on sets"], rows, _labelled(share))


def _losses(summaries: dict[float, Summary]) -> list[Block]:
    """Return differences of average precision as a table, and the conclusions in words."""
    losses = {
        share: find_losses(summary, OURS, JUDGED_BY, over_sets=True)
        for share, summary in summaries.items()
    }
    rows = [
        [METHODS[name].title, *(str(found.get(name, "-")) for found in losses.values())]
        for name in PEERS
        if any(name in found for found in losses.values())
    ]
    shares = [_labelled(share).replace(" of the outliers", "") for share in losses]
    caption = (
        "Average precision: mean of paired differences over sets, with a 90 % bootstrap interval. "
        "An interval is for one pair at a time. It holds for other sets only as far as they are "
        "like these sets."
    )
    sentences = [_verdict(share, summaries[share], found) for share, found in losses.items()]
    return [Table(["Detector minus", *shares], rows, caption=caption), *map(Paragraph, sentences)]


def _verdict(share: float, summary: Summary, losses: dict[str, Loss]) -> str:
    best = METHODS[summary.ranking(JUDGED_BY)[0]].title
    text = f"With {_labelled(share)}, {best} has the highest mean"
    before = "; Detector is "
    for sign, what in ((1, "ahead of"), (-1, "behind"), (0, "not told apart from")):
        titles = [METHODS[name].title for name, loss in losses.items() if loss.sign == sign]
        if titles:
            text += f"{before}{what} {', '.join(titles)}"
            before = "; "
    return f"{text}."


if __name__ == "__main__":
    main()
