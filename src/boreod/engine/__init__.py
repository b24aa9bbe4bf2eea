"""Engines run one function over many blocks of rows."""

from boreod.engine.local import Engine, Threads, one_blas_thread, plain_interrupts

__all__ = ["Engine", "Threads", "one_blas_thread", "plain_interrupts"]
