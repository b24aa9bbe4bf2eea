"""``boreod scorers``."""

from typing import Annotated

import typer


def scorers(
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the outlier scores: name, smallest k, what they read, formula, publication.

    Example: boreod scorers --json
    """
    from boreod.scores import SCORES

    if json:
        import json as encoder

        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        rows = [{name: getattr(score, name) for name in fields} for score in SCORES.values()]
        typer.echo(encoder.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "k from", "reads", "score", box=None, pad_edge=False)
    for score in SCORES.values():
        text = f"{score.title}: {score.formula}\n[dim]{score.citation}[/dim]"
        table.add_row(score.name, str(score.min_k), score.reads, text)
    Console().print(table)
