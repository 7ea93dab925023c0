"""Finding Scrapy's spiders: in a file, in a project with ``scrapy.cfg``, or as a class at hand."""

from __future__ import annotations

import configparser
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from scrapy import Spider as ScrapySpider
from scrapy.settings import Settings
from scrapy.utils.spider import iter_spider_classes

from gossamer.adapters.scrapy.aliases import install_aliases
from gossamer.adapters.scrapy.reactor import install_reactor_finder
from gossamer.adapters.scrapy.removed import open_settings
from gossamer.adapters.scrapy.scripts import (
    SETTINGS_VARIABLE,
    ScriptedCrawl,
    find_crawl,
    find_crawls,
    hold_crawls,
)
from gossamer.adapters.scrapy.spider import AdaptedSpider, adapt_spider, with_options
from gossamer.core.errors import UsageError
from gossamer.core.text import describe_error

PROJECT_FILE = "scrapy.cfg"
PROJECT_VARIABLE = "SCRAPY_PROJECT"


class ScrapyProject:
    """A folder with a ``scrapy.cfg``, or none: then there are Scrapy's defaults alone."""

    def __init__(self, folder: Path | None) -> None:
        install_aliases()
        install_reactor_finder()
        self.folder = folder
        self.settings = Settings()
        open_settings(self.settings)
        if folder is not None and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        module, named_by = _find_settings(folder)
        if module:
            try:
                self.settings.setmodule(module, priority="project")
            except (Exception, SystemExit) as error:
                raise UsageError(
                    f"the settings {module!r} of {named_by} cannot be imported: {describe_error(error)}"
                ) from error

    def find_spiders(self) -> tuple[dict[str, type[AdaptedSpider]], list[str]]:
        """Return the spiders of ``SPIDER_MODULES`` by name, and the errors of failed imports."""
        found: dict[str, type[AdaptedSpider]] = {}
        broken = []
        for name in self.settings.getlist("SPIDER_MODULES"):
            modules, failed = _import_all(name)
            broken += failed
            for module in modules:
                found |= {str(kind.name): self._adapt(kind) for kind in iter_spider_classes(module)}
        return found, broken

    def spiders_of(self, module: ModuleType) -> list[type[AdaptedSpider]]:
        """Return the spiders that a module would crawl when run, or else those that it defines itself."""
        crawls = find_crawls(module)
        if not crawls:
            return [self._adapt(kind) for kind in iter_spider_classes(module)]
        by_name = self.find_spiders()[0] if any(isinstance(crawl.spider, str) for crawl in crawls) else {}
        found = {}
        for crawl in crawls:
            kind = crawl.spider
            if isinstance(kind, str):
                if kind not in by_name:
                    raise UsageError(f"{module.__file__} crawls {kind!r}: no spider has this name")
                kind = by_name[kind].scrapy_class
            found[kind] = self._adapt(kind, crawl)
        return list(found.values())

    def adapt_class(self, kind: Any) -> type[AdaptedSpider] | None:
        """Return the adapted class of a spider, or ``None`` if it is not one of Scrapy's."""
        is_spider = isinstance(kind, type) and issubclass(kind, ScrapySpider)
        return self._adapt(kind) if is_spider else None

    def _adapt(self, kind: type[ScrapySpider], crawl: ScriptedCrawl | None = None) -> type[AdaptedSpider]:
        """Adapt a class, with the settings and arguments that its file would give Scrapy."""
        crawl = crawl or find_crawl(kind)
        if crawl is None:
            return adapt_spider(kind, self.settings)
        settings = self.settings.copy()
        settings.update(crawl.settings)  # each value keeps its priority
        return adapt_spider(kind, settings, crawl.arguments)

    def read_module(self) -> AbstractContextManager[None]:
        """While a file is imported, Scrapy starts nothing that the file would start."""
        return hold_crawls()

    def import_file(self, path: Path) -> ModuleType | None:
        """Return the module of a file in a package of the project; ``None`` if the file stands alone."""
        folder = self.folder
        if folder is None or not path.is_relative_to(folder):
            return None
        inside = path.relative_to(folder)
        packages = [folder.joinpath(*inside.parts[:depth]) for depth in range(1, len(inside.parts))]
        if not packages or not all((package / "__init__.py").is_file() for package in packages):
            return None
        with hold_crawls():
            return import_module(".".join(inside.with_suffix("").parts))


def open_project(start: Path) -> ScrapyProject:
    """Return the project of a folder. Raises ``UsageError``.

    It is the current project, as with Scrapy, if the folder is inside it; otherwise the nearest.
    """
    start = start.absolute()
    folders = [folder for folder in (start, *start.parents) if (folder / PROJECT_FILE).is_file()]
    here = Path.cwd()
    own = [folder for folder in folders if here.is_relative_to(folder)]
    return ScrapyProject(next(iter(own or folders), None))


def give_options(spider_class: type[Any], options: Callable[[], Mapping[str, Any]]) -> type[Any]:
    """Return a spider with Scrapy settings from the command line."""
    given = options() if issubclass(spider_class, AdaptedSpider) else {}
    return with_options(spider_class, given) if given else spider_class


def _import_all(name: str) -> tuple[list[ModuleType], list[str]]:
    """Import a module and all below it; return errors as well, so one broken file hides no other spider."""
    try:
        with hold_crawls():
            module = import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - users' code
        return [], [f"the module {name!r} cannot be imported: {describe_error(error)}"]
    found, broken = [module], []
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        modules, failed = _import_all(f"{name}.{inner.name}")
        found += modules
        broken += failed
    return found, broken


def _find_settings(folder: Path | None) -> tuple[str, str]:
    """Return the settings module of a project and its source; the environment takes precedence.

    Raises ``UsageError`` if ``SCRAPY_PROJECT`` names an unknown project, where Scrapy would silently crawl
    without settings.
    """
    if module := os.environ.get(SETTINGS_VARIABLE):
        return module, SETTINGS_VARIABLE
    if folder is None:
        return "", ""
    file = folder / PROJECT_FILE
    config = configparser.ConfigParser()
    try:
        config.read(file, encoding="utf-8")
        known = dict(config.items("settings")) if config.has_section("settings") else {}
    except configparser.Error as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    project = os.environ.get(PROJECT_VARIABLE, "")
    if project and project.lower() not in known:
        raise UsageError(
            f"{PROJECT_VARIABLE} names the project {project!r}, which {file} does not have; it has "
            f"{', '.join(known) or 'none'}: change the variable, or unset it"
        )
    return known.get(project.lower() or "default", ""), str(file)
