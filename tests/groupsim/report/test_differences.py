"""What tells the scenarios of several runs apart."""

from __future__ import annotations

from typing import Any

from groupsim.report.differences import differences


def a_scenario(*, name: str = "it", script: Any = (), **group: Any) -> dict[str, Any]:
    """A scenario with one group."""
    return {"name": name, "groups": {"checkout": {"members": 3, **group}}, "script": script}


def test_scenarios_that_say_the_same_do_not_differ():
    assert differences([a_scenario(name="it"), a_scenario(name="that")]) == ["", ""]


def test_a_setting_goes_by_the_name_that_kafka_gives_it():
    scenarios = [a_scenario(settings={"session_timeout_ms": each}) for each in ("6s", "45s")]

    assert differences(scenarios) == ["session.timeout.ms 6s", "session.timeout.ms 45s"]


def test_what_only_others_say_is_told_by_its_default():
    scenarios = [
        a_scenario(static=True, app={"commit": "sync after each poll"}),
        a_scenario(settings={"session_timeout_ms": "6s"}),
    ]

    assert differences(scenarios) == [
        "static yes; commit sync after each poll; session.timeout.ms 45s",
        "static no; commit auto; session.timeout.ms 6s",
    ]


def test_what_has_no_default_is_said_to_be_missing():
    scenarios = [a_scenario(pattern="orders.*"), a_scenario()]

    assert differences(scenarios) == ["pattern orders.*", "pattern not set"]


def test_a_group_that_is_not_there_has_no_defaults():
    billing = {"groups": {**a_scenario()["groups"], "billing": {"static": True}}}

    assert differences([billing, a_scenario()]) == ["static yes", "static not set"]


def test_a_default_that_is_said_is_no_difference():
    scenarios = [a_scenario(settings={"session_timeout_ms": "45s"}), a_scenario()]

    assert differences(scenarios) == ["", ""]


def test_what_all_groups_of_a_run_have_is_told_once():
    def both(commit: str) -> dict[str, Any]:
        return {"groups": {name: {"app": {"commit": commit}} for name in ("checkout", "billing")}}

    assert differences([both("auto"), both("sync after each poll")]) == [
        "commit auto",
        "commit sync after each poll",
    ]


def test_of_the_script_those_entries_are_told_that_not_all_have():
    common = {"at": "1m", "crash": "ada"}
    scenarios = [
        a_scenario(script=[common, {"at": "2m", "restart": {"members": "bea", "down": "10s"}}]),
        a_scenario(script=[common]),
    ]

    assert differences(scenarios) == ["at 2m: restart members bea, down 10s", ""]


def test_an_action_is_told_with_the_defaults_of_what_others_name():
    scaled = {"group": "checkout", "lag_per_member": 10, "most": 12}
    scenarios = [
        a_scenario(script=[{"at": "30s", "autoscale": each}])
        for each in ({**scaled, "cooldown": "1m"}, scaled)
    ]

    assert differences(scenarios) == [
        "at 30s: autoscale group checkout, lag_per_member 10, most 12, cooldown 1m",
        "at 30s: autoscale group checkout, lag_per_member 10, most 12, cooldown 5m",
    ]


def test_members_by_name_are_no_difference_but_what_they_are_told_is():
    named, told = (
        {"groups": {"checkout": {"members": each}}}
        for each in (
            ["ada", "bea"],
            {"ada": None, "bea": {"start": "1m"}},
        )
    )

    assert differences([named, told]) == ["", "members.bea.start 1m"]
