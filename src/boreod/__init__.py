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

_NAMES_OF_MODULES = {
    "bore": "BORE",
    "detector": "Detector",
    "ensemble.parameters": "Bagging ColumnSelection Heads Reference",
    "files": "__version__",
    "metrics": "auc_scorer average_precision_scorer",
    "persistence": "ModelFileError load save",
    "representation.plan": "ColumnsLeftOutWarning",
    "representation.transformer": "OutlierRepresentation",
    "representation.views": "View",
    "selection.costs": "Costs",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `import boreod` itself stays cheap."""
    if name == "parallel":
        return import_module("boreod.parallel")
    for module, names in _NAMES_OF_MODULES.items():
        if name in names.split():
            return getattr(import_module(f"boreod.{module}"), name)
    raise AttributeError(f"module 'boreod' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
