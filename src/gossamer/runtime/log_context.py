"""What a line of the log is about, beside its text: the job, the page, what happened.

A line that is written while a job or a page is in hand is about that one, whoever writes it: a callback, a
library, Python itself. ``describe_lines`` says so for the current task and those that it starts. Whoever
writes a line adds what only the writer knows, by ``extra=line_details(event="page_done", status=200)``.
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
    """Lines of the current task, and of the tasks that it starts, are about this, too."""
    _current.set({**_current.get(), **details})


def describe_page(request: Request) -> None:
    """Lines of the current task are about this page. Called for each page: it costs next to nothing."""
    _page.set(request)


def page_in_hand() -> Request | None:
    """The page that the lines of the current task are about."""
    return _page.get()


def line_details(**details: Any) -> dict[str, dict[str, Any]]:
    """``extra`` of one line: its ``event`` and what belongs to it."""
    return {_ATTRIBUTE: details}


def details_of(record: logging.LogRecord) -> dict[str, Any]:
    """What is known of a line that is being written: what its writer says comes first."""
    page = _page.get()
    own: Mapping[str, Any] = getattr(record, _ATTRIBUTE, _NOTHING)
    return {**_current.get(), **({"url": page.url} if page else {}), **own}
