"""The model file: a fitted detector in one file, without pickle.

A file holds arrays, and a manifest of everything else. Nothing in a file is ever executed. A model
file is untrusted input: sizes, names, shapes, ranges and hashes are checked before anything is
built from it.
"""

from boreod.ensemble.training import NotStoredError
from boreod.persistence.container import ModelFileError
from boreod.persistence.model import load, load_predictor, save

__all__ = ["ModelFileError", "NotStoredError", "load", "load_predictor", "save"]
