"""Test suites of other people, for the plugin to be met by."""

from __future__ import annotations

import pytest

import groupsim.testing  # noqa: F401 - so that it is imported once, and not by every suite

A_WORLD = """
import pytest

def a_death(sim):
    sim.topic("orders", partitions=4, records_per_s=10)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_for("1m")
    sim.crash("ada")
    sim.run_for("1m")
"""
A_SCENARIO = """
title: A pod dies
cluster: {topics: {orders: {partitions: 4}}}
groups: {checkout: {members: 2, subscribe: [orders]}}
script: [{at: 20s, crash: checkout-2}]
run_for: 90s
expect: [rebalances < 2, lost == 0]
variants: {eager: {}, short: {groups.checkout.settings.session_timeout_ms: 10s}}
"""


def outcome_of(pytester: pytest.Pytester, source: str, *flags: str) -> pytest.RunResult:
    """What pytest says of a suite of one file."""
    pytester.makepyfile(test_it=source)
    return pytester.runpytest_inprocess("--strict-markers", "-Werror", *flags)
