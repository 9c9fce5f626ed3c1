"""Frozen values that are made by the million: checked in one look, filled in one go.

attrs fills a frozen object field by field through a guarded door and calls one validator after
the other. `quickly_made` gives a class an `__init__` of the same signature that looks at all
values in one expression and fills the object while it is a draft: an object of a subclass with
the same slots that may still be written to. Whatever does not pass that one look (a subclass of a
type, a wrong value) goes through attrs' own `__init__`, whose word and errors count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from attrs import NOTHING, Attribute, fields

T = TypeVar("T")


class Look(NamedTuple):
    """An expression over a value (`{0}`) and what it is compared with (`{1}`)."""

    expression: str
    wanted: object


class Usual(NamedTuple):
    """The values of a field that the class' own post-init leaves alone, and their default."""

    name: str
    default: object
    look: Look


class _Kind(NamedTuple):
    """What is known of a class that is quickly made: how it is drafted, and its usual values."""

    draft: type
    defaults: dict[str, object]


#: For each validator a look that implies it, and that the usual values pass.
_LOOKS: dict[object, Look] = {}
_KINDS: dict[type, _Kind] = {}


def in_one_look(validator: T, expression: str, wanted: object) -> T:
    """The validator, from now on with a look that may stand for it."""
    _LOOKS[validator] = Look(expression, wanted)
    return validator


def quickly_made(kind: type[T], usual: Usual | None = None) -> type[T]:
    """Give a frozen attrs class with slots an `__init__` that makes the usual object quickly.

    Its fields are public, and their defaults are values, not factories. With `usual`, a post-init
    need not run for an object that passes the look.
    """
    by_attrs = kind.__init__
    # What the new one needs to know, by names that no public field can have.
    names: dict[str, object] = {"_kind": kind, "_by_attrs": by_attrs}
    draft = _draft_of(kind)
    names |= {"_draft": draft, "_set": object.__setattr__}
    parameters: list[str] = []
    looks = ["type(self) is _kind"]
    defaults: dict[str, object] = {}
    attributes: tuple[Attribute[Any], ...] = fields(kind)  # type: ignore[arg-type]
    for each in attributes:
        if each.kw_only and "*" not in parameters:
            parameters.append("*")
        name, default = each.name, each.default
        needed = [] if each.validator is None else [_LOOKS[each.validator]]
        if usual is not None and usual.name == name:
            default = usual.default
            needed.append(usual.look)
        for number, look in enumerate(needed):
            names[f"_wanted_{number}_{name}"] = look.wanted
            looks.append(look.expression.format(name, f"_wanted_{number}_{name}"))
        names[f"_default_{name}"] = defaults[name] = default
        parameters.append(name if default is NOTHING else f"{name}=_default_{name}")
    has_more_to_do = usual is None and hasattr(kind, "__attrs_post_init__")
    lines = [
        f"def __init__(self, {', '.join(parameters)}):",
        f"  if not ({' and '.join(looks)}):",
        f"    _by_attrs(self, {', '.join(f'{each.name}={each.name}' for each in attributes)})",
        "    return",
        "  _set(self, '__class__', _draft)",
        *(f"  self.{each.name} = {each.name}" for each in attributes),
        "  self.__class__ = _kind",
        *(["  self.__attrs_post_init__()"] if has_more_to_do else []),
    ]
    exec("\n".join(lines), names)  # noqa: S102 (as attrs does: all words are those of the class)
    made: Any = names["__init__"]
    made.__qualname__, made.__module__ = by_attrs.__qualname__, by_attrs.__module__
    made.__annotations__ = by_attrs.__annotations__
    kind.__init__ = made  # type: ignore[method-assign]
    _KINDS[kind] = _Kind(draft, defaults)
    return kind


def surely_made(kind: type[T], *given: str) -> Callable[..., T]:
    """A function that makes an object of such a class from these fields, in this order.

    The other fields have their defaults. Nothing is checked, and no post-init runs: it is for the
    few places that make a value per record, of values that are known to be right.
    """
    draft, defaults = _KINDS[kind]
    names: dict[str, object] = {"_kind": kind, "_draft": draft, "_new": object.__new__}
    lines = [f"def surely({', '.join(given)}):", "  _made = _new(_draft)"]
    for name, default in defaults.items():
        if name not in given:
            if default is NOTHING:
                raise TypeError(f"{name} of {kind.__name__} has no default")
            names[f"_default_{name}"] = default
        lines.append(f"  _made.{name} = {name if name in given else f'_default_{name}'}")
    lines += ["  _made.__class__ = _kind", "  return _made"]
    exec("\n".join(lines), names)  # noqa: S102 (as above)
    surely: Callable[..., T] = names["surely"]  # type: ignore[assignment]
    return surely


def _draft_of(kind: type[T]) -> type[T]:
    """The class without its guards; both, for they share one door in the interpreter."""
    unguarded = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(kind.__name__, (kind,), {"__slots__": (), **unguarded})
