"""Where Scrapy's spiders come in: what reads them is loaded when a file or a folder is for Scrapy.

A file is for Scrapy when it imports it, or something that is named after it; a folder when it or one above
has a ``scrapy.cfg``, or when the environment names the settings of a project.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gossamer.core.errors import MissingServiceError
from gossamer.install import install_command
from gossamer.spiders.spider import Spider

PROJECT_FILE = "scrapy.cfg"
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+\w*scrapy", re.MULTILINE)


def project_for(path: Path) -> Any | None:
    """The Scrapy project of a file, with Scrapy's defaults where it has none; ``None``: it is not for Scrapy.

    Raises ``UsageError`` for a project that cannot be read, ``MissingServiceError`` without Scrapy.
    """
    folder = path.parent
    if _folder_of(folder) is None and not _IMPORT.search(path.read_bytes()):
        return None
    return _load_room().open_project(folder)


def adapt_module(module: ModuleType, folder: Path) -> list[type[Spider]]:
    """The spiders of Scrapy's that a module defines itself."""
    if "scrapy" not in sys.modules:
        return []
    found: list[type[Spider]] = _load_room().open_project(folder).spiders_of(module)
    return found


def adapt_class(kind: Any, folder: Path) -> type[Spider] | None:
    """Return a class of Scrapy's as a spider; ``None`` for another class."""
    if "scrapy" not in sys.modules:
        return None
    adapted: type[Spider] | None = _load_room().open_project(folder).adapt_class(kind)
    return adapted


def find_project_spiders(folder: Path) -> tuple[dict[str, type[Spider]], list[str]]:
    """Return the spiders of the Scrapy project around a folder, by name, and failed imports."""
    if _folder_of(folder) is None and not os.environ.get("SCRAPY_SETTINGS_MODULE"):
        return {}, []
    found: tuple[dict[str, type[Spider]], list[str]] = _load_room().open_project(folder).find_spiders()
    return found


def give_options(spider_class: type[Spider], options: Callable[[], Mapping[str, Any]]) -> type[Spider]:
    """Return the spider with settings of Scrapy, if it is a spider of Scrapy's."""
    if "gossamer.adapters.scrapy.loading" not in sys.modules:
        return spider_class
    given: type[Spider] = _load_room().give_options(spider_class, options)
    return given


def _folder_of(start: Path) -> Path | None:
    start = start.absolute()
    return next((one for one in (start, *start.parents) if (one / PROJECT_FILE).is_file()), None)


def _load_room() -> ModuleType:
    """Import the adapter for Scrapy."""
    try:
        importlib.import_module("scrapy")
    except ModuleNotFoundError as error:
        raise MissingServiceError(
            f"a spider of Scrapy's needs Scrapy ({error}): {install_command('scrapy')}"
        ) from None
    return importlib.import_module("gossamer.adapters.scrapy.loading")
