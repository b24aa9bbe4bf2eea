"""``python -m fuzz``: mutate model files, tables and rows for some minutes."""

import argparse
import secrets
import sys
from pathlib import Path

from .campaign import FAILURES, KINDS, Campaign, run_again


def main(arguments: list[str] | None = None) -> int:
    """Run cases or one saved case; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 10 if not given")
    parser.add_argument("--seed", help="of everything random; a new one if not given")
    parser.add_argument("--kinds", default=",".join(KINDS), help="models, tables, rows")
    parser.add_argument("--failures", type=Path, help="folder for failing cases")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds until a case hangs")
    parser.add_argument("--again", type=Path, help="a saved case, to be run again")
    given = parser.parse_args(arguments)
    if given.again is not None:
        answer = run_again(given.again, given.limit)
        _say(f"{answer['verdict']}\n{answer.get('detail', '')}".strip())
        return int(answer["verdict"] in FAILURES)
    seed = int(given.seed) if given.seed else secrets.randbits(32)
    _say(f"seed {seed}")
    campaign = Campaign(seed, given.failures, given.limit, show=_say)
    try:
        campaign.run(given.minutes, kinds=given.kinds.split(","))
    except KeyboardInterrupt:
        _say("Stopped.")
    if campaign.counts:
        _say(campaign.table())
    return int(campaign.failed > 0)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
