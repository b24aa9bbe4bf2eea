"""Table 2: seven methods on twelve sets, ours beside the paper's."""

from typing import Any

from boreod.documents import Block, Paragraph, Section, Table
from boreod.evaluation import MEASURES, METHODS, PAPER, TODAY, Summary
from boreod.reproduce.setup import (
    FEATURE_BAGGING,
    Settings,
    compare,
    read_paper,
    write_csv,
)
from boreod.reproduce.verdict import PRINTED, Figures, judge_reproduction

MARKS = {"none": "*", "number": "*", "hindsight": "*°", "given": ""}


def reproduce_table2(settings: Settings) -> Section:
    """Compare the paper's methods; unless quick, also on unseen rows and with others."""
    runs = compare(settings, PAPER)
    paper = _paper_figures()
    summary = Summary(runs)
    parts = [_means(summary, paper), *(_one_set(summary, paper, n) for n in summary.datasets)]
    if not settings.quick:
        extra = _more_tables(settings, runs)
        parts += [part for part, _ in extra]
        runs = runs + [run for _, more in extra for run in more]
    _write(settings, summary, paper, runs)
    splits = "sample or split" if settings.count == 1 else "samples or splits"
    text = (
        f"Percent, mean ± standard deviation over {settings.count} {splits}; the paper's figure "
        "beside it, which seems to be of one split. Test rows (40 %) are unlabelled rows of the "
        "fit, as in the paper. Bold: the best of a column on its set. "
        "* looks at no label, or only at how many outliers there are; ° chosen in hindsight."
    )
    blocks = [Paragraph(text), *judge_reproduction(summary, paper), *_failures(runs)]
    return Section("Table 2: seven methods", blocks, parts)


def title(method: str) -> str:
    """Return what readers see, with the paper's mark for methods that look at no labels."""
    return METHODS[method].title + MARKS[METHODS[method].labels]


def _paper_figures() -> Figures:
    """Return the paper's numbers by data set, method and measure."""
    return {
        (row["dataset"], row["method"], measure): float(row[measure]) / 100
        for row in read_paper("paper_table2.csv")
        for measure in PRINTED
    }


def _means(summary: Summary, paper: Figures) -> Section:
    """Return each method's mean over sets and number of wins."""
    header = ["method"]
    for measure in PRINTED:
        header += [MEASURES[measure], "paper", "wins", "paper"]
    rows, bold = [], set()
    for number, method in enumerate(summary.methods):
        row = [title(method)]
        for measure in PRINTED:
            if summary.ranking(measure)[:1] == [method]:
                bold.add((number, len(row)))
            own = summary.overall(method, measure)
            theirs = _paper_mean(summary.datasets, method, measure, paper)
            row += ["-" if own is None else f"{100 * own:.1f}", theirs]
            row += [str(summary.wins(method, measure))]
            row += [_paper_wins(summary, method, measure, paper)]
        rows.append(row)
    caption = f"Mean over {len(summary.datasets)} sets, and on how many a method is best"
    return Section("All sets", [Table(header, rows, frozenset(bold), caption)])


def _paper_mean(names: list[str], method: str, measure: str, paper: Figures) -> str:
    values = [paper[name, method, measure] for name in names if (name, method, measure) in paper]
    return f"{100 * sum(values) / len(values):.1f}" if len(values) == len(names) else "-"


def _paper_wins(summary: Summary, method: str, measure: str, paper: Figures) -> str:
    """Return on how many of the sets the paper's figure is its best."""
    known = [name for name in summary.datasets if (name, method, measure) in paper]
    tops = {name: max(paper[name, other, measure] for other in PAPER) for name in known}
    return str(sum(paper[name, method, measure] == tops[name] for name in known))


def _one_set(summary: Summary, paper: Figures, name: str) -> Section:
    header = ["method"]
    for measure in PRINTED:
        header += [MEASURES[measure], "paper"]
    rows, bold = [], set()
    for number, method in enumerate(summary.methods):
        row = [title(method)]
        for measure in PRINTED:
            if method in summary.best(name, measure):
                bold.add((number, len(row)))
            theirs = paper.get((name, method, measure))
            row += [str(summary.cell(name, method, measure) or "-")]
            row += ["-" if theirs is None else f"{100 * theirs:.1f}"]
        rows.append(row)
    return Section(name, [Table(header, rows, frozenset(bold))])


def _more_tables(
    settings: Settings, runs: list[dict[str, Any]]
) -> list[tuple[Section, list[dict[str, Any]]]]:
    """Return what the paper does not print: unseen rows, subspaces, competitors of today."""
    tables = []
    unseen = compare(settings, PAPER, "unseen")
    text = (
        "The same splits, but the test rows are not in the fit: what a detector does in use. "
        "Best OSF is here the score that ranks the training labels best."
    )
    tables.append((Section("Unseen rows", [Paragraph(text), _grid(unseen, "auc")]), unseen))
    names = tuple(name for name in settings.datasets if name in FEATURE_BAGGING)
    if names:
        users = [name for name in PAPER if METHODS[name].scores]
        bagged = compare(settings, users, names=names, feature_bagging=True)
        text = (
            "kNN and LOF in random subspaces: 25 for letter (k = 10, 50 columns) and 20 for higgs "
            "(k = 50, 40 columns), as the paper does for these two sets; it does not say for which "
            "of its tables, and gives no k. A subspace has at least half of the columns."
        )
        parts: list[Block] = [Paragraph(text), *(_grid(bagged, m) for m in PRINTED)]
        for run in bagged:
            run["protocol"] += ", subspaces"
        tables.append((Section("Feature bagging", parts), bagged))
    names_today = [name for name in TODAY if METHODS[name].is_installed]
    today = compare(settings, names_today)
    bore = [run for run in runs if run["method"] == "bore"]
    text = (
        "Methods of today with their default settings on the same splits and labels. They learn "
        "from raw columns (XGBOD adds scores of its own) and cannot use unlabelled rows. All "
        "labels of the training part are known here, as in the paper."
    )
    grids = [_grid([*bore, *today], measure) for measure in ("auc", "average_precision")]
    tables.append((Section("Competitors of today", [Paragraph(text), *grids]), today))
    return tables


def _grid(runs: list[dict[str, Any]], measure: str) -> Table:
    """Return sets by methods for one measure, with means over sets and wins below."""
    summary = Summary(runs)
    rows, bold = [], set()
    for number, name in enumerate(summary.datasets):
        cells = [str(summary.cell(name, method, measure) or "-") for method in summary.methods]
        best = summary.best(name, measure)
        bold |= {(number, place) for place, m in enumerate(summary.methods, 1) if m in best}
        rows.append([name, *cells])
    overall = [summary.overall(method, measure) for method in summary.methods]
    rows.append(["mean", *("-" if value is None else f"{100 * value:.1f}" for value in overall)])
    rows.append(["wins", *(str(summary.wins(method, measure)) for method in summary.methods)])
    header = ["set", *(METHODS[method].title for method in summary.methods)]
    return Table(header, rows, frozenset(bold), MEASURES[measure])


def _failures(runs: list[dict[str, Any]]) -> list[Paragraph]:
    """Say which runs failed and why."""
    return [
        Paragraph(
            f"{run['dataset']}, {METHODS[run['method']].title}, {run['protocol']}, repetition "
            f"{run['repetition'] + 1} failed: {run['error']}"
        )
        for run in runs
        if "error" in run
    ]


def _write(
    settings: Settings, summary: Summary, paper: Figures, runs: list[dict[str, Any]]
) -> None:
    """Write the means and all single runs."""
    rows = [
        {
            "dataset": name,
            "method": method,
            "measure": measure,
            "mean": round(cell.mean, 6),
            "sd": round(cell.sd, 6),
            "repetitions": cell.count,
            "paper": paper.get((name, method, measure), ""),
            "best": int(method in summary.best(name, measure)),
        }
        for name in summary.datasets
        for method in summary.methods
        for measure in PRINTED
        if (cell := summary.cell(name, method, measure)) is not None
    ]
    write_csv(settings.folder / "table2.csv", rows)
    kept = ("dataset", "method", "protocol", "repetition", *MEASURES)
    done = [
        {key: round(run[key], 6) if key in MEASURES else run[key] for key in kept}
        for run in runs
        if "error" not in run
    ]
    write_csv(settings.folder / "table2_runs.csv", done)
