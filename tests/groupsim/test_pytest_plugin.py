"""The plugin as other people's test suites meet it: each test here runs one of them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import pytest

from tests.groupsim.suites import A_SCENARIO, outcome_of

pytest_plugins = ["pytester"]

# --- suites that do not use it ---


def test_it_comes_with_the_installed_package():
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "groupsim"]

    assert found.value == "groupsim.pytest_plugin"


def test_a_suite_that_does_not_use_it_imports_nothing_of_it_but_the_plugin(pytester):
    pytester.makepyfile(
        """
        import json, sys

        def test_says_what_is_imported():
            ours = ("attr", "cattrs", "client", "coordinator", "groupsim", "pyarrow", "rich",
                    "simulation", "typer", "yaml")
            found = [name for name in sys.modules if name.partition(".")[0] in ours]
            with open("imported.json", "w") as file:
                json.dump(sorted(found), file)
        """
    )

    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)

    imported = json.loads((pytester.path / "imported.json").read_text())
    assert imported == ["groupsim", "groupsim.pytest_plugin"]


def test_a_suite_that_does_not_use_it_reads_as_it_would_without_it(pytester):
    source = "def test_passes(): pass\n\ndef test_fails(): assert 1 == 2\n"

    withal = outcome_of(pytester, source, "-q", "--no-header")
    without = outcome_of(pytester, source, "-q", "--no-header", "-p", "no:groupsim")

    assert without_times(withal.outlines) == without_times(without.outlines)
    withal.assert_outcomes(passed=1, failed=1)


def without_times(lines: list[str]) -> list[str]:
    return [re.sub(r"in \d+\.\d+s", "in a while", line) for line in lines]


@pytest.mark.parametrize(
    "package", ["client", "coordinator", "groupsim", "simulation", "spark_bridge"]
)
def test_pytest_does_not_warn_that_it_was_imported_too_late_to_be_rewritten(package):
    # What pytest looks for in the packages of an installed plugin before it warns.
    assert "PYTEST_DONT_REWRITE" in (import_module(package).__doc__ or "")


def test_a_suite_may_have_fixtures_of_the_same_names(pytester):
    source = """
    import pytest

    @pytest.fixture
    def simulation(): return "mine"

    def test_uses_its_own(simulation): assert simulation == "mine"
    """

    outcome_of(pytester, source).assert_outcomes(passed=1)


# --- its fixtures ---


def test_a_simulation_has_the_seed_of_the_marker(pytester):
    source = """
    import pytest

    def test_usual(simulation): assert simulation.seed == 0

    @pytest.mark.groupsim(seed=7)
    def test_marked(simulation): assert simulation.seed == 7

    @pytest.mark.groupsim(seed=8)
    class TestAll:
        @pytest.mark.groupsim(settings={"group.initial.rebalance.delay.ms": 0})
        def test_both(self, simulation):
            assert simulation.seed == 8
            assert simulation.group_config.group_initial_rebalance_delay_ms == 0

    @pytest.mark.parametrize("groupsim_seed", [3, 4])
    def test_each(simulation, groupsim_seed): assert simulation.seed == groupsim_seed
    """

    outcome_of(pytester, source).assert_outcomes(passed=5)


def test_a_flag_stands_above_the_marker(pytester):
    source = """
    import pytest

    @pytest.mark.groupsim(seed=7)
    def test_marked(simulation): assert simulation.seed == 11
    """

    outcome_of(pytester, source, "--groupsim-seed=11").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "complaint"),
    [
        ("sed=7", "knows seed=... and settings={...}, not sed"),
        ("7", "knows seed=... and settings={...}, not 7"),
        ("seed='seven'", "must be a whole number, not 'seven'"),
        ("settings=[1]", "must be a dict, not [[]1[]]"),
        ("settings={'group.max.sise': 1}", "group.max.sise is not a group setting"),
    ],
)
def test_a_marker_that_says_something_else_is_refused(pytester, marker, complaint):
    source = f"""
    import pytest

    @pytest.mark.groupsim({marker})
    def test_marked(simulation): pass
    """

    result = outcome_of(pytester, source)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{complaint}*"])


def test_a_coordinator_is_moved_by_hand_to_the_millisecond(pytester):
    source = """
    def test_session(group_coordinator):
        ada, bea = group_coordinator.stable_group("orders", "ada", "bea")
        group_coordinator.run_for("44.999s")
        group_coordinator.heartbeat(bea)
        assert group_coordinator.describe("orders").state == "Stable"
        group_coordinator.run_for(1)
        assert group_coordinator.describe("orders").state == "PreparingRebalance"
        assert group_coordinator.now_ms == 45_000
    """

    outcome_of(pytester, source).assert_outcomes(passed=1)


def test_a_coordinator_is_moved_by_freezegun_wherever_it_is_frozen(pytester):
    source = """
    import pytest
    from freezegun import freeze_time

    def a_death(broker, clock):
        ada, bea = broker.stable_group("orders", "ada", "bea")
        clock.tick(40)
        broker.heartbeat(bea)
        clock.tick(5)
        broker.advance()
        assert broker.describe("orders").members == (bea.member_id,)

    def test_inside(group_coordinator):
        with freeze_time("2001-01-01") as clock:
            a_death(group_coordinator, clock)

    @freeze_time("2031-01-01")
    def test_around_and_by_hand(group_coordinator):
        group_coordinator.stable_group("orders", "ada")
        group_coordinator.run_for("45s")
        assert group_coordinator.describe("orders").state == "Empty"

    @pytest.fixture
    def clock():
        with freeze_time("2021-01-01") as clock:
            yield clock

    def test_before(clock, group_coordinator):
        a_death(group_coordinator, clock)
    """

    outcome_of(pytester, source).assert_outcomes(passed=3)


def test_a_coordinator_has_the_settings_of_the_marker(pytester):
    source = """
    import pytest

    @pytest.mark.groupsim(settings={"group_initial_rebalance_delay_ms": 3_000})
    def test_waits(group_coordinator):
        joined = group_coordinator.join("orders", api_version=3)
        group_coordinator.run_for("2.999s")
        assert not joined.done
        group_coordinator.run_for(1)
        assert joined.done
    """

    outcome_of(pytester, source).assert_outcomes(passed=1)


def test_a_scenario_stands_beside_its_test_and_is_played_with_the_test_s_seed(pytester):
    folder = pytester.mkdir("stories")
    (folder / "dies.yaml").write_text(f"seed: 5\n{A_SCENARIO}")
    (folder / "test_stories.py").write_text(
        """
import pytest

def test_own_seed(scenario):
    result = scenario("dies.yaml").play(variant="eager")
    assert (result.seed, result.held) == (5, False)

@pytest.mark.groupsim(seed=7)
def test_seed_of_the_test(scenario):
    dies = scenario("dies.yaml")
    assert dies.variant_names == ("eager", "short")
    assert dies.play(variant="short").seed == 7
    assert dies.play(variant="short", seed=9).seed == 9
    assert dies.simulation("short").seed == 7

def test_no_variant_takes_an_override_back(scenario):
    path = "groups.checkout.settings.session_timeout_ms"
    changed = scenario("dies.yaml").with_overrides({path: "30s"}).with_overrides({"run_for": "40s"})
    (group,) = changed.play(variant="short").scenario.groups.values()
    assert group.settings["session_timeout_ms"] == 30_000

def test_one_that_comes_with_groupsim(scenario):
    assert "eager" in scenario("rolling_deploy").variant_names
"""
    )

    pytester.runpytest_inprocess(folder).assert_outcomes(passed=4)


def test_a_scenario_with_mistakes_names_them(pytester):
    (pytester.path / "dies.yaml").write_text("grups: {}\n")

    result = outcome_of(pytester, "def test_it(scenario): scenario('dies.yaml')")

    result.stdout.fnmatch_lines(["*dies.yaml:1: grups*did you mean `groups`?*"])


def test_a_package_of_the_user_s_own_that_hides_ours_is_named(pytester):
    pytester.makepyfile(client="")
    pytester.makepyfile(test_it="def test_it(simulation): pass")

    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest")

    result.stdout.fnmatch_lines(["*`client` (*) is a package of your own*rename yours"])


def test_help_names_its_flags_and_its_marker(pytester):
    told = pytester.runpytest_inprocess("--help").stdout.str()
    markers = pytester.runpytest_inprocess("--markers").stdout.str()

    assert "--groupsim-seed=N" in told
    assert "--groupsim-lines=N" in told
    assert "@pytest.mark.groupsim(seed=..., settings={...})" in markers


# --- its page, and the tour ---

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "pytest.md"
STARTER = files("groupsim.commands") / "starter.yaml"


def the_tour_s_test(pytester, *, expecting=()):
    """The test file that the tour shows, beside a starter file that expects this besides."""
    starter = STARTER.read_text(encoding="utf-8")
    expected = "".join(f"\n  - {bound}" for bound in expecting)
    code = (DOCS / "tour.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    pytester.makefile(
        ".yaml", mine=starter.replace("\n  - lost == 0", f"\n  - lost == 0{expected}")
    )
    pytester.makepyfile(test_mine=code)
    return pytester.runpytest_inprocess()


def test_the_test_of_the_tour_passes(pytester):
    the_tour_s_test(pytester).assert_outcomes(passed=1)


def test_the_test_of_the_tour_fails_at_the_bound_that_the_tour_proposes(pytester):
    result = the_tour_s_test(pytester, expecting=["detection_s < 40"])

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*detection_s < 40*", "*session timer of checkout-2 fires*"])


def test_the_page_shows_what_its_first_example_reports(pytester):
    page = PAGE.read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    shown = page.split("```text\n")[1].split("```")[0]
    pytester.makepyfile(test_page=code)

    told = pytester.runpytest_inprocess("--groupsim-lines=4").stdout.str()

    assert shown in told


def test_the_other_examples_of_the_page_pass(pytester):
    _, *codes = [part.split("```")[0] for part in PAGE.read_text().split("```python\n")[1:]]
    pytester.makepyfile(**{f"test_{n}": code for n, code in enumerate(codes)})

    pytester.runpytest_inprocess().assert_outcomes(passed=4)


def test_a_scenario_s_name_that_is_almost_right_is_answered_with_the_right_one(pytester):
    result = outcome_of(
        pytester,
        """
        def test_it(scenario):
            scenario("rolling_deplyo")
        """,
    )

    result.stdout.fnmatch_lines(
        ["*there is no scenario rolling_deplyo*did you mean `rolling_deploy`?*"]
    )
