"""How the command speaks: results to stdout, talk to stderr, colours for a terminal only."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from attrs import define, field
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from simulation.scenarios.mistakes import printable

#: Wide enough for the summaries' tables when nobody says how wide the page is.
_WIDTH_OF_A_FILE = 120
#: What JSON leaves as it is, and what some terminals obey.
_COMMANDS_IN_JSON = re.compile(r"[\x7f-\x9f]")


class Page(Console):
    """A console that shows anybody's names, in tables too, and commands a terminal by none of them.

    It does not end the program by itself when its reader has gone.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is about to be written, made harmless; styles and moves are not text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))

    def on_broken_pipe(self) -> None:
        """Let whoever called decide what it means."""
        self.quiet = True
        raise BrokenPipeError


def harmless(text: str) -> str:
    """Somebody's text, in which what would command a terminal is spelled out."""
    return "\n".join(map(printable, text.split("\n")))


def _page() -> Console:
    """Where results go; a file has no width of its own."""
    width = None if sys.stdout.isatty() else _WIDTH_OF_A_FILE
    return Page(highlight=False, markup=False, width=width)


def _talk() -> Console:
    return Page(highlight=False, markup=False, stderr=True)


@define(eq=False)
class Voice:
    """Rich looks at the terminal and at NO_COLOR itself."""

    page: Console = field(factory=_page)
    talk: Console = field(factory=_talk)

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line of the results, never broken: a terminal or a pager does that."""
        self.page.print(text, style=style, soft_wrap=True)

    def lines(self, texts: Iterable[str]) -> None:
        """Several of them."""
        for text in texts:
            self.line(text)

    def show(self, what: RenderableType) -> None:
        """A table."""
        self.page.print(what)

    def say(self, text: str) -> None:
        """A word to the person, beside the results."""
        self.talk.print(text, soft_wrap=True)


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever json takes
    """Results for a script."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # These stand in texts only, where JSON has another spelling for them.
    spelled = _COMMANDS_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.write(f"{spelled}\n")
