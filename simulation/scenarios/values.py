"""The small values of a scenario as people write them: lengths of time, rates, latencies, names.

Each has one reader, which takes what a file or a script in Python may say, and one writer, which
gives the text that the reader takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NewType

from attrs import frozen

from simulation.chance import LAN, Law
from simulation.durations import Duration, duration_text, milliseconds
from simulation.scenarios.mistakes import Wrong, shown

#: A length of time or a time since the start of the run, in milliseconds.
Ms = NewType("Ms", int)
#: The same, and not 0.
SomeMs = NewType("SomeMs", int)
#: Records a second.
Rate = NewType("Rate", Fraction)
#: What groups, members, topics and variants may be called.
Name = NewType("Name", str)
#: A number of things, at least one.
Count = NewType("Count", int)
#: A number of things, or none; an offset or a place in a list.
Whole = NewType("Whole", int)
#: Which consumers: names, `leader of G`, `N of G`, `all of G`, `owner of T-P [in G]`.
Whom = NewType("Whom", tuple[str, ...])
#: Which brokers: ids, or `coordinator of G`.
Brokers = NewType("Brokers", tuple[int | str, ...])

A_DURATION = "a length of time such as 250ms, 45s, 5m or 1h30m"
A_RATE = "records over time such as 2000/s or 30/m"
A_NAME = "up to 200 letters, digits, '.', '_' and '-', not beginning with '.' or '-'"
#: Ten years: nothing that anybody waits for is longer.
LONGEST_MS = 3_650 * 86_400_000

#: What closing does to the membership, as Kafka names it.
Close = NewType("Close", str)
#: A kind of event (docs/events.md).
Kind = NewType("Kind", str)
#: Something of the user's own in Python, `module:name`.
PythonName = NewType("PythonName", str)

ALL_BROKERS = Brokers(())

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_RATE = re.compile(r"(\d{1,12})\s*/\s*(s|m|h)")
_PER_RECORD = re.compile(r"(?:(?P<least>.+?)\s+to\s+)?(?P<most>.+?)\s+per\s+record")
_MICROS = re.compile(r"(\d{1,9})\s*us")
_SECONDS_OF = {"s": 1, "m": 60, "h": 3_600}


def duration(value: Duration) -> Ms:
    """A length of time; a bare number is one of milliseconds."""
    try:
        found = milliseconds(value)
    except (ValueError, OverflowError) as error:
        raise Wrong(f"found {shown(value)}", f"must be {A_DURATION}") from error
    if found > LONGEST_MS:
        raise Wrong(f"found {shown(value)}", "must be at most ten years")
    return Ms(found)


def maybe_duration(value: Duration | None) -> Ms | None:
    """A length of time, or none."""
    return None if value is None else duration(value)


def rate(value: int | str | Fraction) -> Rate:
    """Records a second; a bare number is that."""
    wrong = Wrong(f"found {shown(value)}", f"must be {A_RATE}")
    if isinstance(value, str):
        parts = _RATE.fullmatch(value.strip())
        if parts is None:
            raise wrong
        return Rate(Fraction(int(parts[1]), _SECONDS_OF[parts[2]]))
    if type(value) not in (int, Fraction) or value < 0:
        raise wrong
    if (Fraction(value) * _SECONDS_OF["h"]).denominator != 1:
        raise Wrong(f"found {shown(value)}", "must be a whole number of records an hour")
    return Rate(Fraction(value))


def rate_text(value: Fraction) -> str:
    """A rate with the shortest unit in which it is a whole number."""
    whole = (unit for unit, seconds in _SECONDS_OF.items() if (value * seconds).denominator == 1)
    unit = next(whole)
    return f"{value * _SECONDS_OF[unit]}/{unit}"


@frozen
class PerRecord:
    """How long a record takes, in microseconds: always the same, or anything from least to most."""

    least_us: int
    most_us: int

    @property
    def text(self) -> str:
        """As people write it."""
        if self.most_us == 0:
            return "at once"
        most = _micros_text(self.most_us)
        if self.least_us == self.most_us:
            return f"{most} per record"
        return f"{_micros_text(self.least_us)} to {most} per record"


AT_ONCE = PerRecord(0, 0)
A_PER_RECORD = "`at once`, `1ms per record`, `50us per record` or `1ms to 20ms per record`"


def per_record(value: str | PerRecord) -> PerRecord:
    """How long an application takes over a record."""
    if isinstance(value, PerRecord):
        return value
    wrong = Wrong(f"found {shown(value)}", f"must be {A_PER_RECORD}")
    if not isinstance(value, str):
        raise wrong
    if value.strip() == "at once":
        return AT_ONCE
    parts = _PER_RECORD.fullmatch(value.strip())
    if parts is None:
        raise wrong
    most = _micros(parts["most"], wrong)
    least = most if parts["least"] is None else _micros(parts["least"], wrong)
    if least > most:
        raise wrong
    return PerRecord(least, most)


def _micros(text: str, wrong: Wrong) -> int:
    micros = _MICROS.fullmatch(text.strip())
    if micros is not None:
        return int(micros[1])
    try:
        return duration(text) * 1_000
    except Wrong as error:
        raise wrong from error


def _micros_text(us: int) -> str:
    return f"{us}us" if us % 1_000 else duration_text(us // 1_000)


A_LATENCY = "`lan`, `5ms`, `1ms to 20ms`, or a list of equally likely ones, least first"


def latency(value: str | Sequence[Duration] | Law) -> Law:
    """How long a message takes one way."""
    if isinstance(value, Law):
        return value
    wrong = Wrong(f"found {shown(value)}", f"must be {A_LATENCY}")
    if isinstance(value, str):
        if value.strip() == "lan":
            return LAN
        value = value.split(" to ")
    if not isinstance(value, list | tuple) or not value:
        raise wrong
    try:
        return Law(tuple(duration(each) for each in value))
    except ValueError as error:
        raise wrong from error


def latency_text(law: Law) -> str | list[str]:
    """The same as a file says it."""
    texts = list(map(duration_text, law.quantiles))
    if law == LAN:
        return "lan"
    if len(texts) == 1:
        return texts[0]
    return " to ".join(texts) if len(texts) == 2 else texts  # noqa: PLR2004 (from one to another)


@frozen
class Every:
    """How often: in even steps, or on average and at any time alike."""

    ms: int
    is_about: bool = False

    @property
    def text(self) -> str:
        """As people write it."""
        return f"about {duration_text(self.ms)}" if self.is_about else duration_text(self.ms)


def every(value: Duration | Every | None) -> Every | None:
    """`30s`, or `about 30s` for what happens by chance."""
    if value is None or isinstance(value, Every):
        return value
    text = value.strip() if isinstance(value, str) else value
    is_about = isinstance(text, str) and text.startswith("about ")
    if isinstance(text, str) and is_about:
        text = text.removeprefix("about ")
    return Every(some_time(text), is_about)


def positive(value: int) -> Count:
    """At least one."""
    if type(value) is not int or value < 1:
        raise Wrong(f"found {shown(value)}", "must be a whole number, at least 1")
    return Count(value)


def maybe_positive(value: int | None) -> Count | None:
    """At least one, or none."""
    return None if value is None else positive(value)


def whole(value: int) -> Whole:
    """At least zero."""
    if type(value) is not int or value < 0:
        raise Wrong(f"found {shown(value)}", "must be a whole number, at least 0")
    return Whole(value)


def maybe_whole(value: int | None) -> Whole | None:
    """At least zero, or none."""
    return None if value is None else whole(value)


def some_time(value: Duration) -> SomeMs:
    """A length of time that is not 0."""
    found = duration(value)
    if found == 0:
        raise Wrong(f"found {shown(value)}", f"must be {A_DURATION}, and not 0")
    return SomeMs(found)


def name(value: str) -> Name:
    """What something is called; it may become the name of a folder."""
    given: object = value
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise Wrong(f"found {shown(given)}", f"must be {A_NAME}")
    return Name(given)


def whom(value: str | Iterable[str]) -> Whom:
    """One consumer or several."""
    wanted: object = [value] if isinstance(value, str) else value
    wrong = Wrong(
        f"found {shown(value)}",
        "must be a consumer's name, a list of them, or like `leader of checkout`",
    )
    if not isinstance(wanted, list | tuple) or not wanted:
        raise wrong
    found = tuple(each.strip() if isinstance(each, str) else "" for each in wanted)
    if not all(found):
        raise wrong
    return Whom(found)


_COORDINATOR_OF = re.compile(r"coordinator of (\S+)")


def brokers(value: int | str | Iterable[int | str]) -> Brokers:
    """One broker or several."""
    wanted = [value] if isinstance(value, int | str) else value
    allowed = "must be a broker's id, a list of them, or `coordinator of GROUP`"
    if not isinstance(wanted, list | tuple):
        raise Wrong(f"found {shown(value)}", allowed)
    for each in wanted:
        is_id = type(each) is int and each >= 1
        if not is_id and not (isinstance(each, str) and _COORDINATOR_OF.fullmatch(each)):
            raise Wrong(f"found {shown(each)}", allowed)
    return Brokers(tuple(wanted))


def coordinated_group(broker: int | str) -> str | None:
    """The group in `coordinator of GROUP`; None for a broker's id."""
    return broker.removeprefix("coordinator of ") if isinstance(broker, str) else None
