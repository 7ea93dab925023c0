"""Spiders in files: modules that define them in Python, or one spider written in TOML.

A file that does not import is one clear message, never a traceback of ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from gossamer.core.errors import OperatorError, UsageError
from gossamer.core.text import describe_error
from gossamer.spiders.spider import Spider
from gossamer.targets.scrapy_files import adapt_class, adapt_module, project_for


def class_in_file(path: Path, name: str | None) -> type[Spider]:
    """The spider of a file: its only one, or the one of a name. Raises ``UsageError``."""
    if not path.is_file():
        near = get_close_matches(path.name, (other.name for other in path.parent.glob(f"*{path.suffix}")), 1)
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise UsageError(f"there is no file {path}{hint}")
    if path.suffix == ".toml":
        return spiders_in_file(path)[0]
    module = _import_file(path)
    found = _spiders_of(module, path)
    if name is not None:
        spider_class = getattr(module, name, None)
        if isinstance(spider_class, type) and issubclass(spider_class, Spider):
            return spider_class
        adapted = adapt_class(spider_class, path.resolve().parent)
        if adapted is None:
            raise UsageError(f"{path} has no spider class {name!r}; it has: {_names_of(found)}")
        return adapted
    if not found:
        raise UsageError(f"{path} has no spider; write a class in it that derives from gossamer.Spider")
    if len(found) > 1:
        raise UsageError(
            f"{path} has {len(found)} spiders ({_names_of(found)}); name one: {path}:{found[0].__name__}"
        )
    return found[0]


def _names_of(classes: list[type[Spider]]) -> str:
    return ", ".join(spider_class.__name__ for spider_class in classes) or "none"


def spiders_in_file(path: Path) -> list[type[Spider]]:
    """The spiders of a file: those that a module defines itself, or the one that is written in TOML."""
    if path.suffix == ".toml":
        declarative = importlib.import_module("gossamer.spiders.declarative.spider")  # most crawls have none
        return [declarative.load_spider(path)]
    return _spiders_of(_import_file(path), path)


def _spiders_of(module: ModuleType, path: Path) -> list[type[Spider]]:
    """The spiders a module defines itself."""
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Spider) and value.__module__ == module.__name__
    ]
    return own or adapt_module(module, path.resolve().parent)


def _import_file(path: Path) -> ModuleType:
    """The module of a file, as if it had been run in its own folder, or as a part of its Scrapy project."""
    path = path.resolve()
    name = f"gossamer_spider_{path.stem}"
    project = project_for(path)
    try:
        module: ModuleType | None = project.import_file(path) if project is not None else None
        if module is not None:
            return module
        if (folder := str(path.parent)) not in sys.path:  # what lies beside a part of a package hides nothing
            # A spider in rich.py must not hide the library of that name.
            module_name = path.stem.partition(".")[0]
            hides = module_name in sys.modules or bool(module_name and importlib.util.find_spec(module_name))
            sys.path.insert(len(sys.path) if hides else 0, folder)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None, "a .py file has a loader"  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        with nullcontext() if project is None else project.read_module():
            spec.loader.exec_module(module)
    except OperatorError:
        sys.modules.pop(name, None)
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - users' code
        sys.modules.pop(name, None)
        raise UsageError(f"{path} cannot be imported: {_describe_error(error, path)}") from None
    return module


def _describe_error(error: BaseException, path: Path) -> str:
    """``line 3: NameError: ...`` of the user's own file."""
    text = describe_error(error)
    if (
        isinstance(error, RuntimeError) and "running event loop" in text
    ):  # a program that crawls its own spider
        text += '; put what starts the crawl below: if __name__ == "__main__":'
    if isinstance(error, ModuleNotFoundError) and error.name and "gossamer" not in error.name:
        text += f"; install it beside gossamer (pip install ...), or put {error.name}.py beside this file"
    elif isinstance(error, NameError) and error.name in sys.modules["gossamer"].__all__:
        text += f"; is `from gossamer import {error.name}` missing?"
    if isinstance(error, SyntaxError):
        place = f"line {error.lineno}: " if error.lineno else ""
        inside = f" (in {error.filename})" if error.filename not in (None, str(path)) else ""
        way = "; write `for one in ...: yield one`" if "yield from" in error.msg else ""
        return f"{place}{type(error).__name__}: {error.msg}{inside}{way}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f"line {lines[-1]}: {text}" if lines else text
