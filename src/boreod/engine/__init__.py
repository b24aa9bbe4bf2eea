"""Engines run one function over many blocks of rows."""

from boreod.engine.local import Engine, Threads

__all__ = ["Engine", "Threads"]
