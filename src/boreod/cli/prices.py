"""``--costs``: what columns cost."""

import json
from pathlib import Path
from typing import Any

LARGEST = 2**24  # bytes; a price takes some dozens


def read_costs(text: str | None) -> Any:
    """Return costs as BORE takes them: a spelling, or the prices in a JSON file.

    Parameters
    ----------
    text
        As on the command line.
    """
    from boreod.selection.prices import SPELLINGS

    if text is None or text in SPELLINGS:
        return text
    path = Path(text)
    if path.suffix.lower() != ".json" and not path.is_file():
        raise ValueError(
            f"--costs must be one of {', '.join(SPELLINGS)}, or a file of prices (.json); "
            f"got {text!r}."
        )
    return _read_prices(path)


def _read_prices(path: Path) -> dict[str, float]:
    """Return the prices in a file, or say what is wrong with it."""
    from boreod.selection.costs import check_price
    from boreod.text import shorten

    if not path.is_file():
        raise ValueError(f"There is no file {str(path)!r} of prices (--costs).")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{str(path)!r} is too large for a file of prices (--costs).")
    wanted = 'a JSON object of prices such as {"lof": 50, "knn_10": 20, "amount": 3}'
    try:
        prices = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} must hold {wanted}; it does not ({error}).") from None
    if not isinstance(prices, dict) or not prices:
        raise ValueError(f"{str(path)!r} must hold {wanted}; got {shorten(prices)}.")
    for name, price in prices.items():
        check_price(name, price)
    return prices


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, and refuse two values of one name."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is there twice")
        found[name] = value
    return found
