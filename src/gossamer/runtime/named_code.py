"""Code that text names, as ``module:Name``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def find_named(text: str, owner: object) -> Any:
    """Return the class, function or object that ``module:Name`` names, for a spider (``owner``).

    The module may be in the folder of this process. Raises ``ImportError``, ``AttributeError`` and
    ``ValueError``.
    """
    module, _, path = text.partition(":")
    found: Any = _load_module(module, owner)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _load_module(name: str, owner: object) -> ModuleType:
    """Import a module; the owner's is not run again under another name, which would duplicate its classes."""
    own = sys.modules.get(type(owner).__module__)
    path, parts = Path(getattr(own, "__file__", None) or "none.py"), name.split(".")
    if own is not None and path.with_suffix("").parts[-len(parts) :] == tuple(parts):
        return own
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # a program that is installed does not look there by itself
    return import_module(name)
