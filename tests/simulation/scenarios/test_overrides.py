"""Other values by their paths, however short the file writes what they change."""

from simulation.scenarios import Scenario


def a_scenario() -> Scenario:
    return Scenario.from_yaml(
        """
        cluster: {topics: {orders: {partitions: 2}}}
        groups: {checkout: {members: [ada, bea], subscribe: orders}}
        script: [{at: 10s, crash_broker: 2}]
        variants:
          slow_load: {script.0.crash_broker.load: 30s}
          late: {groups.checkout.members.bea.start: 20s}
        """
    )


def test_a_path_leads_below_an_action_in_its_short_form():
    changed = a_scenario().variant("slow_load")

    assert changed.script[0].do.load == 30_000


def test_a_path_leads_below_a_member_of_a_list():
    changed = a_scenario().variant("late")

    assert changed.groups["checkout"].members["bea"].start.at_ms == 20_000
