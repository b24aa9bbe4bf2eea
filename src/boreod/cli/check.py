"""``boreod check``."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from boreod.cli import options
from boreod.cli.app import cell, plain_errors, print_json
from boreod.cli.options import reads_table
from boreod.text import count_of

FOUND = 3  # exit code


@plain_errors
@reads_table
def check(
    model: options.ModelFile,
    table: options.Table,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Share of missing values, above that of training.")
    ] = 0.05,
    max_unseen: Annotated[
        float, typer.Option(min=0, max=1, help="Share of rows with words that training had not.")
    ] = 0.01,
    max_outside: Annotated[
        float, typer.Option(min=0, max=1, help="Share of rows outside the range of a column.")
    ] = 0.02,
    max_shift: Annotated[
        float,
        typer.Option(min=0, max=1, help="Distance of distributions: largest difference of shares."),
    ] = 0.25,
    max_alerts: Annotated[
        float, typer.Option(min=1, help="Times as many, or as few, alerts as in training.")
    ] = 3.0,
    max_novel: Annotated[
        float, typer.Option(min=0, max=1, help="Share of rows unlike all training rows.")
    ] = 0.01,
    threshold: Annotated[
        str | None, typer.Option(help="As in `boreod fit`; that of the model if not given.")
    ] = None,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say whether a new table is like the training table, one line for each difference.

    Columns that are gone, renamed or new; missing values, new words, ranges, units, distributions;
    how many rows are alerts or novel. `boreod score` notes the same. A difference counts if it is
    above its limit and above chance. The exit code is 0 if there is none, 3 if there is one, and 1
    if the table cannot be read.

    Example: boreod check fraud.boreod new.csv
    """
    from boreod.table_model import Limits, check_table, load_predictor

    limits = Limits(max_missing, max_unseen, max_outside, max_shift, max_alerts, max_novel)
    found = check_table(
        load_predictor(model, jobs),
        table,
        limits=limits,
        threshold=options.read_amount(threshold),
        novelty=not no_novelty,
        reading=reading,
        verbose=not quiet,
    )
    alarms = sum(finding.is_alarm for finding in found.findings)
    if json:
        findings = [finding._asdict() for finding in found.findings]
        facts: dict[str, Any] = {**asdict(found), "findings": findings, "limits": asdict(limits)}
        print_json(facts)
    else:
        for finding in found.findings:
            typer.echo(f"{'' if finding.is_alarm else '(note) '}{cell(finding.text)}")
        if not alarms and not quiet:
            verb = "is" if found.rows == 1 else "are"
            like = f"{count_of(found.rows, 'row')} {verb} like the training rows."
            typer.echo(like if found.rows else "The table has no rows to compare with training.")
    if alarms:
        raise typer.Exit(FOUND)
