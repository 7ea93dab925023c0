"""A function of a user's that makes one item of several, found by its name and run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.text import describe_error
from gossamer.runtime.user_code import traceback_text


class CustomRule:
    """Merges several items with a function of the user; its errors are shown with their traceback."""

    def __init__(self, name: str, function: Callable[[list[dict[str, Any]]], Any]) -> None:
        self._name = name
        self._function = function

    def __repr__(self) -> str:
        return f"<CustomRule {self._name}>"

    @classmethod
    def from_text(cls, text: str) -> CustomRule:
        """Import the function ``module:function``; the module may be in the current folder.

        Raises ``UsageError``.
        """
        module, _, name = text.partition(":")
        if (folder := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, folder)
        try:
            found = getattr(import_module(module), name)
        except (Exception, SystemExit) as error:
            raise UsageError(f"--rule {text!r} cannot be imported: {describe_error(error)}") from error
        if not callable(found):
            raise UsageError(f"--rule {text!r} is not a function: it takes a list of dicts and returns one")
        return cls(text, found)

    def make_item(self, sources: list[dict[str, Any]]) -> Mapping[str, Any]:
        """Return the fields of the item merged from the sources (their fields, the best first).

        Raises ``UsageError``, with the traceback if the function fails, and for a result without fields.
        """
        try:
            made = self._function(sources)
        except (Exception, SystemExit) as error:
            said = f"--rule {self._name} failed: {describe_error(error)}"
            raise UsageError(f"{said}\n{traceback_text(error, __file__).rstrip()}") from error
        if not isinstance(made, Mapping):
            raise UsageError(f"--rule {self._name} gave {made!r} and not the fields of an item")
        return made
