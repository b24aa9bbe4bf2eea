"""The model file: a fitted detector in one file, without pickle.

A file is a zip archive of two members. ``manifest.json`` says everything that is not a large array,
``arrays.safetensors`` holds the arrays. Nothing in it is ever executed. A model file is untrusted
input: sizes, names, shapes, ranges and hashes are checked before anything is built from it.
"""

from boreod.ensemble.training import NotStoredError
from boreod.persistence.archive import ModelFileError
from boreod.persistence.loading import load_model
from boreod.persistence.saving import save_model

__all__ = ["ModelFileError", "NotStoredError", "load_model", "save_model"]
