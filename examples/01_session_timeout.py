"""A member that stops beating is removed when its session ends, and the rest must rejoin."""

from freezegun import freeze_time

from coordinator import LocalCoordinator

with freeze_time("2026-01-01") as clock:
    broker = LocalCoordinator(group_initial_rebalance_delay_ms=0)
    ada, bea = broker.stable_group("orders", "ada", "bea")
    print(
        "before:", broker.describe("orders").state, "with", len(broker.describe("orders").members)
    )

    clock.tick(40)
    print("bea beats after 40 s:", broker.heartbeat(bea).error.name)
    clock.tick(6)
    broker.advance()  # ada's session of 45 s is over

    print("after:", broker.describe("orders").state, "with", len(broker.describe("orders").members))
    print("bea beats again:", broker.heartbeat(bea).error.name)
    print("ada comes back:", broker.heartbeat(ada).error.name)
