"""Plain data to the values of a scenario and back, by cattrs; every mistake at once.

What cannot be read is taken out and the rest is read again, so that the mistakes behind the first
ones are found too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from simulation.scenarios.conversions import CONVERTER, SKIPPED
from simulation.scenarios.documents import Document
from simulation.scenarios.mistakes import Mistake, Path
from simulation.scenarios.wrongs import wrongs_of

T = TypeVar("T")


@frozen(kw_only=True)
class Structured(Generic[T]):
    """What could be read of a document, and all mistakes in it."""

    value: T | None
    mistakes: list[Mistake]
    #: The document's data without what could not be read.
    data: Any

    def place_of(self, path: Path) -> Path:
        """A path into the value as one into the document, where lists may have more in them."""
        place: list[str | int] = []
        here = self.data
        for step in path:
            if isinstance(here, list) and isinstance(step, int):
                kept = [n for n, each in enumerate(here) if each is not SKIPPED]
                place.append(kept[step])
                here = here[kept[step]]
            else:
                place.append(step)
                here = here.get(step) if isinstance(here, Mapping) else None
        return tuple(place)


def structure(document: Document, wanted: type[T]) -> Structured[T]:
    """The value that a document describes as far as it can be read, and all mistakes in it."""
    mistakes: list[Mistake] = []
    blamed: list[Path] = []
    data = document.data
    while True:
        try:
            value = CONVERTER.structure(data, wanted)
            return Structured(value=value, mistakes=mistakes, data=data)
        except Exception as error:  # noqa: BLE001 (cattrs wraps whatever a value raises)
            found = [((*path, *wrong.at), wrong) for path, wrong in wrongs_of(error, ())]
        smaller = data
        for path, wrong in found:
            smaller = _without(smaller, path)
            # What is wrong around a value that was taken out is wrong because of that.
            if not any(each[: len(path)] == path for each in blamed):
                blamed.append(path)
                mistakes.append(document.mistake(path, wrong.found, wrong.allowed, wrong.nearest))
        if smaller == data or smaller is None:
            return Structured(value=None, mistakes=mistakes, data=data)
        data = smaller


def unstructure(value: object) -> Any:  # noqa: ANN401 (plain data)
    """The plain data of a value; what is as usual is left out."""
    return CONVERTER.unstructure(value)


def _without(data: Any, path: Path) -> Any:  # noqa: ANN401 (plain data)
    """The same without a value; a value that is not there takes what is around it with it."""
    if not path:
        return None
    *above, last = path
    around = data
    for step in above:
        try:
            around = around[step]
        except (KeyError, IndexError, TypeError):
            return _without(data, path[:-1])
    if isinstance(around, Mapping) and last in around:
        return _replaced(data, above, {key: each for key, each in around.items() if key != last})
    if isinstance(around, list) and isinstance(last, int) and last < len(around):
        # Places in the list are part of other paths, so the others stay where they are.
        return _replaced(data, above, [*around[:last], SKIPPED, *around[last + 1 :]])
    return _without(data, path[:-1])


def _replaced(data: Any, path: list[str | int], value: object) -> Any:  # noqa: ANN401 (plain data)
    if not path:
        return value
    step, *rest = path
    inner = _replaced(data[step], rest, value)
    if isinstance(data, Mapping):
        return {**data, step: inner}
    assert isinstance(step, int)
    return [*data[:step], inner, *data[step + 1 :]]
