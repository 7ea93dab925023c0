"""The programs of ``scripts/`` as modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[2] / "scripts"


@contextmanager
def script_module(name: str) -> Iterator[ModuleType]:
    """Import a script; afterwards forget it, and the other scripts that it has imported."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(SCRIPTS))
        for script in SCRIPTS.glob("*.py"):
            sys.modules.pop(script.stem, None)
