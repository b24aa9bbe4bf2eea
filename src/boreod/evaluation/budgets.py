"""BORE within several budgets on one split: quality on the test rows for the time it takes."""

from typing import Any

from numpy.typing import NDArray

from boreod.detector import BORE
from boreod.evaluation.judging import judge
from boreod.evaluation.splits import split_rows
from boreod.labels import OUTLIER

EVERYTHING = "all columns"


def run_budgets(
    rows: NDArray,
    codes: NDArray,
    budgets: list[str],
    repetition: int,
    protocol: str,
    seed: int = 0,
) -> dict[str, Any]:
    """Return measures, cost and number of columns by budget; budgets below any column are absent.

    Parameters
    ----------
    rows, codes
        The table and its labels (1, 0, -1).
    budgets
        Times per row, as BORE takes them.
    repetition, protocol, seed
        As in :func:`boreod.evaluation.splits.split_rows`.
    """
    split = split_rows(codes, repetition, protocol, seed)
    outliers = codes[split.test] == OUTLIER
    model = BORE(n_jobs=1, random_state=seed + repetition).fit(rows[split.fitted], split.labels)
    models = {EVERYTHING: model}
    cheapest = float(model.costs_.alone.min())
    for budget in budgets:
        if read_seconds(budget) >= cheapest:
            models[budget] = model.within(budget)
    return {
        budget: {
            **judge(fitted.decision_function(rows[split.test]), outliers),
            "columns": len(fitted.columns_),
            "cost": fitted.costs_.total(fitted.columns_),
        }
        for budget, fitted in models.items()
    }


def read_seconds(budget: str) -> float:
    """Return a budget in seconds, or say that it is no time.

    Examples
    --------
    >>> read_seconds("20us")
    2e-05
    """
    from boreod.selection import SECONDS, read_budget

    value, unit = read_budget(budget)
    if unit != SECONDS:
        raise ValueError(f"A budget here is a time per row such as '20us'; got {budget!r}.")
    return value
