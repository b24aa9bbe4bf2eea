"""``boreod info``, and facts about a model as people read them."""

from pathlib import Path
from typing import Any

import typer

from boreod.text import count_of
from boreod.tool.cli import options
from boreod.tool.cli.app import cell, fold_lines, plain_errors, print_json, print_table

MAX_COLUMNS = 40  # lines on a screen
FEW_COLUMNS = 20  # have a line each


@plain_errors
def info(model: options.ModelFile, json: options.Json = False) -> None:
    """Say what is in a model file: training, preparation, columns, costs, threshold.

    Example: boreod info fraud.boreod
    """
    from boreod.text import show_bytes
    from boreod.tool import load_predictor

    facts = describe_file(load_predictor(model), model)
    if json:
        print_json(facts)
        return
    versions = ", ".join(f"{cell(name)} {cell(of)}" for name, of in facts["versions"].items())
    typer.echo(f"{model}: {show_bytes(facts['bytes'])}, format {facts['format']}, {versions}")
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
    """Print what is done to each column of a table."""
    lines = [[cell(value) for value in row.values()] for row in summary]
    _print_folded(["column", "holds", "done", "outputs"], lines, err)


def _print_folded(header: list[str], lines: list[list[str]], err: bool = False) -> None:
    """Print a table with a line a column, or for many alike, and not more than a screen holds."""
    folded = fold_lines(lines) if len(lines) > FEW_COLUMNS else lines
    print_table(header, folded[:MAX_COLUMNS], err=err)
    if len(folded) > MAX_COLUMNS:
        typer.echo(f"... and {len(folded) - MAX_COLUMNS} more lines (--json lists all)", err=err)
    typer.echo(err=err)


def print_training(facts: dict[str, Any]) -> None:
    """Print what a model was trained on, and how good it is on rows that bags did not hold."""
    training = facts["training"]
    source = cell(facts["source"] or "a table")
    typer.echo(
        f"Trained on {source}: {count_of(training['rows'], 'row')}, "
        f"{count_of(training['outliers'], 'outlier')}, {count_of(training['inliers'], 'inlier')}, "
        f"{training['unlabelled']:,} unlabelled."
    )
    if training["table_rows"] > training["rows"]:
        typer.echo(
            f"They are all labelled outliers and a sample of the other rows of a table of "
            f"{training['table_rows']} rows."
        )
    typer.echo(_method(facts))
    for sentence in facts["assumptions"]:
        typer.echo(cell(sentence))
    if training["auc"] is None:
        typer.echo("Out of bag: too few labelled rows to judge.")
    else:
        counted = "rows, unlabelled ones as inliers" if training["assumed"] else "labelled rows"
        typer.echo(
            f"Out of bag: AUC {training['auc']:.4f}, average precision "
            f"{training['average_precision']:.4f}, on {training['judged']:,} {counted}."
        )


def _method(facts: dict[str, Any]) -> str:
    """Return the method with its heads and their weights."""
    heads = facts["heads"]
    shown = ", ".join(f"{cell(head['kind'])} {head['weight']:.0%}" for head in heads)
    trees = sum(head["trees"] for head in heads)
    text = f"Method: {cell(facts['method'])}; heads by weight: {shown}"
    return text + (f"; {trees} trees." if trees else ".")


def print_columns(facts: dict[str, Any]) -> None:
    """Print the columns in use with their costs."""
    from boreod.selection.budgets import show_cost

    unit, found = facts["unit"], facts["columns"]
    lines = [
        [
            cell(column["name"]),
            "" if column["cost"] is None else show_cost(column["cost"], unit),
            "" if column["stability"] is None else f"{column['stability']:.0%}",
        ]
        for column in found
    ]
    told = {"What each adds to the cost": "cost", "bags that want it": "bags"}
    there = [place for place in (1, 2) if any(line[place] for line in lines)]  # prices on request
    words = [list(told)[place - 1] for place in there]
    typer.echo(f"\nColumns in use: {len(found)}.{' ' * bool(words)}{'; '.join(words)}")
    header = ["column", *(told[word] for word in words)]
    _print_folded(header, [[line[0], *(line[place] for place in there)] for line in lines])


def print_limits(facts: dict[str, Any]) -> None:
    """Print budget, costs, threshold, and from where on rows are novel."""
    from boreod.selection.budgets import in_batches, show_cost, show_times

    if facts["budget"] is not None:
        spent, limit = show_cost(facts["cost"], facts["unit"]), _written(facts["budget"])
        limit += in_batches(facts["batch_size"])
        typer.echo(f"Budget: {count_of(len(facts['columns']), 'column')} for {spent} of {limit}.")
    if facts["price"] is not None:
        typer.echo(f"Time: {show_times(**facts['price'])}.")
    if facts["trees"] is not None:
        bought = ", ".join(f"{n} of {head!r}" for head, n in facts["trees"]["of_every_bag"].items())
        spent = show_cost(facts["trees"]["cost"], facts["unit"])
        typer.echo(f"Trees of every bag: {bought}, for {spent} of these.")
    if facts["prices"] is not None:
        typer.echo(
            f"Costs: {cell(facts['costs'])}; prices of {len(facts['prices']['own'])} columns are "
            "in the file (boreod info --json)."
        )
    if facts["cheapest_budget"] is not None:
        enough = _written(facts["cheapest_budget"])
        typer.echo(f"AUC is within 0.01 of the best from {enough} on (--budget).")
    rule = facts["threshold_rule"]
    origin = f" ({cell(rule)})" if isinstance(rule, str) else ""
    if isinstance(rule, str) and rule.startswith("alerts:"):
        number, _, rows = rule.removeprefix("alerts:").partition("/")
        where = f"in {rows} rows" if rows else "in a table like that of the training"
        what = "alert" if number == "1" else "alerts"
        origin = f" ({cell(rule)}: {cell(number)} {what} {cell(where)})"
    if rule is None and not facts["training"]["outliers"]:
        origin = " (one alert in a hundred rows)"
    typer.echo(
        f"Threshold: {facts['threshold']:.4g}{origin}; out of bag above it: "
        f"{count_of(facts['training_rows_above'], 'training row')}."
    )
    novelty = facts["novelty"]
    if novelty is not None:
        typer.echo(
            f"Novel: rows farther than {novelty['novel_beyond']:.3g} from their 10th training row; "
            f"99 % of the training rows are within {novelty['usual_distance']:.3g}."
        )
    else:
        typer.echo("Novel: unknown, as the model searches no neighbors; ranges are checked.")


def _written(budget: float | str) -> str:
    return cell(budget) if isinstance(budget, str) else f"{budget:.6g} units"
