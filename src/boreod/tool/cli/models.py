"""``boreod fit``, ``boreod info`` and ``boreod scorers``."""

import json as encoder
from collections import Counter
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from typer import Option

from boreod.text import count_of, show_bytes
from boreod.tool.cli import options
from boreod.tool.cli.app import cell, fold_lines, plain_errors, print_json, print_notes, print_table

# The largest number of lines of a printed table.
MAX_LINES = 40
NEAR_COPIES = (
    "With this method, new rows that almost equal a labelled outlier of the table (rounded, for "
    "example) may lose their alerts: they find it as a neighbor and do not look rare. Equal rows "
    "keep theirs, and --method detector keeps both."
)
# Longer cells, such as names of columns, are cut.
MAX_LETTERS = 100
# With at most this many columns, each column has its own line.
FEW_COLUMNS = 20


@plain_errors
@options.reads_table
def fit(
    table: options.Table,
    label: Annotated[
        str | None,
        Option(
            help="Column of labels; rows with an empty cell are unlabelled. Without this option, "
            "rows are ranked by a consensus of scores."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            readable=False,
            help="Model file; by default TABLE.boreod in this folder.",
        ),
    ] = None,
    outlier_label: options.OutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    method: Annotated[
        str, Option(help="Method to fit: detector, or bore (the method of the paper).")
    ] = "detector",
    ids: options.Ids = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    since: options.Since = None,
    budget: Annotated[
        str | None,
        Option(
            help="Largest cost of scoring one row: a time such as 200us, or a number such as 300 "
            "in the units of --costs. By default, the cost is unlimited."
        ),
    ] = None,
    batch: options.Batch = None,
    costs: Annotated[
        str | None,
        Option(
            help="Costs of columns: measured:shared (times, which later fits use again), "
            "complexity:shared or complexity:additive (units), or a JSON file of units such as "
            '{"lof": 50, "knn_5": 20, "amount": 3, "tree": 0.5}.'
        ),
    ] = None,
    curve: Annotated[
        bool,
        Option("--curve", help="Trace quality over budgets, for `boreod info` and the report."),
    ] = False,
    threshold: Annotated[
        str | None,
        Option(
            help="Threshold of alerts: a probability, fpr:0.01, precision:0.8, or alerts:20 (20 "
            "alerts in a table like this one, or per day with --rows-per-day). By default, "
            "precision and recall are balanced (the largest expected F1); without labels, there "
            "is one alert in a hundred rows."
        ),
    ] = None,
    rows_per_day: Annotated[
        float | None, Option(help="Number of rows per day; alerts:20 then means 20 alerts per day.")
    ] = None,
    prior: Annotated[
        float | None,
        Option(help="Share of outliers in future tables; by default their share in the labels."),
    ] = None,
    reference_size: Annotated[
        str,
        Option(
            help="auto learns from all rows, and searches neighbors in a large table among a "
            "sample of them; all searches among all rows; a number learns from so many rows: all "
            "outliers and a sample of the other rows."
        ),
    ] = "auto",
    neighbors: Annotated[str, Option(help="Neighbor search: auto, brute or tree.")] = "auto",
    narrowable: Annotated[
        bool | None,
        Option(
            help="Whether the file also holds what `boreod narrow` needs; by default if this takes "
            "less than a fifth of the file."
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: Annotated[int, Option(help="Number of threads; -1 for all cores.")] = -1,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from a table with a few labelled outliers, or without labels, and write a model file.

    Options that name columns may be repeated, or take several names separated by commas.

    Example: boreod fit payments.csv --label fraud --id id --budget 200us -o fraud.boreod
    """
    from boreod import ColumnSelection, Reference
    from boreod.tables.training import name_source
    from boreod.tables.writer import check_target
    from boreod.tool import fit_table

    if output is None:
        if table == "-":
            raise typer.BadParameter("A table from a pipe has no name: name the model file (-o).")
        output = Path(name_source(table).partition(".")[0] + ".boreod")
    check_target(output, [table])
    wanted = _read_threshold(threshold, rows_per_day)
    model = fit_table(
        table,
        label=label,
        outlier_label=outlier_label,
        method=method,
        ids=ids or (),
        drop=drop or (),
        keep=keep or None,
        curve=curve,
        labels=labels,
        reading={**reading, "since": since or (), "inlier_label": inlier_label},
        reference=Reference(size=_read_size(reference_size), neighbors=neighbors),
        budget=options.read_amount(budget),
        selection=ColumnSelection(costs=read_costs(costs), batch_size=batch),
        prior=prior,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
        # Without this option, each method has its own default.
        **({} if wanted is None else {"threshold": wanted}),
    )
    model.save(output, narrowable=narrowable)
    facts = describe_file(model, output)
    if json:
        print_json(facts)
    else:
        _print_fit(facts, table, quiet, "" if labels is None else f" --labels {quote(labels)}")


def _read_threshold(text: str | None, rows_per_day: float | None) -> Any:
    """Return a threshold in the form that detectors take; alerts per day become a rate."""
    if rows_per_day is None:
        return options.read_amount(text)
    if text is None or not text.startswith("alerts:") or "/" in text:
        raise typer.BadParameter(
            "--rows-per-day belongs to a number of alerts a day: --threshold alerts:20"
        )
    return f"{text}/{rows_per_day:g}"


def _read_size(text: str) -> Any:
    """Return a reference size in the form that detectors take."""
    if text.isdecimal():
        return int(text)
    if text not in ("auto", "all"):
        raise typer.BadParameter(
            f"--reference-size must be auto, all or a number of rows from 2 on; got {text!r}."
        )
    return None if text == "all" else text


def _print_fit(facts: dict[str, Any], table: str, quiet: bool, labels: str) -> None:
    """Print what the fit did, and commands to run next.

    ``labels`` is the option ``--labels`` of the report command, or an empty text.
    """
    from boreod.tables.reading.locations import BETWEEN

    if not quiet:
        print_notes(facts["notes"])
        if facts["method"] == "BORE":
            print_notes([NEAR_COPIES])
        print_preparation(facts["preparation"])
        print_training(facts)
        if facts["budget"] is not None:
            print_columns(facts)
        print_limits(facts)
    typer.echo(f"Model: {cell(facts['file'])} ({show_bytes(facts['bytes'])})")
    if not quiet:
        shown = cell(quote(facts["file"]))
        typer.echo(f"\nNext:\n  boreod score {shown} new.csv -o scored.csv\n  boreod info {shown}")
        if table != "-":
            named = cell(" ".join(map(quote, table.split(BETWEEN))))
            typer.echo(f"  boreod report {shown} {named}{labels} -o report.html")


def read_costs(text: str | None) -> Any:
    """Return costs in the form that detectors take: a keyword, or the prices in a JSON file."""
    from boreod.selection.budgets import SPELLINGS
    from boreod.selection.costs import check_price
    from boreod.text import shorten

    if text is None or text in SPELLINGS:
        return text
    path = Path(text)
    if path.suffix.lower() != ".json" and not path.is_file():
        raise ValueError(
            f"--costs must be one of {', '.join(SPELLINGS)}, or a JSON file of prices (.json); "
            f"got {text!r}."
        )
    if not path.is_file():
        raise ValueError(f"There is no file {text!r} of prices (--costs).")
    try:
        prices = encoder.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_distinct)
        if not isinstance(prices, dict) or not prices:
            raise ValueError(f"got {shorten(prices)}")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f'{text!r} must hold a JSON object of prices such as {{"lof": 50, "knn_5": 20, '
            f'"amount": 3, "tree": 0.5}}; {error}.'
        ) from None
    for name, price in prices.items():
        check_price(name, price)
    return prices


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{name!r} is there twice")
    return dict(pairs)


@plain_errors
def info(model: options.ModelFile, json: options.Json = False) -> None:
    """Show what is in a model file: training, preparation, columns, costs and threshold.

    Example: boreod info fraud.boreod
    """
    from boreod.tool import load_predictor

    facts = describe_file(load_predictor(model), model)
    if json:
        print_json(facts)
        return
    versions = ", ".join(f"{cell(name)} {cell(of)}" for name, of in facts["versions"].items())
    typer.echo(f"{cell(model)}: {show_bytes(facts['bytes'])}, format {facts['format']}, {versions}")
    print_training(facts)
    if facts["label"] is not None:
        ids = ", ".join(map(cell, facts["ids"])) or "none"
        typer.echo(f"Label: {cell(facts['label'])}. Ids: {ids}.")
    print_limits(facts)
    print_columns(facts)
    print_preparation(facts["preparation"])


def describe_file(model: Any, path: Path) -> dict[str, Any]:
    """Return facts about a model and its file."""
    from boreod.tool import describe

    return {"file": str(path), "bytes": path.stat().st_size, **describe(model)}


def print_preparation(summary: list[dict[str, Any]], *, err: bool = False) -> None:
    """Print, for each column of a table, what the model does to it."""
    lines = [[cell(value) for value in row.values()] for row in summary]
    _print_folded(["column", "holds", "done", "outputs"], lines, err)


def _print_folded(header: list[str], lines: list[list[str]], err: bool = False) -> None:
    """Print at most ``MAX_LINES`` lines; a line may stand for several columns that are alike."""
    lines = [
        [text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}..." for text in line]
        for line in lines
    ]
    folded = fold_lines(lines) if len(lines) > FEW_COLUMNS else lines
    print_table(header, folded[:MAX_LINES], err=err)
    if len(folded) > MAX_LINES:
        typer.echo(f"... and {len(folded) - MAX_LINES} more lines (--json lists all)", err=err)
    typer.echo(err=err)


def print_training(facts: dict[str, Any]) -> None:
    """Print the training rows of a model, its heads, and its out-of-bag quality."""
    training = facts["training"]
    typer.echo(
        f"Trained on {cell(facts['source'] or 'a table')}: {count_of(training['rows'], 'row')}, "
        f"{count_of(training['outliers'], 'outlier')}, {count_of(training['inliers'], 'inlier')}, "
        f"{training['unlabelled']:,} unlabelled."
    )
    if training["table_rows"] > training["rows"]:
        typer.echo(
            f"These rows are a sample of a table of {training['table_rows']} rows. The sample "
            "has all labelled outliers of the table."
        )
    shown = ", ".join(f"{cell(head['kind'])} {head['weight']:.0%}" for head in facts["heads"])
    trees = sum(head["trees"] for head in facts["heads"])
    counted = f"; {trees} trees" if trees else ""
    typer.echo(f"Method: {cell(facts['method'])}; heads by weight: {shown}{counted}.")
    for sentence in facts["assumptions"]:
        typer.echo(cell(sentence))
    if training["auc"] is None:
        typer.echo("Out of bag: too few labelled rows to compute the AUC.")
    else:
        counted = "rows, unlabelled rows as inliers" if training["assumed"] else "labelled rows"
        typer.echo(
            f"Out of bag: AUC {training['auc']:.4f}, average precision "
            f"{training['average_precision']:.4f}, on {training['judged']:,} {counted}."
        )


def print_columns(facts: dict[str, Any]) -> None:
    """Print the columns in use, with their costs and stability if these are known."""
    from boreod.selection.budgets import show_cost

    found = facts["columns"]
    unit = facts["unit"]
    costs = ["" if line["cost"] is None else show_cost(line["cost"], unit) for line in found]
    bags = ["" if line["stability"] is None else f"{line['stability']:.0%}" for line in found]
    columns = {"column": [cell(line["name"]) for line in found]}
    words = []
    if any(costs):
        columns["cost"] = costs
        words.append("The cost is what a column adds to the cost of the other columns.")
    if any(bags):
        columns["bags"] = bags
        words.append("Under 'bags' is the share of bags that chose the column.")
    typer.echo(f"\nColumns in use: {len(found)}. {' '.join(words)}".rstrip())
    _print_folded(list(columns), [list(line) for line in zip(*columns.values(), strict=True)])


def print_limits(facts: dict[str, Any]) -> None:
    """Print budget, costs, threshold, and the distance from which rows are novel."""
    from boreod.selection.budgets import in_batches, show_cost, show_times

    if facts["budget"] is not None:
        spent = show_cost(facts["cost"], facts["unit"])
        limit = _budget_text(facts["budget"]) + in_batches(facts["batch_size"])
        typer.echo(f"Budget: the model spends {spent} of {limit}.")
    if facts["price"] is not None:
        typer.echo(f"Time: scoring takes {show_times(**facts['price'])}.")
    if facts["trees"] is not None:
        bought = ", ".join(f"{n} of head {h!r}" for h, n in facts["trees"]["of_every_bag"].items())
        spent = show_cost(facts["trees"]["cost"], facts["unit"])
        typer.echo(f"Trees: each bag has {bought}. The trees take {spent} of the budget.")
    if facts["prices"] is not None:
        typer.echo(
            f"Costs: {cell(facts['costs'])}; prices of {len(facts['prices']['own'])} columns are "
            "in the file (boreod info --json)."
        )
    if facts["cheapest_budget"] is not None:
        enough = _budget_text(facts["cheapest_budget"])
        typer.echo(f"From a --budget of {enough} on, the AUC is within 0.01 of the best.")
    typer.echo(
        f"Threshold: {facts['threshold']:.4g}{_threshold_origin(facts)}. The out-of-bag "
        f"probability of {count_of(facts['training_rows_above'], 'training row')} is above "
        f"it{_expected_alerts(facts)}."
    )
    novelty = facts["novelty"]
    if novelty is not None:
        typer.echo(
            "Novelty: a row is novel if its 10th nearest training row is farther away than "
            f"{novelty['novel_beyond']:.3g}. For 99 % of the training rows that are not labelled "
            f"outliers, this distance is at most {novelty['usual_distance']:.3g}."
        )
    else:
        typer.echo("Novelty: unknown, as no neighbors are searched; values out of range are found.")


def _expected_alerts(facts: dict[str, Any]) -> str:
    """Return how many alerts the threshold means, and how many of them are outliers."""
    expected = facts["expected"]
    text = f", or about {expected['alerts']:,.0f} alerts in 10,000 such rows"
    if expected["outliers"] is not None:
        least = "at least " if facts["training"]["assumed"] else ""
        text += f", of which {least}about {expected['outliers']:,.0f} are outliers"
    return text


def _threshold_origin(facts: dict[str, Any]) -> str:
    """Return the origin of a threshold in parentheses, or an empty text for a plain number."""
    rule = facts["threshold_rule"]
    if rule is None:
        has_labels = facts["training"]["outliers"]
        return " (the largest expected F1)" if has_labels else " (one alert in a hundred rows)"
    if not isinstance(rule, str):
        return ""
    if not rule.startswith("alerts:"):
        return f" ({cell(rule)})"
    number, _, rows = rule.removeprefix("alerts:").partition("/")
    where = f"in {rows} rows" if rows else "in a table like the training table"
    what = "alert" if number == "1" else "alerts"
    return f" ({cell(rule)}: {cell(number)} {what} {cell(where)})"


def _budget_text(budget: float | str) -> str:
    return cell(budget) if isinstance(budget, str) else f"{budget:.6g} units"


@plain_errors
def scorers(json: options.Json = False) -> None:
    """List the outlier scores: name, smallest k, what the score reads, formula, publication.

    Example: boreod scorers --json
    """
    from boreod.scores import DETECTORS, SCORES, IsolationTrees, Score

    known: list[type[Score] | type[IsolationTrees]] = [*SCORES.values(), *DETECTORS.values()]
    if json:
        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        print_json([{name: getattr(score, name) for name in fields} for score in known])
        return
    lines = []
    for score in known:
        text = f"{score.title}: {score.formula}\n{score.citation}"
        lines.append([score.name, str(score.min_k or ""), score.reads, text])
    print_table(["name", "smallest k", "reads", "score"], lines)
