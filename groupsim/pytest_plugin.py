"""The pytest plugin: fixtures, a marker, and the story of a failing test in its report.

Installed with groupsim, and so loaded by every pytest of that environment: nothing but pytest is
imported here until a test asks for a fixture. What the fixtures hand out is in testing.py.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from groupsim.testing import CoordinatorUnderTest, Playbill, ScenarioUnderTest
    from simulation.world import Simulation

#: What happened in a test so far; only tests that use a fixture have one.
_PLAYBILL = pytest.StashKey["Playbill"]()

_MARKER = (
    "groupsim(seed=..., settings={...}): the seed of a test's simulations and scenarios, and the"
    " group settings of its brokers by Kafka's names"
)
#: So many lines of a story are told in a report.
_LINES = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flags, all of them named for groupsim."""
    group = parser.getgroup("groupsim", "Kafka's consumer groups in virtual time")
    group.addoption(
        "--groupsim-seed",
        type=int,
        metavar="N",
        help="Seed of every simulation and scenario, whatever their tests' markers say.",
    )
    group.addoption(
        "--groupsim-lines",
        type=int,
        default=_LINES,
        metavar="N",
        help="How many lines of its story a failing test is told with; %(default)s unless given.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, for those who are strict about markers."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Tell what happened in a test that failed; forget it when the test is over."""
    outcome = yield
    playbill = item.stash.get(_PLAYBILL, None)
    if playbill is None:
        return
    report: pytest.TestReport = outcome.get_result()
    if report.failed:
        for title, text in playbill.told(item.config.getoption("groupsim_lines")):
            _add_section(report, title, text)
    if call.when == "teardown":
        del item.stash[_PLAYBILL]


def _add_section(report: pytest.TestReport, title: str, text: str) -> None:
    # In the failure itself if it has sections: it is shown whatever --show-capture says, and
    # reaches JUnit files.
    add = getattr(report.longrepr, "addsection", None)
    if add is not None:
        add(title, text)
    else:
        report.sections.append((title, text))


@pytest.fixture
def groupsim_seed(request: pytest.FixtureRequest) -> int | None:
    """The test's seed, by flag or marker; None if neither says one. Can be parametrized."""
    given: int | None = request.config.getoption("groupsim_seed")
    if given is not None:
        return given
    seed = _said(request.node, "seed")
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool)):
        return seed
    pytest.fail(
        f"seed of @pytest.mark.groupsim must be a whole number, not {seed!r}", pytrace=False
    )


@pytest.fixture
def group_coordinator(request: pytest.FixtureRequest) -> CoordinatorUnderTest:
    """A broker that coordinates every group: no world around it, and no time but the test's.

    A `LocalCoordinator` whose clock stands still until freezegun moves it, or
    `group_coordinator.run_for("45s")`. Its settings are Kafka's but for the initial delay of a
    first rebalance, which is 0; the marker's `settings` say otherwise.
    """
    return _playbill(request).coordinator(_settings(request.node))


@pytest.fixture
def simulation(request: pytest.FixtureRequest, groupsim_seed: int | None) -> Simulation:
    """An empty `Simulation` with the test's seed, and with the broker settings of its marker."""
    return _playbill(request).simulation(groupsim_seed or 0, _settings(request.node))


@pytest.fixture
def scenario(
    request: pytest.FixtureRequest, groupsim_seed: int | None
) -> Callable[..., ScenarioUnderTest]:
    """Loads a scenario: `scenario("deploy.yaml").play()`.

    A file stands beside the test's own, or is given by its whole path; a name without an ending
    is that of a scenario that comes with groupsim. It is played with the test's seed, or with its
    own if the test has none.
    """
    playbill = _playbill(request)

    def load(file: Path | str, *, allow_python: bool = False) -> ScenarioUnderTest:
        return playbill.scenario(
            request.path.parent / file, seed=groupsim_seed, allow_python=allow_python
        )

    return load


def _playbill(request: pytest.FixtureRequest) -> Playbill:
    """What the test's fixtures have in common, begun by the first of them."""
    item = request.node
    if _PLAYBILL not in item.stash:
        item.stash[_PLAYBILL] = _new_playbill(item)
    playbill: Playbill = item.stash[_PLAYBILL]
    return playbill


def _new_playbill(item: pytest.Item) -> Playbill:
    try:
        from groupsim.testing import Playbill  # noqa: PLC0415 - the simulator, now that it is used
    except ImportError:
        from groupsim.commands.shadows import shadows, warning_of  # noqa: PLC0415

        if found := shadows():
            pytest.fail(warning_of(found), pytrace=False)
        raise
    folder = item.config.invocation_params.dir
    _, _, within = item.nodeid.partition("::")
    words = ["pytest", f"{os.path.relpath(item.path, folder)}::{within}"]
    seed = item.config.getoption("groupsim_seed")
    if seed is not None:
        words.append(f"--groupsim-seed={seed}")
    return Playbill(command=shlex.join(words), folder=folder)


def _settings(item: pytest.Item) -> dict[str, object]:
    settings = _said(item, "settings")
    if settings is None or isinstance(settings, dict):
        return settings or {}
    pytest.fail(
        f"settings of @pytest.mark.groupsim must be a dict, not {settings!r}", pytrace=False
    )


def _said(item: pytest.Item, name: str) -> object:
    """What the nearest marker says that says it; None if no marker does."""
    for marker in item.iter_markers("groupsim"):
        unknown = [*map(repr, marker.args), *sorted(marker.kwargs.keys() - {"seed", "settings"})]
        if unknown:
            known = "@pytest.mark.groupsim knows seed=... and settings={...}"
            pytest.fail(f"{known}, not {', '.join(unknown)}", pytrace=False)
        if name in marker.kwargs:
            found: object = marker.kwargs[name]
            return found
    return None
