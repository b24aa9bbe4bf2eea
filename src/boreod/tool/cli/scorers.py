"""``boreod scorers``: the scores to choose from."""

from boreod.tool.cli import options
from boreod.tool.cli.app import plain_errors, print_json, print_table


@plain_errors
def scorers(json: options.Json = False) -> None:
    """List the outlier scores: name, smallest k, what they read, formula, publication.

    Example: boreod scorers --json
    """
    from boreod.scores import DETECTORS, SCORES, IsolationTrees, Score

    known: list[type[Score] | type[IsolationTrees]] = [*SCORES.values(), *DETECTORS.values()]

    if json:
        fields = ("name", "title", "min_k", "reads", "formula", "citation")
        rows = [{name: getattr(score, name) for name in fields} for score in known]
        print_json(rows)
        return
    lines = [
        [of.name, str(of.min_k or ""), of.reads, f"{of.title}: {of.formula}\n{of.citation}"]
        for of in known
    ]
    print_table(["name", "k from", "reads", "score"], lines)
