"""``boreod check`` and ``boreod compare``: before a new table or a new model is used."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.text import count_of
from boreod.tool.cli import options
from boreod.tool.cli.app import cell, note, plain_errors, print_json, print_table
from boreod.tool.cli.options import labels_of_model, reads_table

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
    from boreod.tool import Limits, check_table, load_predictor

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


@plain_errors
@reads_table
def compare(
    old: Annotated[Path, typer.Argument(help="A model file.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="Another one.", metavar="NEW")],
    table: options.Table,
    label: Annotated[
        str | None, typer.Option(help="Column of labels, if not that of the new model's fit.")
    ] = None,
    outlier_label: options.OtherOutlierLabel = None,
    inlier_label: options.InlierLabel = None,
    labels: options.Labels = None,
    alerts: Annotated[
        int | None,
        typer.Option(min=1, help="So many rows are alerts of each; else by their thresholds."),
    ] = None,
    changes: Annotated[
        int, typer.Option(min=0, help="So many rows with another decision are listed.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the intervals.")] = 0,
    no_novelty: options.NoNovelty = False,
    jobs: options.Jobs = None,
    *,
    reading: dict[str, Any],
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare two models on a labelled table: which is better, and what is decided otherwise.

    Differences have paired 95 % intervals: both models are judged on the same resamples of rows.
    Rows that a model has learned from are judged by its out-of-bag scores, and told.

    Example: boreod compare old.boreod new.boreod labelled.csv
    """
    from boreod.tool import compare_models, load_predictor

    first, second = load_predictor(old, jobs), load_predictor(new, jobs)
    found = compare_models(
        first,
        second,
        table,
        label=label,
        outlier_label=outlier_label,
        alerts=alerts,
        most=changes,
        novelty=not no_novelty,
        seed=seed,
        reading=reading | labels_of_model(second, label, labels, outlier_label, inlier_label),
        verbose=not quiet,
    )
    if json:
        print_json(found.to_dict())
        return
    for remark in () if quiet else found.notes:
        note(remark)
    _print(found, str(old), str(new), second.ids_)


def _print(found: Any, old: str, new: str, ids: tuple[str, ...]) -> None:
    """Print measures, alerts, and rows with another decision."""
    typer.echo(
        f"{count_of(found.rows, 'row')}; {count_of(found.outliers, 'outlier')} and "
        f"{count_of(found.inliers, 'inlier')} judge the models"
    )
    lines = [
        [name, f"{of.second:.4f}", f"{of.first:.4f}",
         f"{of.first - of.second:+.4f} ({of.low:+.4f} to {of.high:+.4f})"]
        for name, of in found.measures.items()
    ]  # fmt: skip
    lines.append(["alerts", *map(str, found.alerts), f"{found.alerts[1] - found.alerts[0]:+d}"])
    if found.measures:
        caught = [f"{number} of {found.outliers}" for number in found.caught]
        lines.append(["outliers caught", *caught, f"{found.caught[1] - found.caught[0]:+d}"])
    print_table(["", cell(old), cell(new), "new - old (95 % interval)"], lines)
    if found.verdict is not None:
        typer.echo(found.verdict)
    typer.echo(f"\nAlerts of one model only: {count_of(found.changed, 'row')}.")
    if found.changes:
        header = ["row", *map(cell, ids), "label", "old", "new", "is now"]
        rows = [
            [str(of.row), *(cell(of.ids.get(name)) for name in ids), of.label or "",
             f"{of.old:.4f}", f"{of.new:.4f}", "an alert" if of.is_alert else "no alert"]
            for of in found.changes
        ]  # fmt: skip
        print_table(header, rows)
    if found.changed > len(found.changes):
        left = found.changed - len(found.changes)
        typer.echo(f"... and {left} more (--changes {found.changed} lists all)")
