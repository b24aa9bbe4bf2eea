"""``boreod scorers`` and ``boreod datasets``: what is there to choose from."""

from pathlib import Path
from typing import Annotated

import typer

from boreod.cli import options
from boreod.cli.app import plain_errors, print_json, print_table


@plain_errors
def scorers(json: options.Json = False) -> None:
    """List the outlier scores: name, smallest k, what they read, formula, publication.

    Example: boreod scorers --json
    """
    from boreod.scores import DETECTORS, SCORES, IsolationTrees, Score

    known: list[type[Score] | type[IsolationTrees]] = [*SCORES.values(), *DETECTORS.values()]

    if json:
        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        rows = [{name: getattr(score, name) for name in fields} for score in known]
        print_json(rows)
        return
    lines = [
        [of.name, str(of.min_k or ""), of.reads, f"{of.title}: {of.formula}\n{of.citation}"]
        for of in known
    ]
    print_table(["name", "k from", "reads", "score"], lines)


@plain_errors
def datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write to a file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV, Parquet, Arrow or JSON lines.")
    ] = None,
    version: Annotated[int, typer.Option(help="Which sample of the set.")] = 1,
    data: options.DataFolder = None,
) -> None:
    """List the data sets, or write one to a table with the columns `id` and `outlier`.

    Rows are in an order drawn at random, so the first ones are a fair sample.

    Example: boreod datasets wdbc -o tumors.csv
    """
    from boreod.datasets import catalogue, load

    if name is None:
        header = ["name", "rows", "columns", "outliers", "samples", "kind"]
        facts = [
            (of.name, of.n, of.d, of.outliers, len(of.versions), of.group) for of in catalogue()
        ]
        print_table(header, [[str(fact) for fact in line] for line in facts])
        return
    import numpy as np

    from boreod.tables import write_batches
    from boreod.tables.arrow import pa

    if output is None:
        raise typer.BadParameter(f"say where to write {name}: -o {name}.csv")
    options.check_dataset(name)
    found = load(name, version, data)
    order = np.random.default_rng(0).permutation(len(found.y))
    columns = {
        "id": np.arange(1, len(order) + 1),
        **{key: found.X[order, place] for place, key in enumerate(found.feature_names)},
        "outlier": found.y[order],
    }
    write_batches(output, pa.table(columns).to_batches())
    typer.echo(f"{output}: {len(order)} rows, {int(found.y.sum())} of them outliers")
