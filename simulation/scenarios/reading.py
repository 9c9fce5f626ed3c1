"""A scenario from its document: read, checked, and with each of its variants tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from attrs import evolve

from simulation.scenarios.checking import check
from simulation.scenarios.documents import Change, Document, parse
from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import Mistake, Path, ScenarioError, Wrong, path_text
from simulation.scenarios.overrides import overridden
from simulation.scenarios.structuring import structure

if TYPE_CHECKING:
    from simulation.scenarios.scenario import Scenario


def document_of(path: FilePath, limits: Limits) -> Document:
    """The document of a file; what cannot be read is refused as a mistake in it."""
    file = str(path)
    try:
        with path.open("rb") as opened:
            raw = opened.read(limits.file_bytes + 1)
    except OSError as error:
        found = f"cannot be read: {error.strerror or error}"
        raise ScenarioError([Mistake(file=file, found=found, allowed="must be a file")]) from error
    if len(raw) > limits.file_bytes:
        found = f"found more than {limits.file_bytes} bytes"
        allowed = "must be smaller"
        raise ScenarioError([Mistake(file=file, found=found, allowed=allowed)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = "found bytes that are no UTF-8"
        wrong = Mistake(file=file, line=line, found=found, allowed="must be UTF-8")
        raise ScenarioError([wrong]) from error
    document = parse(text, file, limits)
    if isinstance(document.data, dict) and "name" not in document.data:
        document.data["name"] = path.stem
        document = Document(file, document.data, {**document.lines, ("name",): 1})
    return document


def read(
    document: Document, kind: type[Scenario], *, limits: Limits, allow_python: bool
) -> Scenario:
    """The scenario, if it and all its variants can be played; else every mistake in them."""
    scenario, mistakes = _read_one(document, kind, limits=limits, allow_python=allow_python)
    known = set(map(_key, mistakes))
    for name, changes in _variants_of(document.data)[: limits.variants]:
        for mistake in _mistakes_of_variant(
            document, name, changes, kind, limits=limits, allow_python=allow_python
        ):
            if _key(mistake) not in known:
                known.add(_key(mistake))
                mistakes.append(mistake)
    if mistakes or scenario is None:
        raise ScenarioError(sorted(mistakes, key=lambda mistake: mistake.line or 0))
    return scenario


def with_changes(
    document: Document, changes: Mapping[str, Any], asked: Callable[[str], Change]
) -> tuple[Document, list[Mistake]]:
    """The document with other values by their paths; a path that leads nowhere is a mistake.

    Whatever is wrong with it then is told of the change that led to it: `asked` says where the
    change of a path was asked for.
    """
    mistakes = []
    changed = evolve(document, changes=())
    for path, value in changes.items():
        origin = asked(str(path))
        try:
            changed = overridden(changed, str(path), value, origin)
        except Wrong as wrong:
            mistakes.append(
                Mistake(
                    file=origin.file,
                    line=origin.line,
                    path=path_text(origin.path),
                    found=wrong.found,
                    allowed=wrong.allowed,
                    nearest=wrong.nearest,
                    place=(str(path),),
                )
            )
    return changed, mistakes


def in_variant(document: Document, name: str) -> Callable[[str], Change]:
    """Where the changes of a variant stand."""

    def asked(path: str) -> Change:
        place = ("variants", name, path)
        return Change((), document.file, place, document.line_of(place))

    return asked


def with_overrides(  # noqa: PLR0913 (each is named where it is called)
    document: Document,
    variants: Mapping[str, Mapping[str, Any]],
    overrides: Mapping[str, Any],
    kind: type[Scenario],
    *,
    called: str,
    limits: Limits,
    allow_python: bool,
) -> Scenario:
    """The scenario with other values, in whichever of these variants; each of them is tried.

    A scenario with variants need not be able to take the changes without them. A mistake is told
    of those values without which it would not be one.
    """

    def tried(some: Mapping[str, Any]) -> Scenario:
        return _with_overrides(
            document, variants, some, kind, called=called, limits=limits, allow_python=allow_python
        )

    try:
        return tried(overrides)
    except ScenarioError as error:
        if len(overrides) == 1:
            raise
        behind: dict[tuple[object, ...], list[str]] = {_key(each): [] for each in error.mistakes}
        for path in overrides:
            without = {each: value for each, value in overrides.items() if each != path}
            remaining = _mistakes(partial(tried, without))
            for key in behind.keys() - remaining:
                behind[key].append(path)
        raise ScenarioError(
            [
                evolve(each, file=f"{called} {', '.join(paths)}")
                if (paths := behind[_key(each)])
                else each
                for each in error.mistakes
            ]
        ) from error


def _mistakes(trying: Callable[[], object]) -> set[tuple[object, ...]]:
    try:
        trying()
    except ScenarioError as error:
        return set(map(_key, error.mistakes))
    return set()


def _with_overrides(  # noqa: PLR0913 (each is named where it is called)
    document: Document,
    variants: Mapping[str, Mapping[str, Any]],
    overrides: Mapping[str, Any],
    kind: type[Scenario],
    *,
    called: str,
    limits: Limits,
    allow_python: bool,
) -> Scenario:
    def asked(path: str) -> Change:
        return Change((), f"{called} {path}")

    common = without_variants(document)
    changed, mistakes = with_changes(common, overrides, asked)
    scenario, found = _read_one(changed, kind, limits=limits, allow_python=allow_python)
    if not variants:
        if mistakes or found or scenario is None:
            raise ScenarioError(mistakes + found)
        return scenario
    wrong: dict[tuple[object, ...], tuple[Mistake, list[str]]] = {}
    for name, own in variants.items():
        of_variant, _ = with_changes(common, own, in_variant(document, name))
        its, none = with_changes(of_variant, overrides, asked)
        _, its_own = _read_one(its, kind, limits=limits, allow_python=allow_python)
        for mistake in none + its_own:
            wrong.setdefault((mistake.file, *_key(mistake)), (mistake, []))[1].append(name)
    if wrong:
        raise ScenarioError([_in_variants(*each, len(variants)) for each in wrong.values()])
    if mistakes or found or scenario is None:
        return read(common, kind, limits=limits, allow_python=allow_python)
    return scenario


def _in_variants(mistake: Mistake, names: list[str], count: int) -> Mistake:
    """A mistake that only some variants have says which."""
    if 1 < len(names) == count:
        return mistake
    where = f"in variant {' and '.join(names)}"
    return evolve(mistake, path=f"{where}: {mistake.path}" if mistake.path else where)


def _read_one(
    document: Document, kind: type[Scenario], *, limits: Limits, allow_python: bool
) -> tuple[Scenario | None, list[Mistake]]:
    found = structure(document, kind)
    mistakes = found.mistakes
    if found.value is not None:
        findings = check(
            found.value,
            data=document.data,
            unread=[mistake.place for mistake in mistakes],
            limits=limits,
            allow_python=allow_python,
        )
        for path, wrong in findings:
            place = found.place_of((*path, *wrong.at))
            mistakes.append(document.mistake(place, wrong.found, wrong.allowed, wrong.nearest))
    return found.value, mistakes


def _variants_of(data: Any) -> list[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 (plain data)
    variants = data.get("variants") if isinstance(data, Mapping) else None
    if not isinstance(variants, Mapping):
        return []
    return [(name, found) for name, found in variants.items() if isinstance(found, Mapping)]


def _mistakes_of_variant(  # noqa: PLR0913 (each is named where it is called)
    document: Document,
    name: str,
    changes: Mapping[str, Any],
    kind: type[Scenario],
    *,
    limits: Limits,
    allow_python: bool,
) -> list[Mistake]:
    """What is wrong with a variant that is not wrong without it."""
    asked = in_variant(document, name)
    changed, mistakes = with_changes(without_variants(document), changes, asked)
    _, found = _read_one(changed, kind, limits=limits, allow_python=allow_python)
    return mistakes + found


def without_variants(document: Document) -> Document:
    """What all variants have in common."""
    data = document.data
    if isinstance(data, Mapping):
        data = {key: value for key, value in data.items() if key != "variants"}
    return evolve(document, data=data)


def _key(mistake: Mistake) -> tuple[Path, str, str]:
    return mistake.place, mistake.found, mistake.allowed
