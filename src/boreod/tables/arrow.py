"""The only door to pyarrow, which is an extra: this package and ``preparation`` come through here.

Nothing of ``boreod`` imports these two packages at its own top, so pyarrow is still loaded late.
"""

try:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.compute as pc  # type: ignore[import-untyped]
    import pyarrow.csv as arrow_csv  # type: ignore[import-untyped]
    from pyarrow import fs, parquet
except ImportError:
    raise ImportError(
        "Tables need pyarrow, which is not installed: pip install boreod[data]"
    ) from None

__all__ = ["arrow_csv", "fs", "pa", "parquet", "pc"]
