"""BORE within several budgets on one split: quality on the test rows for the time it takes."""

from typing import Any

from numpy.typing import NDArray

from boreod.detector import BORE
from boreod.evaluation.judging import judge
from boreod.evaluation.splits import split_rows
from boreod.evaluation.summary import Run
from boreod.evaluation.trials import Trials
from boreod.validation import OUTLIER

EVERYTHING = "all columns"


def try_budgets(trials: Trials, budgets: list[str]) -> list[Run]:
    """Return results of BORE with all columns and within every budget; nothing without budgets.

    Parameters
    ----------
    trials
        The table and its splits.
    budgets
        Times per row, as BORE takes them.
    """
    variants = {" ".join(budgets): budgets} if budgets else {}  # one fit serves all
    single = []
    for run in trials.run(run_budgets, variants, "budgets"):
        facts = {key: run[key] for key in ("dataset", "protocol", "repetition")}
        found = {name: run[name] for name in (EVERYTHING, *budgets) if name in run}
        if "error" in run:
            found = {EVERYTHING: {"error": run["error"]}}
        single += [{**facts, "method": name, **result} for name, result in found.items()]
    return single


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
    prices = model.costs_
    assert prices is not None  # of a model that was fitted here
    cheapest = float(prices.alone.min())
    for budget in budgets:
        if read_seconds(budget) >= cheapest:
            models[budget] = model.within(budget)
    return {
        budget: {
            **judge(fitted.decision_function(rows[split.test]), outliers),
            "columns": len(fitted.columns_),
            "cost": prices.total(fitted.columns_),
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
