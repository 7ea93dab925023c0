"""A crawl from its start to its summary, in one process or several.

Once any module of this package is imported, ``from gossamer import crawl`` returns the package instead of the
function. The package is callable and behaves like the function.
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
