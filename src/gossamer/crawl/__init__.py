"""A crawl from its start to its summary, in one process or several.

Once anything of this folder was imported, ``from gossamer import crawl`` gives the folder in place of the
function: called, it does what the function does.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableFolder(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See :func:`gossamer.crawl.run.crawl`."""
        return import_module("gossamer.crawl.run").crawl(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableFolder
