"""``boreod compile``: compile every kernel that a model needs, before it is first called."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from boreod.tool.cli import options
from boreod.tool.cli.app import plain_errors, print_json


@plain_errors
def compile(  # noqa: A001
    model: Annotated[
        Path | None, typer.Argument(exists=True, help="Compile only what this model file needs.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compile the kernels that fitting and scoring need, and show where they are kept.

    The first call on a machine, or in a container, then takes no longer than later ones. See
    docs/images.md.

    Example: boreod compile fraud.boreod
    """
    from boreod.compiled import count_kernels

    started = time.process_time()
    if model is None:
        _do_everything_once()
    else:
        _use(model)
    made, read, folders = count_kernels()
    seconds = time.process_time() - started
    if json:
        print_json({"compiled": made, "read": read, "seconds": seconds, "folders": folders})
        return
    typer.echo(f"Compiled {made} kernels in {seconds:.1f} CPU seconds; {read} were there already.")
    if folders:
        typer.echo(f"They are in {os.path.commonpath(folders)}")


def _use(path: Path) -> None:
    """Score and explain one row and some rows with a model."""
    import numpy as np

    from boreod.persistence import load_predictor
    from boreod.predictor import assess

    predictor = load_predictor(path, n_jobs=1)
    for n_rows in (1, 8):
        rows = np.zeros((n_rows, len(predictor.preparation_.names_)))
        assess(predictor, rows)
        if predictor.estimator is None:
            assess(predictor, rows, explain=True)


def _do_everything_once() -> None:
    """Fit, choose columns, save, load, score and explain on tables that reach every kernel."""
    import warnings

    import numpy as np

    from boreod import BORE, Detector, OutlierRepresentation, Reference
    from boreod.neighbors import BACKENDS
    from boreod.scores import SCORES

    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 3)), np.arange(60) % 6 == 0
    # One row is a copy.
    rows[1] = rows[0]

    def use(model: Any) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.boreod")
            model.save(path)
            _use(path)

    with warnings.catch_warnings():
        # Fits to a tiny table cause warnings.
        warnings.simplefilter("ignore")
        detector = Detector(n_estimators=2, random_state=0).fit(rows, labels)
        detector.predict_proba(random.normal(size=(8, 3)))
        use(detector)
        columns = OutlierRepresentation(list(SCORES), [3, 5])
        for neighbors in BACKENDS:
            how = Reference(neighbors=neighbors)
            bore = BORE(columns, how, n_estimators=2, random_state=0)
            bore.fit(rows, labels).within(20, costs="complexity:additive")
            use(bore)
