"""boreod: outlier detection from a table and a few labelled outliers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "BORE",
    "ColumnsLeftOutWarning",
    "Costs",
    "Detector",
    "ModelFileError",
    "OutlierRepresentation",
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
    from boreod.ensemble.scorers import auc_scorer, average_precision_scorer
    from boreod.files import __version__
    from boreod.persistence import ModelFileError
    from boreod.representation.plan import ColumnsLeftOutWarning
    from boreod.representation.transformer import OutlierRepresentation
    from boreod.representation.views import View
    from boreod.selection.costs import Costs
    from boreod.tool import Detector, load, save

_HOMES = {
    "BORE": "boreod.bore",
    "ColumnsLeftOutWarning": "boreod.representation.plan",
    "Costs": "boreod.selection.costs",
    "Detector": "boreod.tool",
    "ModelFileError": "boreod.persistence",
    "OutlierRepresentation": "boreod.representation.transformer",
    "View": "boreod.representation.views",
    "__version__": "boreod.files",
    "auc_scorer": "boreod.ensemble.scorers",
    "average_precision_scorer": "boreod.ensemble.scorers",
    "load": "boreod.tool",
    "save": "boreod.tool",
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
