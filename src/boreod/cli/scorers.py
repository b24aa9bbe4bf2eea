"""``boreod scorers``."""

from typing import Annotated

import typer


def scorers(
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List the outlier scores: name, smallest k, what they read, formula, publication.

    Example: boreod scorers --json
    """
    from boreod.scorers import SCORERS

    if json:
        import json as encoder

        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        rows = [{name: getattr(scorer, name) for name in fields} for scorer in SCORERS.values()]
        typer.echo(encoder.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "k from", "reads", "score", box=None, pad_edge=False)
    for scorer in SCORERS.values():
        text = f"{scorer.title}: {scorer.formula}\n[dim]{scorer.citation}[/dim]"
        table.add_row(scorer.name, str(scorer.min_k), scorer.reads, text)
    Console().print(table)
