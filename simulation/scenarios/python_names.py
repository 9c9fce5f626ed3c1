"""Code of the user's own, by `module:name`; imported only where that is allowed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def imported(text: str) -> Any:  # noqa: ANN401 (whatever the user wrote)
    """What `module:name` names."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)


def import_problem(text: str) -> str | None:
    """Why `module:name` cannot be used, if it cannot."""
    try:
        found = imported(text)
    except Exception as error:  # noqa: BLE001 (a user's module may raise anything)
        return f"must be importable: {type(error).__name__}: {error}"
    return None if callable(found) else "must be a function or a class"
