"""Cleaning, validating and keying items."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from gossamer.items.pipeline import DefaultPipeline

__all__ = ["DefaultPipeline"]


class _CallableRoom(ModuleType):
    """This room, which is also the function ``gossamer.items``: both have the name that users expect."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("gossamer.queries.stored_items").read_items(*arguments, **options)


sys.modules[__name__].__class__ = _CallableRoom
