"""What the plugin tells of a failing test, in pytest's own report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from attrs import evolve

from groupsim.testing import Playbill
from simulation.violations import Violation
from tests.groupsim.suites import A_SCENARIO, A_WORLD, outcome_of

pytest_plugins = ["pytester"]


def test_a_failing_test_is_told_what_happened_last_and_how_to_repeat_it(pytester):
    source = f"""
{A_WORLD}
@pytest.mark.groupsim(seed=7)
def test_one_rebalance(simulation):
    a_death(simulation)
    assert len(simulation.rebalances("checkout")) == 1
"""

    result = outcome_of(pytester, source)

    result.stdout.fnmatch_lines(
        [
            "*- groupsim: simulation, seed 7, at 120.0 s -*",
            "the last 20 of * lines:",
            "time, s * row  what happened (<- what led to it)",
            " 60.000 * ada crashes",
            "102.* the session timer of ada fires, 45.0 s after it was set*",
            "102.* bea takes orders-0, orders-1, orders-2 and orders-3 over*",
            "to repeat it: pytest test_it.py::test_one_rebalance",
        ],
        consecutive=False,
    )


def test_the_command_that_repeats_it_is_for_the_folder_one_is_in(pytester, monkeypatch):
    folder = pytester.mkdir("suite")
    (folder / "test_it.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('groupsim_seed', [3])\n"
        "def test_fails(simulation): assert False\n"
    )
    pytester.makeini("[pytest]")
    monkeypatch.chdir(folder)

    result = pytester.runpytest_inprocess("--groupsim-seed=4", "--rootdir=..")

    result.stdout.fnmatch_lines(["to repeat it: pytest 'test_it.py::test_fails[[]3]' *-seed=4"])


def test_the_flag_says_how_much_is_told(pytester):
    source = f"{A_WORLD}\ndef test_it(simulation): a_death(simulation); assert False"

    few = outcome_of(pytester, source, "--groupsim-lines=3").outlines
    none = outcome_of(pytester, source, "--groupsim-lines=0").outlines

    heading = "time, s   row  what happened (<- what led to it)"
    at = few.index(heading)
    assert few[at - 1].startswith("the last 3 of ")
    assert few[at + 4].startswith("to repeat it:")
    assert heading not in none


def test_a_coordinator_tells_what_it_was_asked_and_what_it_answered(pytester):
    source = """
    def test_it(group_coordinator):
        ada, bea = group_coordinator.stable_group("orders", "pod", "pod")
        group_coordinator.run_for("45s")
        assert group_coordinator.heartbeat(ada).error.name == "NONE"
    """

    result = outcome_of(pytester, source)

    result.stdout.fnmatch_lines(
        [
            "*- groupsim: group_coordinator, at 45.0 s -*",
            "* broker 1 answers SyncGroup of pod#2",
            " 45.000 * the session timer of pod fires, 45.0 s after it was set",
            " 45.000 * pod is out of the group: its session expired",
            " 45.000 * broker 1 handles Heartbeat of pod",
            " 45.000 * broker 1 answers Heartbeat of pod: UNKNOWN_MEMBER_ID",
            "to repeat it: pytest test_it.py::test_it",
        ]
    )


def test_a_scenario_tells_what_did_not_hold_and_how_to_look_closer(pytester):
    (pytester.path / "dies.yaml").write_text(A_SCENARIO)
    source = """
    def test_it(scenario):
        assert scenario("dies.yaml").with_overrides({"run_for": "80s"}).play(variant="eager").held
    """

    result = outcome_of(pytester, source)

    change = """--set 'run_for="80s"'"""
    result.stdout.fnmatch_lines(
        [
            "*- groupsim: dies.yaml (eager), seed 0, up to 80.0 s -*",
            "expected rebalances < 2, but it is 2: look at rebalance:2 of checkout from 63.*",
            "* checkout-2 crashes",
            f"to look closer: groupsim run dies.yaml --variant eager --seed 0 {change} --out runs",
            "to repeat it: pytest test_it.py::test_it",
        ]
    )
    result.stdout.no_fnmatch_line("expected lost*")


def told_of(folder, overrides, lines_max=20):
    """What is told of the scenario, in lines."""
    (folder / "dies.yaml").write_text(A_SCENARIO)
    playbill = Playbill(command="pytest", folder=folder)
    scenario = playbill.scenario(folder / "dies.yaml", seed=None, allow_python=False)
    scenario.with_overrides(overrides).play(variant="short")
    ((_, text),) = playbill.told(lines_max)
    return text.splitlines()


def test_a_broken_bound_is_told_by_its_worst_moment_and_what_led_to_it(tmp_path):
    script = [{"at": "20s", "crash": "checkout-2"}, {"at": "80s", "stop": "checkout-1"}]

    told = told_of(tmp_path, {"expect": ["unowned_s < 1"], "script": script}, lines_max=8)

    assert told[0].startswith("expected unowned_s < 1, but it is ")
    assert " of checkout from 20.0 s to 30." in told[0]
    assert any("checkout-2 crashes" in line for line in told)
    assert any("checkout-1 takes orders-0" in line for line in told)
    assert not any("is asked to close" in line for line in told)


def test_of_a_long_moment_the_beginning_and_the_end_are_told(tmp_path):
    told = told_of(tmp_path, {"expect": ["unowned_s < 1"]}, lines_max=4)

    crash, loss, cut, stable, takes = told[3:-2]
    assert crash.endswith("checkout-2 crashes")
    assert loss.endswith("checkout-2 loses orders-2 and orders-3: crashed")
    assert cut == "..."
    assert "the group is Stable in generation 2" in stable
    assert "checkout-1 takes orders-0, orders-1, orders-2 and orders-3 over" in takes


def test_too_little_of_something_is_told_by_the_end_of_the_run(tmp_path):
    told = told_of(tmp_path, {"expect": ["rebalances > 5"]}, lines_max=1)

    assert told[0] == "expected rebalances > 5, but it is 2"
    assert told[3].startswith(" 90.000")


def test_what_a_checker_found_is_told_with_what_led_to_it_and_nothing_after(tmp_path):
    (tmp_path / "dies.yaml").write_text(A_SCENARIO)
    playbill = Playbill(command="pytest", folder=tmp_path)
    file = tmp_path / "dies.yaml"
    result = playbill.scenario(file, seed=None, allow_python=False).play(variant="eager")
    found = Violation(checker="Hope", sentence="none dies", seen="a death", at_ms=20_000, rows=(1,))

    (run,) = playbill._acts
    run.result = evolve(result, violations=(found,))  # type: ignore[attr-defined]
    ((_, text),) = playbill.told(lines_max=3)

    lines = text.splitlines()
    assert str(found) in lines
    assert lines[-3].endswith("checkout-2 loses orders-2 and orders-3: crashed")


def test_of_many_runs_the_last_two_are_told(pytester):
    (pytester.path / "dies.yaml").write_text(A_SCENARIO)
    source = """
    def test_it(scenario):
        for seed in range(4):
            scenario("dies.yaml").play(variant="short", seed=seed)
        assert False
    """

    told = [line for line in outcome_of(pytester, source).outlines if "groupsim: dies" in line]

    assert [line.strip("- ") for line in told] == [
        f"groupsim: dies.yaml (short), seed {seed}, up to 90.0 s" for seed in (2, 3)
    ]


def test_a_run_that_breaks_down_is_told_as_far_as_it_came(pytester):
    (pytester.path / "dies.yaml").write_text(A_SCENARIO)
    source = """
    class Sink:
        def take(self, row):
            if row.kind == "consumer_crashed": raise RuntimeError("no more")

    def test_it(scenario): scenario("dies.yaml").play(variant="short", sink=Sink())
    """

    result = outcome_of(pytester, source)

    result.stdout.fnmatch_lines(
        ["*- groupsim: dies.yaml (short), seed 0, up to 20.0 s -*", " 20.000 * checkout-2 crashes"]
    )


@pytest.mark.parametrize("part", ["before", "after"])
def test_a_failing_fixture_of_the_user_s_is_told_too(pytester, part):
    before, after = ("assert False", "") if part == "before" else ("", "assert False")
    source = f"""
{A_WORLD}
@pytest.fixture
def world(simulation):
    a_death(simulation)
    {before}
    yield
    {after}

def test_it(world): pass
"""

    result = outcome_of(pytester, source)

    result.assert_outcomes(errors=1, passed=0 if part == "before" else 1)
    result.stdout.fnmatch_lines(["*- groupsim: simulation, seed 0, at 120.0 s -*"])


@pytest.mark.parametrize(
    "source",
    [
        "def test_it(simulation): pass",
        "import pytest\ndef test_it(simulation): pytest.skip('not today')",
        "import pytest\n@pytest.mark.xfail\ndef test_it(simulation): assert False",
    ],
    ids=["passes", "is skipped", "is expected to fail"],
)
def test_nothing_is_told_of_a_test_that(pytester, source):
    result = outcome_of(pytester, source, "-rA")

    result.stdout.no_fnmatch_line("*groupsim: simulation*")


@pytest.mark.parametrize("flag", ["--show-capture=no", "--tb=short", "--tb=native"])
def test_it_is_told_however_failures_are_shown(pytester, flag):
    result = outcome_of(pytester, "def test_it(simulation): assert False", flag)

    result.stdout.fnmatch_lines(["*- groupsim: simulation, seed 0, at 0.0 s -*"])


def test_a_failure_without_a_traceback_is_told_too(pytester):
    source = "import pytest\ndef test_it(simulation): pytest.fail('so', pytrace=False)"

    result = outcome_of(pytester, source)

    result.stdout.fnmatch_lines(["*- groupsim: simulation, seed 0, at 0.0 s -*"])


def test_it_reaches_the_file_that_a_build_server_reads(pytester):
    outcome_of(pytester, "def test_it(simulation): assert False", "--junitxml=out.xml")

    (failure,) = ET.parse(pytester.path / "out.xml").iter("failure")  # noqa: S314 - our own file
    assert "to repeat it: pytest test_it.py::test_it" in (failure.text or "")


def test_a_finished_test_s_world_is_not_kept(pytester):
    source = """
    import gc, weakref

    world = None

    def test_uses_one(simulation):
        global world
        world = weakref.ref(simulation)

    def test_finds_it_gone():
        gc.collect()
        assert world() is None
    """

    outcome_of(pytester, source).assert_outcomes(passed=2)
