"""`campaign`: random worlds with all checkers on, told to a person or a script."""

from __future__ import annotations

import sys
from pathlib import Path

from attrs import asdict

from groupsim.commands.failures import INTERRUPTED
from groupsim.commands.voice import print_json
from simulation.campaign import Campaign


def campaign(seeds: range, *, jobs: int, out: Path, is_shrinking: bool, as_json: bool) -> int:
    """Play the worlds of these seeds, and return the exit status."""
    played = Campaign(
        seeds=seeds,
        jobs=jobs,
        out=out,
        is_shrinking=is_shrinking,
        # A script reads what came of it all; a person reads what comes.
        results=sys.stderr if as_json else sys.stdout,
    )
    status = played.run()
    if as_json and status != INTERRUPTED:
        print_json(
            {
                "worlds": len(seeds),
                "seed": seeds[0],
                "held": not played.failures,
                "failures": [asdict(failure) for failure in played.failures],
            }
        )
    return status
