"""How large a scenario may be; whoever trusts a file can raise each of them."""

from __future__ import annotations

from attrs import field, frozen
from attrs.validators import ge


@frozen(kw_only=True)
class Limits:
    """The most that is read and played without being asked for."""

    #: Of the file.
    file_bytes: int = field(default=262_144, validator=ge(1))
    #: Values in the file, after every alias has been followed.
    nodes: int = field(default=50_000, validator=ge(1))
    variants: int = field(default=100, validator=ge(1))
    #: Entries of the script, and how often one of them may come again.
    entries: int = field(default=1_000, validator=ge(1))
    repeats: int = field(default=100_000, validator=ge(1))
    brokers: int = field(default=100, validator=ge(1))
    members: int = field(default=2_000, validator=ge(1))
    partitions: int = field(default=20_000, validator=ge(1))
    #: Characters of a pattern, and steps to match all topics' names with all patterns.
    pattern_chars: int = field(default=250, validator=ge(1))
    pattern_steps: int = field(default=500_000, validator=ge(1))
    #: Rows of the recording.
    events: int = field(default=5_000_000, validator=ge(1))


USUAL = Limits()


def raised(**given: int | None) -> Limits:
    """The usual limits, with those that were given instead."""
    return Limits(**{name: most for name, most in given.items() if most is not None})
