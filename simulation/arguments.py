"""What a script says, looked at where it is said: names, numbers, functions.

Whoever is wrong is told the argument, what it must be and what it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

#: As `Topic.validate` of Kafka has it.
_TOPIC_NAME_MOST = 249
_OF_A_TOPIC = re.compile(rf"[a-zA-Z0-9._-]{{1,{_TOPIC_NAME_MOST}}}")


def require_name(what: str, value: object) -> None:
    """Refuse what is no text, and a text without a letter."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text, not {value!r}")
    if not value.strip():
        raise ValueError(f"{what} must not be blank, not {value!r}")


def require_topic_name(name: object) -> None:
    """Refuse what Kafka does not take for the name of a topic, by its rule."""
    what = "name of a topic"
    require_name(what, name)
    if name in (".", ".."):
        raise ValueError(f"{what} must not be . or .., not {name!r}")
    if not _OF_A_TOPIC.fullmatch(str(name)):
        raise ValueError(
            f"{what} must be up to {_TOPIC_NAME_MOST} letters of ASCII, digits, '.', '_' and '-',"
            f" not {name!r}"
        )


def require_names(what: str, value: object) -> None:
    """Refuse what is no sequence of names, and a single name."""
    if isinstance(value, str):
        raise TypeError(f"{what} must be a sequence of names, not the text {value!r}")
    if not isinstance(value, Sequence):
        raise TypeError(f"{what} must be a sequence of names, not {value!r}")
    for each in value:
        require_name(f"each of {what}", each)


def require_different(what: str, names: Sequence[str]) -> None:
    """Refuse a name that is there twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{what} must be different names, not twice {twice[0]!r}")


def require_whole(what: str, value: object, *, least: int) -> None:
    """Refuse what is no whole number, and one that is too small."""
    if type(value) is not int:
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{what} must be at least {least}, not {value}")


def require_yes_or_no(what: str, value: object) -> None:
    """Refuse what is neither True nor False: a text such as "no" would count as True."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {value!r}")


def require_function(what: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{what} must be a function, such as lambda: ..., not {value!r}")


def require_method(what: str, value: object, method: str, example: str) -> None:
    """Refuse what does not do what is asked of it; the example says what would."""
    if not callable(getattr(value, method, None)):
        raise TypeError(f"{what} must be {example}, not {value!r}")


def require_kind(what: str, value: object, kind: type, example: str) -> None:
    """Refuse what is not of this class; the example says how one is made."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {example}, not {value!r}")
