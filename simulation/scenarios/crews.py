"""The members of a group one by one, each with all that its group says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from client.applications import CommitMode
from simulation.scenarios.parts import App, Group, Members
from simulation.scenarios.settings import ASSIGNORS


@frozen(kw_only=True)
class Person:
    """One consumer: who it is, what it wants, and when it starts (None: by script)."""

    name: str
    group: str
    topics: tuple[str, ...]
    pattern: str | None
    settings: Mapping[str, Any]
    app: App
    is_static: bool
    starts_at_ms: int | None

    def named(self, name: str) -> Person:
        """Another one, alike, that the script starts."""
        return evolve(self, name=name, starts_at_ms=None)

    def changed(self, settings: Mapping[str, Any], app: App | None) -> Person:
        """The same one with other settings and, perhaps, another application."""
        merged = {**self.settings, **settings}
        return evolve(self, settings=merged, app=self.app if app is None else app)

    def config_settings(self) -> dict[str, Any]:
        """Its settings; who commits by hand has automatic commits off, unless told otherwise."""
        found = dict(self.settings)
        if self.app.commit is not CommitMode.AUTO:
            found.setdefault("enable_auto_commit", False)
        found.setdefault(ASSIGNORS, ("range", "cooperative-sticky"))
        return found

    def wanted_topics(self) -> str:
        """The names of its topics, as a regular expression."""
        return self.pattern or "|".join(self.topics)


def roster_of(name: str, group: Group, all_topics: tuple[str, ...]) -> list[Person]:
    """The members of a group, in order."""
    alike: Mapping[str, Members]
    if isinstance(group.members, int):
        alike = {name: Members(count=group.members)}
    else:
        alike = {str(first): members for first, members in group.members.items()}
    found: list[Person] = []
    for first, members in alike.items():
        found += _alike(name, group, first, members, len(found), all_topics)
    return found


def _alike(  # noqa: PLR0913, PLR0917 (a member is made of all of these)
    group_name: str,
    group: Group,
    first: str,
    members: Members,
    before: int,
    all_topics: tuple[str, ...],
) -> Iterator[Person]:
    is_one = members.count is None
    count = members.count or 1
    start = (group.start if members.start is None else members.start).at_ms
    stagger = group.stagger if members.stagger is None else members.stagger
    # Who starts at a time of its own is the first of its own row.
    place = 0 if members.start is not None else before
    pattern = members.pattern or (None if members.subscribe else group.pattern)
    topics = members.subscribe or group.subscribe or (() if pattern else all_topics)
    for n in range(count):
        yield Person(
            name=first if is_one else f"{first}-{n + 1}",
            group=group_name,
            topics=() if pattern else topics,
            pattern=pattern,
            settings={**group.settings, **members.settings},
            app=group.app if members.app is None else members.app,
            is_static=group.static if members.static is None else members.static,
            starts_at_ms=None if start is None else start + stagger * (place + n),
        )
