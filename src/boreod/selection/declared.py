"""Costs as a user declares them: a price per column, or per score for all its columns."""

import warnings
from collections.abc import Mapping
from typing import Any

from boreod.representation.columns import FittedColumns
from boreod.selection.costs import RAW, Costs, check_price
from boreod.text import close_names, shorten


def declared_costs(prices: Mapping[Any, Any] | Costs, fitted: FittedColumns) -> Costs:
    """Return the costs of the columns there are; what has no price is not sold, and said so.

    Parameters
    ----------
    prices
        By column (``"lof_10"``), or by score for all of its columns (``"lof"``); raw columns cost
        1 unless told. Or ready-made costs.
    fitted
        All columns there are.
    """
    costs = prices if isinstance(prices, Costs) else Costs(_spell_out(prices, fitted))
    there = set(fitted.names)
    for name in costs.names:
        if name not in there:
            _refuse(name, fitted.names)
    _warn_unpriced([name for name in fitted.names if name not in costs.own])
    return costs.only([name for name in fitted.names if name in costs.own])


def _spell_out(prices: Mapping[Any, Any], fitted: FittedColumns) -> dict[str, float]:
    """Return a price per column, for those that have one."""
    families = fitted.families
    scores = set(families.values())
    for name, price in prices.items():
        check_price(name, price)
        if name in scores and name in fitted.names:
            raise ValueError(
                f"`costs` names {name!r}, which is a raw column and a score. Rename the raw "
                "column, or give the score another name: ('a name', score)."
            )
        if name not in scores and name not in fitted.names:
            _refuse(name, [*fitted.names, *scores])
    own = dict.fromkeys((name for name in fitted.names if name in fitted.raw), RAW)
    own |= {n: float(prices[f]) for n, f in families.items() if f in prices and n in fitted.names}
    own |= {name: float(prices[name]) for name in fitted.names if name in prices}
    if not own:
        raise ValueError("`costs` has no price for any column. Price at least one of `columns_`.")
    return own


def _refuse(name: Any, known: list[str]) -> None:
    close = close_names(name, known) or known[:3]
    raise ValueError(
        f"`costs` names {shorten(name)}, which is neither a column nor a score of this model. "
        f"Did you mean {', '.join(close)}? All columns are in `columns_`."
    )


def _warn_unpriced(unpriced: list[str]) -> None:
    if unpriced:
        shown = ", ".join(unpriced[:6]) + (" ..." if len(unpriced) > 6 else "")
        warnings.warn(
            f"`costs` has no price for {len(unpriced)} columns, so a budget cannot buy them: "
            f"{shown}. Price a score for all its columns at once with its name, as in 'lof'.",
            UserWarning,
            stacklevel=8,
        )
