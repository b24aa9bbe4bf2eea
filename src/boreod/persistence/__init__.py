"""The model file: a fitted detector in one file, without pickle.

A file is a zip archive of two members. ``manifest.json`` says everything that is not a large array,
``arrays.safetensors`` holds the arrays. Nothing in it is ever executed. A model file is untrusted
input: sizes, names, shapes, ranges and hashes are checked before anything is built from it.
"""

from typing import TYPE_CHECKING, Any

from boreod.ensemble.training import NotStoredError
from boreod.persistence.archive import ModelFileError
from boreod.persistence.loading import load_model

if TYPE_CHECKING:
    from boreod.persistence.saving import save_model

__all__ = ["ModelFileError", "NotStoredError", "load_model", "save_model"]


def __getattr__(name: str) -> Any:
    """Import what writes files when it is first used: reading them needs no scikit-learn."""
    if name != "save_model":
        raise AttributeError(f"module 'boreod.persistence' has no attribute {name!r}")
    from boreod.persistence.saving import save_model

    return save_model
