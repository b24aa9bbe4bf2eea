"""``boreod scorers``."""

import typer

from boreod.cli import options
from boreod.cli.app import plain_errors, print_table


@plain_errors
def scorers(json: options.Json = False) -> None:
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
    lines = [
        [of.name, str(of.min_k), of.reads, f"{of.title}: {of.formula}\n{of.citation}"]
        for of in SCORES.values()
    ]
    print_table(["name", "k from", "reads", "score"], lines)
