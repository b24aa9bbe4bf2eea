"""``boreod datasets``."""

from pathlib import Path
from typing import Annotated

import typer

from boreod.cli.app import plain_errors
from boreod.cli.options import check_dataset


@plain_errors
def datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write to a file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV, Parquet, Arrow or JSON lines.")
    ] = None,
    version: Annotated[int, typer.Option(help="Which sample of the set.")] = 1,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of .npz files; else BOREOD_DATA, the cache, the network."),
    ] = None,
) -> None:
    """List the data sets, or write one to a table with the columns `id` and `outlier`.

    Rows are in an order drawn at random, so the first ones are a fair sample.

    Example: boreod datasets wdbc -o tumors.csv
    """
    if name is None:
        _show_catalogue()
        return
    import numpy as np

    from boreod.datasets import load
    from boreod.tables import write_batches
    from boreod.tables.arrow import pa

    check_dataset(name)
    if output is None:
        raise typer.BadParameter(f"say where to write {name}: -o {name}.csv")
    found = load(name, version, data)
    order = np.random.default_rng(0).permutation(len(found.y))
    columns = {
        "id": np.arange(1, len(order) + 1),
        **{key: found.X[order, place] for place, key in enumerate(found.feature_names)},
        "outlier": found.y[order],
    }
    write_batches(output, pa.table(columns).to_batches())
    typer.echo(f"{output}: {len(order)} rows, {int(found.y.sum())} of them outliers")


def _show_catalogue() -> None:
    from rich.console import Console
    from rich.table import Table

    from boreod.datasets import catalogue

    table = Table("name", "rows", "columns", "outliers", "samples", "kind", box=None)
    for info in catalogue():
        numbers = (info.n, info.d, info.outliers, len(info.versions))
        table.add_row(info.name, *map(str, numbers), info.group)
    Console().print(table)
