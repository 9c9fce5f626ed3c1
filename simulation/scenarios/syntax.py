"""Where a text is no YAML, told so that whoever wrote it knows what to mend.

PyYAML says what its parser expected, at the place where it gave up. People look for the quote that
was not closed, and where it began.
"""

from __future__ import annotations

import re

import yaml
from attrs import frozen

_NO_YAML = "must be YAML"
#: No scenario is nested so deeply; Python can follow a little further.
_DEPTH_MAX = 50


@frozen
class _Trouble:
    """A kind of trouble: what PyYAML says of it, and what to tell instead."""

    said: re.Pattern[str]
    found: str
    allowed: str
    #: Whether it is told where the parser gave up, or where that began which it could not end.
    is_told_at_its_beginning: bool = False


def _row(said: str, found: str, allowed: str, *, at_its_beginning: bool = False) -> _Trouble:
    return _Trouble(re.compile(said), found, allowed, at_its_beginning)


#: What PyYAML says, and what is told; the first row that fits is meant.
_TROUBLES = (
    _row(
        r"mapping values are not allowed here",
        "found a colon where no key can be",
        "must be indented as the lines around it, and a text with `: ` in it must stand in quotes",
    ),
    _row(
        r"sequence entries are not allowed here",
        "found `- ` in the line of a key",
        "must begin a line of its own",
    ),
    _row(
        r"expected <block end>, but found '<scalar>'",
        "found more behind a text in quotes",
        "must be within the quotes",
    ),
    _row(
        r"expected <block end>",
        "found a line that does not go on with what is above it",
        "must be indented as what it goes on with",
    ),
    _row(r"found character '\\t'", "found a tab", "must be indented with spaces"),
    _row(
        r"found character '(?P<what>.)' that cannot start any token",
        "found a text that begins with {what}",
        "must stand in quotes",
    ),
    _row(
        r"expected ',' or '\]'",
        "found a list that is not closed",
        "must end with ], and have commas between its values",
        at_its_beginning=True,
    ),
    _row(
        r"expected ',' or '\}'",
        "found a mapping that is not closed",
        "must end with }, and have commas between its keys",
        at_its_beginning=True,
    ),
    _row(
        r"could not find expected ':'",
        "found a line without a colon",
        "must read like `key: value`",
        at_its_beginning=True,
    ),
    _row(
        r"found unexpected end of stream",
        "found a quote that is not closed",
        "must be closed",
        at_its_beginning=True,
    ),
    _row(r"but found another document", "found a second document", "must be one scenario"),
)


def trouble_of(error: yaml.MarkedYAMLError) -> tuple[int | None, str, str]:
    """The line of what is no YAML, what was found there and what is allowed."""
    problem = str(error.problem)
    mark = error.problem_mark or error.context_mark
    for trouble in _TROUBLES:
        if match := trouble.said.search(problem):
            if trouble.is_told_at_its_beginning:
                mark = error.context_mark or mark
            return _line(mark), trouble.found.format(**match.groupdict()), trouble.allowed
    found = problem if problem.startswith("found ") else f"found what cannot be: {problem}"
    return _line(mark), found, _NO_YAML


def _line(mark: yaml.Mark | None) -> int | None:
    return None if mark is None else mark.line + 1


def deep_line(text: str) -> int | None:
    """The line from which on values are nested too deeply; the parser's events are not nested."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_MAX and event.start_mark is not None:
                return event.start_mark.line + 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None
