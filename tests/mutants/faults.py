"""What a planted fault is, and how it gets into a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen


class StaleFault(Exception):
    """The code that a fault changes is gone, or stands there twice: the fault must be rewritten."""


@frozen(kw_only=True)
class Fault:
    """One line of a file made wrong."""

    file: str
    #: The line as it is, or the part of it that is changed.
    line: str
    faulty: str
    #: What is wrong then.
    says: str
    #: The function that the line stands in, where the file has the same line elsewhere.
    inside: str | None = None


def planted(fault: Fault, source: str) -> str:
    """The source with the fault in it."""
    lines = source.splitlines(keepends=True)
    place = place_of(fault, source)
    lines[place] = lines[place].replace(fault.line, fault.faulty)
    return "".join(lines)


def place_of(fault: Fault, source: str) -> int:
    """Where the line stands, counted from 0."""
    bodies = tuple(_bodies(fault.inside, source))
    found = [
        place
        for place, line in enumerate(source.splitlines())
        for _ in range(line.count(fault.line))
        if any(place in body for body in bodies)
    ]
    if len(found) != 1:
        where = fault.file if fault.inside is None else f"{fault.inside} of {fault.file}"
        raise StaleFault(f"{where} has {len(found)} times: {fault.line}")
    return found[0]


def source_of(fault: Fault, tree: Path) -> str:
    """The file that the fault belongs to."""
    path = tree / fault.file
    if not path.is_file():
        raise StaleFault(f"there is no {fault.file}")
    return path.read_text()


def _bodies(function: str | None, source: str) -> Iterator[range]:
    """The lines of every function of that name; without a name, of the whole file."""
    if function is None:
        yield range(len(source.splitlines()))
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            yield range(node.lineno - 1, node.end_lineno or node.lineno)
