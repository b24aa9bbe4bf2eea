"""The one door to Dask, which is an optional package and is loaded when a cluster is asked for."""

import importlib
from typing import Any


def load(module: str) -> Any:
    """Return a module of Dask or of what comes with it, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            "A Dask cluster needs Dask, which is not installed: pip install boreod[dask]"
        ) from None
