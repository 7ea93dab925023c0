"""The context of a log line, beside its text: the job, the page, the event.

A line that is written while a job or a page is in hand belongs to it, even if a callback, a library or Python
itself writes it. ``describe_lines`` sets the context of the current task and of those that it starts. A
writer adds its own details by ``extra=line_details(event="page_done", status=200)``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands that only say what there is do without it
    from gossamer.core.requests import Request

_ATTRIBUTE = "gossamer_details"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_current: ContextVar[Mapping[str, Any]] = ContextVar("gossamer_log", default=_NOTHING)
_page: ContextVar[Request | None] = ContextVar("gossamer_page", default=None)


def describe_lines(**details: Any) -> None:
    """Add details to the lines of the current task, and of the tasks that it starts."""
    _current.set({**_current.get(), **details})


def describe_page(request: Request) -> None:
    """Lines of the current task are about this page. Called for each page: it costs next to nothing."""
    _page.set(request)


def page_in_hand() -> Request | None:
    """Return the page of the current task's lines."""
    return _page.get()


def line_details(**details: Any) -> dict[str, dict[str, Any]]:
    """``extra`` of one line: its ``event`` and what belongs to it."""
    return {_ATTRIBUTE: details}


def details_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the details of a line that is being written; those of its writer win."""
    page = _page.get()
    own: Mapping[str, Any] = getattr(record, _ATTRIBUTE, _NOTHING)
    return {**_current.get(), **({"url": page.url} if page else {}), **own}
