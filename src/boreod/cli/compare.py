"""``boreod compare``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from boreod.cli import options
from boreod.cli.app import cell, note, plain_errors, print_json, print_table
from boreod.cli.options import labels_of_model, reads_table
from boreod.text import count_of


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
    from boreod.table_model import compare_models, load_predictor

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
            [
                str(change.row),
                *(cell(change.ids.get(name)) for name in ids),
                change.label or "",
                f"{change.old:.4f}",
                f"{change.new:.4f}",
                "an alert" if change.is_alert else "no alert",
            ]
            for change in found.changes
        ]
        print_table(header, rows)
    if found.changed > len(found.changes):
        left = found.changed - len(found.changes)
        typer.echo(f"... and {left} more (--changes {found.changed} lists all)")
