"""Names that Scrapy has dropped or moved, for spiders from that time.

Nothing in Scrapy is replaced: a module is an alias only if Scrapy has none of that name, and an attribute
is added only if it is missing. Installed once, with the first spider of Scrapy's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from gossamer.adapters.scrapy import removed

MODULES = {
    "scrapy.command": "scrapy.commands",
    "scrapy.contrib.downloadermiddleware": "scrapy.downloadermiddlewares",
    "scrapy.contrib.exporter": "scrapy.exporters",
    "scrapy.contrib.linkextractors": "scrapy.linkextractors",
    "scrapy.contrib.loader": "scrapy.loader",
    "scrapy.contrib.loader.common": "itemloaders.common",
    "scrapy.contrib.loader.processor": "itemloaders.processors",
    "scrapy.contrib.pipeline": "scrapy.pipelines",
    "scrapy.contrib.spidermiddleware": "scrapy.spidermiddlewares",
    "scrapy.contrib.spiders": "scrapy.spiders",
    "scrapy.contrib_exp.downloadermiddleware": "scrapy.downloadermiddlewares",
    "scrapy.dupefilter": "scrapy.dupefilters",
    "scrapy.linkextractor": "scrapy.linkextractors",
    "scrapy.linkextractors.htmlparser": "scrapy.linkextractors.lxmlhtml",
    "scrapy.linkextractors.regex": "scrapy.linkextractors.lxmlhtml",
    "scrapy.linkextractors.sgml": "scrapy.linkextractors.lxmlhtml",
    "scrapy.loader.common": "itemloaders.common",
    "scrapy.loader.processors": "itemloaders.processors",
    "scrapy.selector.lxmlsel": "scrapy.selector",
    "scrapy.spider": "scrapy.spiders",
    "scrapy.spidermanager": "scrapy.spiderloader",
    "scrapy.spidermiddlewares.offsite": "scrapy.downloadermiddlewares.offsite",
    "scrapy.squeue": "scrapy.squeues",
    "scrapy.statscol": "scrapy.statscollectors",
    "scrapy.telnet": "scrapy.extensions.telnet",
    "scrapy.utils.decorator": "scrapy.utils.decorators",
    "scrapy.utils.markup": "w3lib.html",
    "scrapy.xlib.pydispatch": "pydispatch",
}
"""New names of modules by their old ones; submodules have moved along."""
OTHERS = ("scrapy.contrib.", "scrapy.extensions.")
"""Old packages whose other modules are now in the second one."""
EMPTY = frozenset({"scrapy.contrib", "scrapy.contrib_exp", "scrapy.xlib", "scrapy_playwright"})
"""Packages that only held others."""
_state: dict[str, AliasFinder] = {}


class AliasFinder(MetaPathFinder, Loader):
    """Finds modules by their old names, after all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an alias, of an empty package, or of a module made here; else ``None``."""
        if not fullname.startswith(("scrapy.", "scrapy_playwright")):
            return None
        if fullname in EMPTY:
            return ModuleSpec(fullname, self, is_package=True)
        if fullname in removed.MODULES or _target_of(fullname):
            return ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Any; what takes its place is known when it is run."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in the place of an alias."""
        name = module.__name__
        if name in EMPTY:
            return
        if name in removed.MODULES:
            module.__dict__.update(removed.MODULES[name]())
            return
        sys.modules[name] = import_module(_target_of(name))


def install_aliases() -> None:
    """Make the old names known. Idempotent."""
    if "finder" in _state:
        return
    _state["finder"] = finder = AliasFinder()
    sys.meta_path.append(finder)
    for name, attributes in removed.ATTRIBUTES.items():
        module = import_module(name)
        for attribute, value in attributes.items():
            if not hasattr(module, attribute):
                setattr(module, attribute, value)
    removed.add_methods()


def _target_of(name: str) -> str:
    """Return the module that replaces one, by its own name or that of a package around it."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        moved = MODULES.get(".".join(parts[:length]))
        if moved is not None:
            target = ".".join((moved, *parts[length:]))
            return target if _is_there(target) else moved if length == len(parts) else ""
    before, after = OTHERS
    target = name.replace(before, after, 1) if name.startswith(before) else ""
    return target if target and _is_there(target) else ""


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False
