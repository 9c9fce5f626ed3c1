"""A scenario from its document: read, checked, and with each of its variants tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

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


@frozen(kw_only=True)
class Reader:
    """Who reads documents: as what, up to which sizes, and whether they may name code to run."""

    kind: type[Scenario]
    limits: Limits
    allow_python: bool

    def read(self, document: Document) -> Scenario:
        """The scenario, if it and all its variants can be played; else every mistake in them."""
        scenario, mistakes = self.read_one(document)
        known = set(map(_key, mistakes))
        for name, changes in _variants_of(document.data)[: self.limits.variants]:
            for mistake in self._mistakes_of_variant(document, name, changes):
                if _key(mistake) not in known:
                    known.add(_key(mistake))
                    mistakes.append(mistake)
        if mistakes or scenario is None:
            raise ScenarioError(sorted(mistakes, key=lambda mistake: mistake.line or 0))
        return scenario

    def read_one(self, document: Document) -> tuple[Scenario | None, list[Mistake]]:
        """The scenario without its variants, as far as it can be read, and every mistake in it."""
        found = structure(document, self.kind)
        mistakes = found.mistakes
        if found.value is not None:
            findings = check(
                found.value,
                data=document.data,
                unread=[mistake.place for mistake in mistakes],
                limits=self.limits,
                allow_python=self.allow_python,
            )
            for path, wrong in findings:
                place = found.place_of((*path, *wrong.at))
                mistakes.append(document.mistake(place, wrong.found, wrong.allowed, wrong.nearest))
        return found.value, mistakes

    def _mistakes_of_variant(
        self, document: Document, name: str, changes: Mapping[str, Any]
    ) -> list[Mistake]:
        asked = in_variant(document, name)
        changed, mistakes = with_changes(without_variants(document), changes, asked)
        _, found = self.read_one(changed)
        return mistakes + found


@frozen(kw_only=True)
class Overriding:
    """A document that is to have other values, in whichever of these variants."""

    document: Document
    variants: Mapping[str, Mapping[str, Any]]
    #: What mistakes call another value, such as --set.
    called: str
    reader: Reader

    def scenario(self, overrides: Mapping[str, Any]) -> Scenario:
        """The scenario with other values; each variant is tried with them.

        One with variants need not be able to take the changes without them. A mistake is told of
        those values without which it would not be one.
        """
        try:
            return self._tried(overrides)
        except ScenarioError as error:
            if len(overrides) == 1:
                raise
            behind: dict[object, list[str]] = {_key(each): [] for each in error.mistakes}
            for path in overrides:
                without = {each: value for each, value in overrides.items() if each != path}
                remaining = _mistakes(partial(self._tried, without))
                for key in behind.keys() - remaining:
                    behind[key].append(path)
            raise ScenarioError(
                [
                    evolve(each, file=f"{self.called} {', '.join(paths)}")
                    if (paths := behind[_key(each)])
                    else each
                    for each in error.mistakes
                ]
            ) from error

    def _tried(self, overrides: Mapping[str, Any]) -> Scenario:
        common = without_variants(self.document)
        changed, mistakes = with_changes(common, overrides, self._asked)
        scenario, found = self.reader.read_one(changed)
        if not self.variants:
            if mistakes or found or scenario is None:
                raise ScenarioError(mistakes + found)
            return scenario
        wrong: dict[tuple[object, ...], tuple[Mistake, list[str]]] = {}
        for name, own in self.variants.items():
            of_variant, _ = with_changes(common, own, in_variant(self.document, name))
            its, none = with_changes(of_variant, overrides, self._asked)
            _, its_own = self.reader.read_one(its)
            for mistake in none + its_own:
                wrong.setdefault((mistake.file, *_key(mistake)), (mistake, []))[1].append(name)
        if wrong:
            count = len(self.variants)
            raise ScenarioError([_in_variants(*each, count) for each in wrong.values()])
        if mistakes or found or scenario is None:
            return self.reader.read(common)
        return scenario

    def _asked(self, path: str) -> Change:
        return Change((), f"{self.called} {path}")


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


def _mistakes(trying: Callable[[], object]) -> set[tuple[object, ...]]:
    try:
        trying()
    except ScenarioError as error:
        return set(map(_key, error.mistakes))
    return set()


def _in_variants(mistake: Mistake, names: list[str], count: int) -> Mistake:
    """A mistake that only some variants have says which."""
    if 1 < len(names) == count:
        return mistake
    where = f"in variant {' and '.join(names)}"
    return evolve(mistake, path=f"{where}: {mistake.path}" if mistake.path else where)


def _variants_of(data: Any) -> list[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 (plain data)
    variants = data.get("variants") if isinstance(data, Mapping) else None
    if not isinstance(variants, Mapping):
        return []
    return [(name, found) for name, found in variants.items() if isinstance(found, Mapping)]


def without_variants(document: Document) -> Document:
    """What all variants have in common."""
    data = document.data
    if isinstance(data, Mapping):
        data = {key: value for key, value in data.items() if key != "variants"}
    return evolve(document, data=data)


def _key(mistake: Mistake) -> tuple[Path, str, str]:
    return mistake.place, mistake.found, mistake.allowed
