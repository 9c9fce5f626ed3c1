"""A client that took a member id and never came back holds everyone's rebalance up."""

from freezegun import freeze_time

from coordinator import LocalCoordinator
from coordinator.local import NotAnswered

with freeze_time("2026-01-01") as clock:
    broker = LocalCoordinator(group_initial_rebalance_delay_ms=0)
    (ada,) = broker.stable_group("orders", "ada")
    ghost = broker.join("orders", client_id="ghost", session_timeout_ms=30_000)
    print("the ghost hears:", ghost.error.name)

    rejoin = broker.join("orders", ada)  # ada leads, so this starts a rebalance
    print("ada has an answer:", rejoin.done)
    try:
        print(rejoin.result)
    except NotAnswered as error:
        print(str(error).replace(ghost.result.member_id, "the ghost's id"))

    clock.tick(30)
    broker.advance()  # the ghost's session of 30 s is over
    print("ada has an answer:", rejoin.done, "in generation", rejoin.result.generation_id)
