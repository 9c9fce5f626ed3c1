"""`campaign`: random worlds with all checkers on, told to a person or a script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from attrs import asdict, evolve, frozen

from groupsim.commands.failures import INTERRUPTED
from groupsim.commands.on_spark import needing_spark, refuse_two_places, session_to_play_at
from groupsim.commands.progress import Reporter, told_worlds
from groupsim.commands.running import ending_well
from groupsim.commands.voice import Voice, print_json
from simulation.campaign import Campaign, Failure
from simulation.errors import SimulationError


@frozen(kw_only=True)
class CampaignWish:
    """What was asked of `campaign`."""

    seeds: range
    out: Path
    jobs: int | None = None
    is_shrinking: bool = True
    master: str | None = None
    remote: str | None = None

    @property
    def is_for_spark(self) -> bool:
        """Whether the worlds are spread over a cluster."""
        return self.master is not None or self.remote is not None


def campaign(wish: CampaignWish, *, is_json: bool) -> int:
    """Play the worlds of these seeds, and return the exit status."""
    refuse_two_places(wish.master, wish.remote)
    if wish.is_for_spark and wish.jobs is not None:
        raise SimulationError("--jobs is for this machine alone: Spark uses every core it is given")
    voice = Voice()
    with ending_well(), _place(voice, wish) as place:
        # A script reads what came of it all; a person reads what comes.
        results = sys.stderr if is_json else sys.stdout
        with Reporter(voice.talk, "campaign", told_worlds) as progress:
            played = Campaign(
                seeds=wish.seeds,
                jobs=wish.jobs or 1,
                out=wish.out,
                is_shrinking=wish.is_shrinking,
                results=results,
                elsewhere=None if place is None else place(progress),
                progress=progress if place is None else _unheard,
            )
            status = played.run()
    if status == INTERRUPTED and wish.is_for_spark:
        voice.say(f"what was played is kept in {wish.out}; the same command goes on")
    if is_json and status != INTERRUPTED:
        print_json(
            {
                "worlds": len(wish.seeds),
                "seed": wish.seeds[0],
                "held": not played.failures,
                "failures": [
                    asdict(each) for each in sorted(played.failures, key=lambda each: each.seed)
                ],
            }
        )
    return status


def _unheard(*_: int) -> None:
    """Spark tells by itself how far it is."""


#: Plays the worlds, tells how far it is, and yields what comes of each.
Place = Callable[[Reporter], Generator[Failure | None, None, None]]


@contextmanager
def _place(voice: Voice, wish: CampaignWish) -> Iterator[Place | None]:
    """Where worlds are played: on Spark, or here if that is None."""
    if not wish.is_for_spark:
        yield None
        return
    with needing_spark("campaign --master"):
        from spark_bridge.sweeps.folder import at_work, gone_on_with  # noqa: PLC0415 - it needs Spark
        from spark_bridge.sweeps.plan import usual_chunk  # noqa: PLC0415 - the same
        from spark_bridge.sweeps.running import cores_of  # noqa: PLC0415 - the same
        from spark_bridge.sweeps.worlds import Worlds, found_on_spark  # noqa: PLC0415 - the same

        worlds = Worlds(first_seed=wish.seeds[0], seeds=len(wish.seeds))
        gone_on_with(wish.out, worlds)  # before Spark is started for nothing
        spark = session_to_play_at(voice, wish.master, wish.remote)
        cores = cores_of(spark)
        worlds = evolve(worlds, runs_per_chunk=usual_chunk(worlds.runs, cores))
        with at_work(wish.out, worlds) as workshop:
            kept = workshop.folder.runs_kept()
            if kept:
                voice.say(
                    f"{kept:,} of {worlds.runs:,} worlds are in {wish.out} already, and are not"
                    " played again"
                )
            yield partial(found_on_spark, spark, workshop, cores)
