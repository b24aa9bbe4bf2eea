"""Engines run one function over many blocks of rows."""

from boreod.engine.local import Engine, Threads, plain_interrupts

__all__ = ["Engine", "Threads", "plain_interrupts"]
