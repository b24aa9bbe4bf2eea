"""The paper's Table 1 (data sets) and Table 2 (seven methods), with our figures beside them."""

from itertools import product
from typing import Any

import numpy as np

from boreod.paper import datasets
from boreod.paper.evaluation.methods import METHODS, PAPER
from boreod.paper.evaluation.splits import MEASURES
from boreod.paper.evaluation.summary import Summary
from boreod.paper.reproduce.setup import (
    FEATURE_BAGGING,
    Settings,
    compare,
    load_repetition,
    paragraphs,
    read_paper,
    table_by_set,
    write_csv,
)
from boreod.representation.transformer import OutlierRepresentation
from boreod.tool.documents import Bold, Paragraph, Section, Table

MARKS = {"none": "*", "number": "*", "hindsight": "*°", "given": ""}
PRINTED = ("auc", "early_auc", "precision")
BESIDE = [text for measure in PRINTED for text in (MEASURES[measure], "paper")]
# Our figures are compared with the paper's on sets with at least this many test outliers.
ENOUGH_OUTLIERS = 10
Runs = list[dict[str, Any]]


def reproduce_table1(settings: Settings) -> Section:
    """Count rows, columns and outliers of every set, beside the paper's numbers."""
    paper = {row["dataset"]: row for row in read_paper("paper_table1.csv")}
    infos = {info.name: info for info in datasets.catalogue()}
    rows = []
    for name in settings.datasets:
        points, codes = load_repetition(name, 0, settings.data)
        scores = OutlierRepresentation(passthrough=False, n_jobs=settings.n_jobs).fit(points)
        printed = paper.get(name, {"n": "", "d": "", "r": ""})
        rows.append(
            {
                "dataset": name,
                "n": len(points),
                "d": points.shape[1],
                "outliers": int(codes.sum()),
                "outlier_percent": round(float(100 * codes.mean()), 2),
                "samples": len(infos[name].versions),
                "score_columns": len(scores.columns_),
                "paper_n": printed["n"],
                "paper_d": printed["d"],
                "paper_percent": printed["r"],
                "note": infos[name].note,
            }
        )
    write_csv(settings.folder / "table1.csv", rows)
    header = ["set", "n", "d", "outliers", "%", "samples", "scores", "paper: n", "d", "%"]
    table = Table(header, [[str(value) for value in list(row.values())[:-1]] for row in rows])
    notes = [Paragraph(f"{row['dataset']}: {row['note']}.") for row in rows if row["note"]]
    return Section("Table 1: data sets", [*paragraphs("table1"), table, *notes])


def reproduce_table2(settings: Settings) -> Section:
    """Compare the methods of the paper, and without ``quick`` also on other splits and columns."""
    runs = compare(settings, PAPER)
    summary = Summary(runs)
    paper = load_paper(summary.datasets)
    parts = [_all_sets(summary, paper)]
    parts += [_one_set(summary, paper, name) for name in summary.datasets]
    if not settings.quick:
        for part, more in _more_tables(settings, summary, paper):
            parts.append(part)
            runs = runs + more
    _write(settings, summary, paper, runs)
    sizes = {
        name: [run["columns"] for run in summary.runs(name, "greedy")] for name in summary.datasets
    }
    shown = [f"{name} {min(found)} to {max(found)}" for name, found in sizes.items() if found]
    text, members = paragraphs("table2", count=settings.count, sizes=", ".join(shown))
    failures = [
        Paragraph(
            f"{run['dataset']}, {METHODS[run['method']].title}, {run['protocol']}, repetition "
            f"{run['repetition'] + 1} failed: {run['error']}"
        )
        for run in runs
        if "error" in run
    ]
    return Section(
        "Table 2: seven methods", [text, distances(summary, paper), members, *failures], parts
    )


def load_paper(names: list[str]) -> Summary:
    """Return the figures that the paper prints for some sets, summarized like runs."""
    return Summary(
        [
            row | {measure: float(row[measure]) / 100 for measure in PRINTED}
            for row in read_paper("paper_table2.csv")
            if row["dataset"] in names
        ]
    )


def distances(summary: Summary, paper: Summary) -> Table:
    """Return a table of the differences of our AUC and the paper's AUC.

    It has only sets with at least ENOUGH_OUTLIERS test outliers.
    """
    counts = {name: count_test_outliers(summary.runs(name, "be")) for name in paper.datasets}
    names = [name for name in paper.datasets if min(counts[name]) >= ENOUGH_OUTLIERS]
    rows = []
    for method in summary.methods:
        ours = np.array(summary.means(names, method, "auc"))
        printed = np.array(paper.means(names, method, "auc"))
        if len(ours) == len(printed) > 0:
            mean = f"{100 * np.abs(ours - printed).mean():.1f}"
            rows.append([_title(method), *(f"{100 * d:+.1f}" for d in ours - printed), mean])
    caption = (
        f"AUC, ours minus the paper's, on the sets with at least {ENOUGH_OUTLIERS} test outliers "
        "(higgs is our own draw); on the other sets single splits lie 10 and more points apart"
    )
    return Table(["method", *names, "mean distance"], rows, caption=caption)


def count_test_outliers(runs: Runs) -> list[int]:
    """Return the numbers of test outliers of runs, 0 if there are no runs."""
    return [run["test_outliers"] for run in runs] or [0]


def _all_sets(summary: Summary, paper: Summary) -> Section:
    """Return the mean over sets and the number of wins of each method."""
    header = ["method"]
    for measure in PRINTED:
        header += [MEASURES[measure], "paper", "wins", "paper"]
    has_all = len(paper.datasets) == len(summary.datasets)
    rows = []
    for method in summary.methods:
        row = [_title(method)]
        for measure in PRINTED:
            mean = _percent(summary.overall(method, measure))
            row += [
                Bold(mean) if summary.ranking(measure)[:1] == [method] else mean,
                _percent(paper.overall(method, measure) if has_all else None),
                str(summary.wins(method, measure)),
                str(paper.wins(method, measure)),
            ]
        rows.append(row)
    caption = f"Mean over {len(summary.datasets)} sets, and on how many a method is best"
    return Section("All sets", [Table(header, rows, caption)])


def _one_set(summary: Summary, paper: Summary, name: str) -> Section:
    rows = []
    for method in summary.methods:
        row = [_title(method)]
        for measure in PRINTED:
            row += [
                summary.show(name, method, measure),
                str(paper.cell(name, method, measure) or "-"),
            ]
        rows.append(row)
    return Section(name, [Table(["method", *BESIDE], rows)])


def _title(method: str) -> str:
    """Return the title of a method, with the paper's mark if it does not learn from labels."""
    return METHODS[method].title + MARKS[METHODS[method].labels]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _more_tables(settings: Settings, ours: Summary, paper: Summary) -> list[tuple[Section, Runs]]:
    """Return tables that the paper does not print, with their runs."""
    plain = compare(settings, ["be", "bore"], "unstratified")
    unseen = compare(settings, PAPER, "unseen")
    tables = [(_compare_splits(ours, Summary(plain), paper), plain)]
    tables.append((Section("Unseen rows", [*paragraphs("unseen"), _grid(unseen, "auc")]), unseen))
    names = tuple(name for name in settings.datasets if name in FEATURE_BAGGING)
    if names:
        users = [name for name in PAPER if name not in ("ssad", "be")]
        bagged = compare(settings, users, names=names, feature_bagging=True)
        grids = [_grid(bagged, measure) for measure in PRINTED]
        for run in bagged:
            run["protocol"] += ", subspaces"
        tables.append((Section("Feature bagging", [*paragraphs("subspaces"), *grids]), bagged))
    return tables


def _compare_splits(stratified: Summary, plain: Summary, paper: Summary) -> Section:
    """Return the numbers of test outliers and the AUC of stratified and of plain splits."""
    rows = []
    for name in stratified.datasets:
        counts = count_test_outliers(plain.runs(name, "bore"))
        printed = [run["precision"] for method in PAPER for run in paper.runs(name, method)]
        row = [name, str(fewest_outliers(printed)) if printed else "-"]
        row += [str(count_test_outliers(stratified.runs(name, "bore"))[0])]
        row += [f"{min(counts)} to {max(counts)}"]
        for method in ("be", "bore"):
            for summary in (stratified, plain, paper):
                row.append(str(summary.cell(name, method, "auc") or "-"))
        perfect = [run["auc"] == 1.0 for run in plain.runs(name, "bore")]
        rows.append([*row, f"{sum(perfect)} of {len(perfect)}"])
    header = ["set", "test outliers: paper", "stratified", "not stratified"]
    for method in ("BE", "BORE"):
        header += [f"{method}: stratified", "not stratified", "paper"]
    blocks = [*paragraphs("splits"), Table([*header, "AUC 100"], rows)]
    return Section("Splits that are not stratified", blocks)


def fewest_outliers(precisions: list[float]) -> int:
    """Return the least number of outliers that fits the printed precisions.

    Each precision is a share of this number of outliers, printed in percent with two digits.

    Examples
    --------
    >>> fewest_outliers([0.2778, 0.3333, 0.6389])
    36
    """
    shares = np.array(precisions)
    number = 1
    while (np.abs(shares - np.round(shares * number) / number) > 5.01e-5).any():
        number += 1
    return number


def _grid(runs: Runs, measure: str) -> Table:
    """Return a table of one measure by set and method, with means and wins in the last rows."""
    summary = Summary(runs)
    means = ["mean", *(_percent(summary.overall(m, measure)) for m in summary.methods)]
    wins = ["wins", *(str(summary.wins(method, measure)) for method in summary.methods)]
    return table_by_set(summary, measure, MEASURES[measure], more_rows=[means, wins])


def _write(settings: Settings, summary: Summary, paper: Summary, runs: Runs) -> None:
    """Write one file with the means, and one file with all single runs."""
    rows = [
        {
            "dataset": name,
            "method": method,
            "measure": measure,
            "mean": cell.mean,
            "sd": cell.sd,
            "repetitions": cell.count,
            # This is text, so that it is not rounded.
            "paper": str(printed.mean) if (printed := paper.cell(name, method, measure)) else "",
            "best": int(method in summary.best(name, measure)),
        }
        for name, method, measure in product(summary.datasets, summary.methods, PRINTED)
        if (cell := summary.cell(name, method, measure))
    ]
    write_csv(settings.folder / "table2.csv", rows)
    kept = ("dataset", "method", "protocol", "repetition", *MEASURES, "columns")
    done = [{key: run[key] for key in kept} for run in runs if "error" not in run]
    write_csv(settings.folder / "table2_runs.csv", done)
