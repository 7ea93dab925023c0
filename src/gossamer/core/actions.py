"""What somebody asks to be done to a crawl, a host, a dead letter, a worker or a proxy."""

from __future__ import annotations

from typing import Any

from gossamer.core.record import Record


class ActionOrder(Record, frozen=True, kw_only=True):
    """One thing to be done."""

    kind: str  # what, in a word: ``pause``, ``limits``, ``hold``
    by: str  # who asks: the name of a token
    job: str = ""  # the id of the job that it is about
    who: str = ""  # the host, the worker or the proxy that it is about
    given: dict[str, Any] = {}  # what goes with it
    expected: dict[
        str, Any
    ] = {}  # what they saw, as far as it matters; where it is otherwise, nothing is done
    number: int = 0  # in the audit log, as soon as it is there
    key: str = ""  # theirs: an order that is given again with its key is carried out once
