"""Whether a consumer is at rest: questions that change nothing. What it does there: `resting`."""

from __future__ import annotations

from client.group import GroupClient
from client.polling import PollLoop
from client.settings import ConsumerConfig
from client.states import MemberState
from client.threads import Threads


def is_found_at_rest(threads: Threads, polling: PollLoop, group: GroupClient) -> bool:
    """Whether nothing is left to do in the wait under way."""
    client, membership = polling.client, group.membership
    coordinator, thread = membership.discovery.coordinator, membership.heartbeat_thread
    return (
        polling.is_at_rest
        and membership.state is MemberState.STABLE
        and not membership.is_rejoin_needed_or_pending
        and not group.commits.interceptors  # They are the user's, and may do anything.
        and not group.commits.has_news
        and thread is not None
        and thread.is_beating
        and threads.has_only(thread.turns)
        and coordinator is not None
        and client.is_at_rest
        and client.network.can_send(coordinator.connection)
        and client.config.retry_backoff_ms > 0
    )


def is_regular(config: ConsumerConfig, patience_ms: int) -> bool:
    """Whether nothing else is due before the next heartbeat, be this one answered or not.

    The session goes by the last answer, which may be two intervals old when the next is due.
    """
    interval_ms = config.heartbeat_interval_ms
    limits_ms = config.request_timeout_ms, config.max_poll_interval_ms
    return (
        config.retry_backoff_ms <= interval_ms <= patience_ms
        and interval_ms < min(limits_ms)
        and 2 * interval_ms <= config.session_timeout_ms
    )


def calm_until_ms(polling: PollLoop, group: GroupClient, now_ms: int) -> int:
    """Until when only heartbeats, commits and a look at metadata can be due, if nothing comes."""
    heartbeat, client = group.membership.heartbeat, polling.client
    return min(
        heartbeat.session_ends_ms,  # On these the heartbeat thread acts with its next turn.
        heartbeat.poll_ends_ms,
        client.network.overdue_from(now_ms),
        client.metadata.undecided_from_ms(now_ms),
        polling.ends_ms,
    )
