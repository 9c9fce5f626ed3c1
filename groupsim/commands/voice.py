"""How the command speaks: results to stdout, talk to stderr, colours for a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from attrs import define, field
from rich.console import Console, RenderableType

from simulation.scenarios.mistakes import printable

#: Wide enough for the summaries' tables when nobody says how wide the page is.
_WIDTH_OF_A_FILE = 120


class Page(Console):
    """A console that does not end the program by itself when its reader has gone."""

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
    return Console(highlight=False, markup=False, stderr=True)


@define(eq=False)
class Voice:
    """Rich looks at the terminal and at NO_COLOR itself."""

    page: Console = field(factory=_page)
    talk: Console = field(factory=_talk)

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line of the results, never broken: a terminal or a pager does that."""
        self.page.print(harmless(text), style=style, soft_wrap=True)

    def lines(self, texts: Iterable[str]) -> None:
        """Several of them."""
        for text in texts:
            self.line(text)

    def show(self, what: RenderableType) -> None:
        """A table."""
        self.page.print(what)

    def say(self, text: str) -> None:
        """A word to the person, beside the results."""
        self.talk.print(harmless(text), soft_wrap=True)


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever json takes
    """Results for a script."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
