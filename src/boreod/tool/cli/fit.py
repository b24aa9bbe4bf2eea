"""``boreod fit``."""

import json as encoder
from collections import Counter
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from boreod.tool.cli import options
from boreod.tool.cli.app import plain_errors, print_json, print_notes
from boreod.tool.cli.info import (
    describe_file,
    print_columns,
    print_limits,
    print_preparation,
    print_training,
)
from boreod.tool.cli.options import read_amount, reads_table


@plain_errors
@reads_table
def fit(
    table: options.Table,
    label: options.MaybeLabel = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write; by default TABLE.boreod here."),
    ] = None,
    outlier_label: options.OutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    method: options.Method = "detector",
    ids: options.Ids = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    since: options.Since = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Largest cost of scoring one row: a time such as 200us, or units of --costs such "
            "as 300; unlimited by default."
        ),
    ] = None,
    batch: options.Batch = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Costs of columns: measured:shared (times, remembered from earlier fits), "
            "complexity:shared, complexity:additive (units), or a JSON file such as "
            '{"lof": 50, "knn_5": 20, "amount": 3, "tree": 0.5} (units).'
        ),
    ] = None,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="Trace quality over budgets; `boreod info` and the report show it."
        ),
    ] = False,
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Threshold of alerts: a probability, fpr:0.01, precision:0.8, or alerts:20 (in a "
            "table like this one, or a day with --rows-per-day). By default 0.5, and without "
            "labels one alert in a hundred rows."
        ),
    ] = None,
    rows_per_day: Annotated[
        float | None,
        typer.Option(help="Number of rows a day; makes --threshold alerts:20 a daily rate."),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Share of outliers in future tables; by default that of the labels."),
    ] = None,
    reference_size: Annotated[
        int | None,
        typer.Option(
            min=2, help="Number of rows to learn from: all outliers and a sample of the others."
        ),
    ] = None,
    neighbors: Annotated[str, typer.Option(help="Neighbor search: auto, brute or tree.")] = "auto",
    seed: options.Seed = 0,
    jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all cores.")] = -1,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from a table with a few labelled outliers, or none yet, and write one model file.

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
        reference=Reference(size=reference_size, neighbors=neighbors),
        budget=read_amount(budget),
        selection=ColumnSelection(costs=_read_costs(costs), batch_size=batch),
        threshold=_read_threshold(threshold, rows_per_day),
        prior=prior,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    model.save(output)
    facts = describe_file(model, output)
    if json:
        print_json(facts)
    else:
        _print_fit(facts, table, quiet, "" if labels is None else f" --labels {quote(labels)}")


def _read_threshold(text: str | None, rows_per_day: float | None) -> Any:
    """Return a threshold as detectors take it; alerts a day are a rate."""
    if rows_per_day is None:
        return read_amount(text)
    if text is None or not text.startswith("alerts:") or "/" in text:
        raise typer.BadParameter(
            "--rows-per-day belongs to a number of alerts a day: --threshold alerts:20"
        )
    return f"{text}/{rows_per_day:g}"


def _print_fit(facts: dict[str, Any], table: str, quiet: bool, labels: str) -> None:
    """Print what was done, and what to type next; ``labels`` is the option for a second table."""
    from boreod.text import show_bytes

    if not quiet:
        print_notes(facts["notes"])
        print_preparation(facts["preparation"])
        print_training(facts)
        if facts["budget"] is not None:
            print_columns(facts)
        print_limits(facts)
    typer.echo(f"Model: {facts['file']} ({show_bytes(facts['bytes'])})")
    if not quiet:
        shown = quote(facts["file"])
        typer.echo(f"\nNext:\n  boreod score {shown} new.csv -o scored.csv\n  boreod info {shown}")
        if table != "-":
            named = " ".join(map(quote, table.splitlines()))
            typer.echo(f"  boreod report {shown} {named}{labels} -o report.html")


def _read_costs(text: str | None) -> Any:
    """Return costs as detectors take them: a keyword, or the prices in a JSON file."""
    from boreod.selection.budgets import SPELLINGS
    from boreod.selection.costs import check_price
    from boreod.text import shorten

    if text is None or text in SPELLINGS:
        return text
    path = Path(text)
    if path.suffix.lower() != ".json" and not path.is_file():
        raise ValueError(
            f"--costs must be one of {', '.join(SPELLINGS)}, or a file of prices (.json); "
            f"got {text!r}."
        )
    if not path.is_file():
        raise ValueError(f"There is no file {text!r} of prices (--costs).")
    try:
        prices = encoder.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_distinct)
        if not isinstance(prices, dict) or not prices:
            raise ValueError(f"got {shorten(prices)}")
    except (ValueError, RecursionError) as error:
        wanted = (
            'a JSON object of prices such as {"lof": 50, "knn_5": 20, "amount": 3, "tree": 0.5}'
        )
        raise ValueError(f"{text!r} must hold {wanted}; {error}.") from None
    for name, price in prices.items():
        check_price(name, price)
    return prices


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{name!r} is there twice")
    return dict(pairs)
