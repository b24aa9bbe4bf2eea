"""boreod: outlier detection from a table and a few labelled outliers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "BORE",
    "Bagging",
    "ColumnSelection",
    "ColumnsLeftOutWarning",
    "Costs",
    "Detector",
    "Heads",
    "ModelFileError",
    "OutlierRepresentation",
    "Reference",
    "View",
    "__version__",
    "auc_scorer",
    "average_precision_scorer",
    "load",
    "parallel",
    "save",
]

if TYPE_CHECKING:
    from boreod import parallel
    from boreod.bore import BORE
    from boreod.detector import Detector
    from boreod.ensemble.parameters import Bagging, ColumnSelection, Heads, Reference
    from boreod.files import __version__
    from boreod.metrics import auc_scorer, average_precision_scorer
    from boreod.persistence import ModelFileError, load, save
    from boreod.representation.plan import ColumnsLeftOutWarning
    from boreod.representation.transformer import OutlierRepresentation
    from boreod.representation.views import View
    from boreod.selection.costs import Costs

_HOMES = {
    "BORE": "boreod.bore",
    "Bagging": "boreod.ensemble.parameters",
    "ColumnSelection": "boreod.ensemble.parameters",
    "ColumnsLeftOutWarning": "boreod.representation.plan",
    "Costs": "boreod.selection.costs",
    "Detector": "boreod.detector",
    "Heads": "boreod.ensemble.parameters",
    "ModelFileError": "boreod.persistence",
    "OutlierRepresentation": "boreod.representation.transformer",
    "Reference": "boreod.ensemble.parameters",
    "View": "boreod.representation.views",
    "__version__": "boreod.files",
    "auc_scorer": "boreod.metrics",
    "average_precision_scorer": "boreod.metrics",
    "load": "boreod.persistence",
    "save": "boreod.persistence",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `import boreod` itself stays cheap."""
    if name == "parallel":
        return import_module("boreod.parallel")
    if name not in _HOMES:
        raise AttributeError(f"module 'boreod' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
