"""Numbers as readers like them."""

import re
from math import log10

from scipy.stats import binomtest

from boreod.selection import SECONDS
from boreod.selection.budgets import show_cost

INTERVAL = 0.95


def show_number(value: float) -> str:
    """Return three digits or, for large numbers, all before the point.

    Examples
    --------
    >>> show_number(0.012345), show_number(93.0), show_number(1234567.8), show_number(-2.0)
    ('0.0123', '93', '1,234,568', '−2')
    """
    text = f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def show_change(value: float) -> str:
    """Return a number with its sign and one digit after the point.

    Examples
    --------
    >>> show_change(2.345), show_change(-0.5)
    ('+2.3', '−0.5')
    """
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def show_percent(share: float) -> str:
    """Return a share in percent, with at most one digit after the point.

    Examples
    --------
    >>> show_percent(0.5), show_percent(0.0123), show_percent(0.9966), show_percent(0.0)
    ('50 %', '1.2 %', '99.7 %', '0 %')
    """
    return f"{100.0 * share:.1f}".removesuffix(".0") + " %"


def show_probability(value: float) -> str:
    """Return two or three digits, those that matter at either end.

    Examples
    --------
    >>> [show_probability(p) for p in (0.5, 0.012345, 3.2e-7, 0.9951, 0.99999987, 1.0)]
    ['0.5', '0.0123', '3e-07', '0.9951', '0.99999987', '1']
    """
    if value < 1e-4:
        return f"{value:.0e}" if value > 0.0 else "0"
    if value <= 0.99:
        return f"{value:.3g}"
    digits = min(int(-log10(max(1.0 - value, 1e-8))) + 2, 8)
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def show_price(amount: float, unit: str) -> str:
    """Return a cost with its unit.

    Examples
    --------
    >>> show_price(1.23e-5, "s"), show_price(12.5, "")
    ('12.3 µs', '12.5')
    """
    if unit != SECONDS:
        return show_cost(amount, unit)
    return re.sub(r"([a-z]+)$", r" \1", show_cost(amount, unit)).replace("us", "µs")


def show_share(hits: int, total: int) -> str:
    """Return a share in percent, with its Wilson interval.

    Examples
    --------
    >>> show_share(9, 10), show_share(0, 0)
    ('90 % (60 to 98 %)', 'none')
    """
    if total == 0:
        return "none"
    limits = binomtest(hits, total).proportion_ci(INTERVAL, method="wilson")
    return f"{100 * hits / total:.0f} % ({100 * limits.low:.0f} to {100 * limits.high:.0f} %)"
