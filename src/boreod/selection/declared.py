"""Costs as a user declares them: a price per column, or per score for all its columns."""

import difflib
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from boreod.columns import FittedColumns
from boreod.selection.costs import Costs

RAW = 1.0


def declared_costs(prices: Mapping[Any, Any], fitted: FittedColumns) -> Costs:
    """Return additive costs; raw columns cost 1 unless told, and what has no price is not sold.

    Parameters
    ----------
    prices
        By column (``"lof_10"``), or by score for all of its columns (``"lof"``).
    fitted
        All columns there are.
    """
    families = fitted.families
    known = [*fitted.names, *dict.fromkeys(families.values())]
    for name, price in prices.items():
        _check_price(name, price)
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=3) or known[:3]
            raise ValueError(
                f"`costs` names {name!r}, which is neither a column nor a score of this model. "
                f"Did you mean {', '.join(close)}? All columns are in `columns_`."
            )
    own: dict[str, float] = {}
    for name in fitted.names:
        default = RAW if name in fitted.raw else None
        price = prices.get(name, prices.get(families.get(name), default))
        if price is not None:
            own[name] = float(price)
    _warn_unpriced([name for name in fitted.names if name not in own])
    if not own:
        raise ValueError("`costs` has no price for any column. Price at least one of `columns_`.")
    return Costs(own)


def _check_price(name: Any, price: Any) -> None:
    is_number = isinstance(price, Real) and not isinstance(price, bool | np.bool_)
    if not is_number or not 0.0 <= float(price) < np.inf:
        raise ValueError(
            f"`costs` must be finite numbers of at least 0; got {price!r} for {name!r}."
        )


def _warn_unpriced(unpriced: list[str]) -> None:
    if unpriced:
        shown = ", ".join(unpriced[:6]) + (" ..." if len(unpriced) > 6 else "")
        warnings.warn(
            f"`costs` has no price for {len(unpriced)} columns, so a budget cannot buy them: "
            f"{shown}. Price a score for all its columns at once with its name, as in 'lof'.",
            UserWarning,
            stacklevel=7,
        )
