"""Names and numbers for messages, suggestions for misspelled names, and warnings told once."""

import difflib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import log10
from typing import Any

# A value in a message has at most this many characters.
LONGEST = 60


def shorten(value: Any) -> str:
    """Return the ``repr`` of a value, cut to LONGEST characters."""
    try:
        shown = repr(value)
    except ValueError:
        # Python raises an error for integers of thousands of digits.
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 4]}...{shown[-1]}"


def listed(values: Iterable[object], most: int = 10) -> str:
    """Return up to ``most`` values as a list in one string, with the number of further values."""
    values = list(values)
    shown = ", ".join(shorten(value) for value in values[:most])
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown


def close_names(name: object, known: Iterable[str]) -> list[str]:
    """Return up to three known names that resemble an unknown name; case is ignored."""
    known = list(known)
    close = difflib.get_close_matches(str(name).lower(), {one.lower() for one in known}, n=3)
    return [one for word in close for one in known if one.lower() == word][:3]


def find_renames(
    gone: Iterable[str], there: Iterable[str], trained: Iterable[str]
) -> dict[str, str]:
    """Return the possible new names of missing columns; a new name is given to one column only.

    ``there`` holds the columns of the table, and ``trained`` holds the columns of the model.

    Examples
    --------
    >>> find_renames(["amount", "hour"], ["Amount", "amount2"], ["amount", "amount2", "hour"])
    {'amount': 'Amount'}
    """
    known = set(trained)
    new = [other for other in there if other not in known]
    found: dict[str, str] = {}
    for name in gone:
        close = close_names(name, new)
        if close:
            found[name] = close[0]
            new.remove(close[0])
    return found


def suggest(name: object, known: Iterable[str], what: str = "columns") -> str:
    """Return a sentence that suggests known names similar to an unknown one, or lists all."""
    known = list(known)
    close = close_names(name, known)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    return f"The {what} are {listed(known)}."


def first_clause(error: Exception) -> str:
    """Return the first sentence of an error message, without its period.

    Callers quote it in a message of their own, where advice about the error would not apply.

    Examples
    --------
    >>> first_clause(ValueError("`n` is 3. Pass less."))
    '`n` is 3'
    """
    return str(error).partition(". ")[0].rstrip(".")


def count_of(number: int, what: str) -> str:
    """Return a number and a noun, in the plural if the number is not 1."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def show_seconds(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, rounded for readers."""
    if seconds < 59.5:
        return f"{max(1.0, seconds):.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def show_bytes(number: float) -> str:
    """Return a number of bytes in a suitable unit, rounded for readers."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while round(number) >= 1000 and len(units) > 1:
        number /= 1000
        del units[0]
    decimals = 0 if units[0] == "bytes" or round(number, 1) >= 10 else 1
    return f"{number:.{decimals}f} {units[0]}"


def show_number(value: float) -> str:
    """Return a number with three significant digits; numbers from 1000 on show all whole digits.

    Examples
    --------
    >>> show_number(0.012345), show_number(93.0), show_number(1234567.8), show_number(-2.0)
    ('0.0123', '93', '1,234,568', '−2')
    """
    text = f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def show_percent(share: float) -> str:
    """Return a share in percent, with one decimal, or as many as a small share needs.

    Examples
    --------
    >>> [show_percent(share) for share in (0.5, 0.0123, 0.9966, 0.0, 0.0002, 1e-9)]
    ['50 %', '1.2 %', '99.7 %', '0 %', '0.02 %', 'below 0.001 %']
    """
    if 0.0 < share < 0.0005:
        return f"{100.0 * share:.1g} %" if share >= 1e-5 else "below 0.001 %"
    return f"{100.0 * share:.1f}".removesuffix(".0") + " %"


def show_probability(value: float) -> str:
    """Return a probability with enough digits to show its distance from 0 and 1.

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


@contextmanager
def tell_once() -> Iterator[None]:
    """Show each different warning once, and restore the filters of warnings at the end."""
    seen: set[str] = set()
    is_over = False
    with warnings.catch_warnings():
        tell = warnings.showwarning

        def show(message: Warning | str, *place: Any, **more: Any) -> None:
            if is_over or str(message) not in seen:
                seen.add(str(message))
                tell(message, *place, **more)

        warnings.showwarning = show
        try:
            yield
        finally:
            # If threads overlap, this function may stay in place. It then shows everything.
            is_over = True
