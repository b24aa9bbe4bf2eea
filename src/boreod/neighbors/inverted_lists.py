"""Settings of the search in inverted lists, which need no faiss."""

from dataclasses import dataclass
from numbers import Integral

from boreod.neighbors.recall import check_min_recall


@dataclass(frozen=True)
class InvertedLists:
    """Settings of the search ``"faiss-ivf"``.

    Parameters
    ----------
    n_lists
        Number of lists; None for about four times the square root of the number of rows.
    n_probe
        Number of lists that are searched for a row; None for a pilot, which takes as many as it
        needs to miss half of what ``min_recall`` allows.
    min_recall
        Least share of the true neighbors that must be found, of random rows and of the most
        isolated ones.

    Examples
    --------
    >>> InvertedLists(n_probe=32)
    InvertedLists(n_lists=None, n_probe=32, min_recall=0.99)
    """

    n_lists: int | None = None
    n_probe: int | None = None
    min_recall: float = 0.99

    def __post_init__(self) -> None:
        for name in ("n_lists", "n_probe"):
            value = getattr(self, name)
            is_integer = isinstance(value, Integral) and not isinstance(value, bool)
            if value is not None and not (is_integer and value >= 1):
                raise ValueError(
                    f"`{name}` must be a positive integer, or None to have it chosen; "
                    f"got {value!r}."
                )
        check_min_recall(self.min_recall)
