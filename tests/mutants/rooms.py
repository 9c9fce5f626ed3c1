"""The rooms that have planted faults, and the tests that must notice them."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from tests.mutants import (
    client,
    client_at_rest,
    coordinator,
    coordinator_short_ways,
    coordinator_tables,
    quiet_time,
    simulation,
)
from tests.mutants.faults import Fault


@frozen(kw_only=True)
class Room:
    """Faults, and the folders and files of the fast tests that must notice them."""

    faults: tuple[Fault, ...]
    tests: tuple[str, ...]
    #: Files that take their time; a fault that others notice does not wait for them.
    tests_last: tuple[str, ...] = ()

    def test_files(self, tree: Path) -> list[str]:
        """The test files in the order in which they are run."""
        found = [path for name in self.tests for path in _files_of(tree / name)]
        names = {path.relative_to(tree).as_posix() for path in found}
        return sorted(names, key=lambda name: (name in self.tests_last, name))


def _files_of(path: Path) -> list[Path]:
    return list(path.rglob("test_*.py")) if path.is_dir() else [path]


ROOMS: tuple[Room, ...] = (
    Room(
        faults=(
            coordinator.FAULTS
            + coordinator_short_ways.SHORT_WAY_FAULTS
            + coordinator_tables.TABLE_FAULTS
        ),
        tests=("tests/coordinator", "tests/conformance/test_coordinator.py"),
        tests_last=(
            "tests/conformance/test_coordinator.py",
            "tests/coordinator/test_state_machine.py",
        ),
    ),
    Room(
        faults=client.CLIENT_FAULTS + client_at_rest.REST_FAULTS,
        tests=("tests/client", "tests/conformance/test_client.py"),
        tests_last=("tests/conformance/test_client.py",),
    ),
    Room(
        faults=simulation.SIMULATION_FAULTS + quiet_time.QUIET_FAULTS,
        tests=(
            "tests/simulation",
            "tests/scenarios/test_delivery.py",
            "tests/scenarios/test_held_requests.py",
            "tests/scenarios/test_rebalance_triggers.py",
            "tests/scenarios/test_slow_log.py",
        ),
        tests_last=(
            "tests/simulation/test_campaign.py",
            "tests/simulation/test_idle_rounds.py",
            "tests/simulation/test_quiet.py",
            "tests/simulation/test_resting.py",
        ),
    ),
)
