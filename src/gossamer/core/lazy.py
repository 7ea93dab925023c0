"""Attributes and regular expressions that are computed on first use and then kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, Generic, TypeVar, cast, overload

T = TypeVar("T")


class lazy_property(Generic[T]):  # noqa: N801 - used like ``property``
    """``functools.cached_property`` as it is from Python 3.12 on: without a lock.

    For what every page asks for, within one thread: in 3.11 the lock costs as much again as all the rest.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first used.

    For those that few crawls need: compiling them all takes a fiftieth of a start.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    """Becomes the same as the compiled pattern, method by method."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # patterns have no such attributes
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(re.compile(*self._source), name)
        return value
