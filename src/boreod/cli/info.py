"""``boreod info``."""

import typer

from boreod.cli.app import plain_errors
from boreod.cli.options import Json, ModelFile


@plain_errors
def info(model: ModelFile, json: Json = False) -> None:
    """Say what is in a model file: training, preparation, columns, costs, threshold.

    Example: boreod info fraud.boreod
    """
    from boreod.cli import facts as show
    from boreod.cli.screen import cell
    from boreod.table_model import TableModel, describe
    from boreod.text import show_bytes

    found = describe(TableModel.load(model))
    found = {"file": str(model), "bytes": model.stat().st_size, **found}
    if json:
        show.print_json(found)
        return
    versions = ", ".join(f"{cell(name)} {cell(of)}" for name, of in found["versions"].items())
    typer.echo(f"{model}: {show_bytes(found['bytes'])}, format {found['format']}, {versions}")
    show.print_training(found)
    if found["label"] is not None:
        ids = ", ".join(map(cell, found["ids"])) or "none"
        typer.echo(f"Label: {cell(found['label'])}. Ids: {ids}.")
    show.print_limits(found)
    show.print_columns(found)
    show.print_preparation(found)
