"""The paper's Table 1 (data sets) and Table 2 (seven methods), with our figures beside them."""

from itertools import product
from typing import Any

import numpy as np

from boreod.paper import datasets
from boreod.paper.evaluation.methods import METHODS, PAPER
from boreod.paper.evaluation.splits import MEASURES
from boreod.paper.evaluation.summary import Best, Summary, make_table
from boreod.paper.reproduce.setup import (
    FEATURE_BAGGING,
    Settings,
    compare,
    load_repetition,
    read_paper,
    table_by_set,
    write_csv,
)
from boreod.tool.documents import Paragraph, Section, Table

MARKS = {"none": "*", "number": "*", "hindsight": "*°", "given": ""}
PRINTED = ("auc", "early_auc", "precision")
BESIDE = [text for measure in PRINTED for text in (MEASURES[measure], "paper")]
# Sets with at least 20 test outliers and the same rows as in the paper. higgs has other rows.
JUDGED = ("cardio", "ionosphere", "letter", "pageblocks", "spambase", "waveform", "wilt")
# How far below the paper's AUC a method may be: about the spread over splits.
NEAR = {"bore": 0.015, "ssad": 0.04}
Runs = list[dict[str, Any]]


def reproduce_table1(settings: Settings) -> Section:
    """Count rows, columns and outliers of every set, beside the paper's numbers."""
    paper = {row["dataset"]: row for row in read_paper("paper_table1.csv")}
    infos = {info.name: info for info in datasets.catalogue()}
    rows = []
    for name in settings.datasets:
        points, codes = load_repetition(name, 0, settings.data)
        printed = paper.get(name, {"n": "", "d": "", "r": ""})
        rows.append(
            {
                "dataset": name,
                "n": len(points),
                "d": points.shape[1],
                "outliers": int(codes.sum()),
                "outlier_percent": round(float(100 * codes.mean()), 2),
                "samples": len(infos[name].versions),
                "paper_n": printed["n"],
                "paper_d": printed["d"],
                "paper_percent": printed["r"],
                "note": infos[name].note,
            }
        )
    write_csv(settings.folder / "table1.csv", rows)
    header = ["set", "n", "d", "outliers", "%", "samples", "paper: n", "d", "%"]
    table = Table(header, [[str(value) for value in list(row.values())[:-1]] for row in rows])
    notes = [Paragraph(f"{row['dataset']}: {row['note']}.") for row in rows if row["note"]]
    text = (
        "Rows, columns and outliers as found, and as printed in the paper's Table 1. Samples: how "
        "many draws of the set there are; results are means over them."
    )
    return Section("Table 1: data sets", [Paragraph(text), table, *notes])


def reproduce_table2(settings: Settings) -> Section:
    """Compare the paper's methods; unless quick, also on unseen rows and with other methods."""
    runs = compare(settings, PAPER)
    summary = Summary(runs)
    # The paper's figures are summarized like runs.
    paper = Summary(
        [
            row | {measure: float(row[measure]) / 100 for measure in PRINTED}
            for row in read_paper("paper_table2.csv")
            if row["dataset"] in summary.datasets
        ]
    )
    parts = [_all_sets(summary, paper)]
    parts += [_one_set(summary, paper, name) for name in summary.datasets]
    if not settings.quick:
        for part, more in _more_tables(settings, runs):
            parts.append(part)
            runs = runs + more
    _write(settings, summary, paper, runs)
    splits = "sample or split" if settings.count == 1 else "samples or splits"
    text = (
        f"Percent, mean ± standard deviation over {settings.count} {splits}; the paper's figure "
        "beside it, which seems to be of one split. Test rows (40 %) are unlabelled rows of the "
        "fit, as in the paper. Bold: the best of a column on its set. "
        "* looks at no label, or only at how many outliers there are; ° chosen in hindsight."
    )
    failures = [
        Paragraph(
            f"{run['dataset']}, {METHODS[run['method']].title}, {run['protocol']}, repetition "
            f"{run['repetition'] + 1} failed: {run['error']}"
        )
        for run in runs
        if "error" in run
    ]
    blocks = [Paragraph(text), *judge_reproduction(summary, paper), *failures]
    return Section("Table 2: seven methods", blocks, parts)


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
                Best(mean) if summary.ranking(measure)[:1] == [method] else mean,
                _percent(paper.overall(method, measure) if has_all else None),
                str(summary.wins(method, measure)),
                str(paper.wins(method, measure)),
            ]
        rows.append(row)
    caption = f"Mean over {len(summary.datasets)} sets, and on how many a method is best"
    return Section("All sets", [make_table(header, rows, caption)])


def _one_set(summary: Summary, paper: Summary, name: str) -> Section:
    rows = []
    for method in summary.methods:
        row = [_title(method)]
        for measure in PRINTED:
            printed = paper.cell(name, method, measure)
            row += [summary.show(name, method, measure), str(printed or "-")]
        rows.append(row)
    return Section(name, [make_table(["method", *BESIDE], rows)])


def _title(method: str) -> str:
    """Return the title of a method, with the paper's mark if it looks at no labels."""
    return METHODS[method].title + MARKS[METHODS[method].labels]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _more_tables(settings: Settings, runs: Runs) -> list[tuple[Section, Runs]]:
    """Return tables that the paper does not print, with their runs."""
    unseen = compare(settings, PAPER, "unseen")
    text = (
        "The same splits, but the test rows are not in the fit: what a detector does in use. "
        "Best OSF is here the score that ranks the training labels best."
    )
    tables = [(Section("Unseen rows", [Paragraph(text), _grid(unseen, "auc")]), unseen)]
    names = tuple(name for name in settings.datasets if name in FEATURE_BAGGING)
    if names:
        users = [name for name in PAPER if name not in ("ssad", "be")]
        bagged = compare(settings, users, names=names, feature_bagging=True)
        text = (
            "kNN and LOF in random subspaces: 25 for letter (k = 10, 50 columns) and 20 for higgs "
            "(k = 50, 40 columns), as the paper does for these two sets; it does not say for which "
            "of its tables, and gives no k. A subspace has at least half of the columns."
        )
        grids = [_grid(bagged, measure) for measure in PRINTED]
        for run in bagged:
            run["protocol"] += ", subspaces"
        tables.append((Section("Feature bagging", [Paragraph(text), *grids]), bagged))
    peers = [m for m in METHODS.values() if m.group == "today" and m.labels == "given"]
    today = compare(settings, [method.name for method in peers if method.is_installed])
    bore = [run for run in runs if run["method"] == "bore"]
    text = (
        "Methods of today with their default settings on the same splits and labels. They learn "
        "from raw columns (XGBOD adds scores of its own) and cannot use unlabelled rows. All "
        "labels of the training part are known here, as in the paper."
    )
    grids = [_grid([*bore, *today], measure) for measure in ("auc", "average_precision")]
    tables.append((Section("Competitors of today", [Paragraph(text), *grids]), today))
    return tables


def _grid(runs: Runs, measure: str) -> Table:
    """Return a table of one measure by set and method, with means and wins in the last rows."""
    summary = Summary(runs)
    means = ["mean", *(_percent(summary.overall(m, measure)) for m in summary.methods)]
    wins = ["wins", *(str(summary.wins(method, measure)) for method in summary.methods)]
    return table_by_set(summary, measure, MEASURES[measure], more_rows=[means, wins])


def _write(settings: Settings, summary: Summary, paper: Summary, runs: Runs) -> None:
    """Write the means, and all single runs."""
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
    kept = ("dataset", "method", "protocol", "repetition", *MEASURES)
    done = [{key: run[key] for key in kept} for run in runs if "error" not in run]
    write_csv(settings.folder / "table2_runs.csv", done)


def judge_reproduction(summary: Summary, paper: Summary) -> list[Paragraph | Table]:
    """Return the difference to the paper's AUC on the sets with enough test outliers."""
    names = [name for name in JUDGED if name in summary.datasets]
    blocks: list[Paragraph | Table] = []
    if names:
        verdicts = [_judge_method(summary, paper, method, names) for method in NEAR]
        caption = "AUC, ours minus the paper's, on the sets with enough outliers to tell"
        blocks.append(Table(["method", *names], [row for row, _ in verdicts], caption=caption))
        blocks += [Paragraph(text) for _, text in verdicts]
    rest = [name for name in summary.datasets if name not in names]
    blocks.append(_by_measure(summary, paper, {"these": names, "the others": rest}))
    order = summary.ranking("auc")
    if len(order) == len(PAPER):
        place = order.index("bore") + 1
        best = ", ".join(METHODS[name].title for name in order)
        text = f"By mean AUC over {len(summary.datasets)} sets BORE is number {place}: {best}."
        blocks.append(Paragraph(text))
    return blocks


def _judge_method(
    summary: Summary, paper: Summary, method: str, names: list[str]
) -> tuple[list[str], str]:
    """Return the differences to the paper's AUC, and on how many sets a method comes near it."""
    row = [METHODS[method].title]
    reasons = {}
    for name in names:
        areas = [run["auc"] for run in summary.runs(name, method)]
        printed = paper.runs(name, method)[0]["auc"]
        if not areas:
            row.append("-")
            reasons[name] = f"On {name} no run succeeded."
            continue
        row.append(f"{100 * (np.mean(areas) - printed):+.1f}")
        if np.mean(areas) < printed - NEAR[method]:
            where = "inside" if min(areas) <= printed <= max(areas) else "outside"
            reasons[name] = (
                f"On {name} single repetitions range from {100 * min(areas):.1f} to "
                f"{100 * max(areas):.1f}; the paper's {100 * printed:.1f} lies {where}."
            )
    text = (
        f"{row[0]} comes within {100 * NEAR[method]:.1f} points of the paper's AUC, or above it, "
        f"on {len(names) - len(reasons)} of {len(names)} of these sets"
    )
    if not reasons:
        return row, f"{text}."
    return row, f"{text}; not on {', '.join(reasons)}. {' '.join(reasons.values())}"


def _by_measure(summary: Summary, paper: Summary, groups: dict[str, list[str]]) -> Table:
    """Return BORE's mean of each measure over groups of sets, ours and the paper's."""
    rows = []
    for group, names in groups.items():
        known = [name for name in names if name in paper.datasets]
        if not known:
            continue
        row = [f"{group}: {', '.join(known)}"]
        for measure in PRINTED:
            for found in (summary, paper):
                means = found.means(known, "bore", measure)
                row.append(_percent(float(np.mean(means)) if means else None))
        rows.append(row)
    caption = (
        "Means over sets. On the others a test part has 3 to 10 outliers (higgs 100, but of our "
        "own draw), and single splits lie 10 and more points apart"
    )
    return Table(["BORE on", *BESIDE], rows, caption=caption)
