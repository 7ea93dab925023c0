"""Orders to change a crawl, a host, a dead letter, a worker or a proxy."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from gossamer.core.record import Record


class ActionOrder(Record, frozen=True, kw_only=True):
    """One thing to be done."""

    kind: str  # what, in a word: ``pause``, ``limits``, ``hold``
    by: str  # who asks: the name of a token
    job: str = ""  # the id of the job that it is about
    who: str = ""  # the host, the worker or the proxy that it is about
    given: dict[str, Any] = {}  # the arguments
    expected: dict[str, Any] = {}  # the state that the caller saw; if it has changed, the order is refused
    goal: dict[str, Any] = {}  # the state after success: an interrupted order is repeated until it holds
    number: int = 0  # in the audit log, as soon as it is there
    key: str = ""  # theirs: an order that is given again with its key is carried out once

    @property
    def digest(self) -> str:
        """The digest that identifies the order among those of its caller."""
        said = [self.kind, self.job, self.who, self.given, self.expected]
        return blake2b(json.dumps(said, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()
