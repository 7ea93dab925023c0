"""What somebody asks to be done to a crawl, a host, a dead letter, a worker or a proxy."""

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
    given: dict[str, Any] = {}  # what goes with it
    expected: dict[
        str, Any
    ] = {}  # what they saw, as far as it matters; where it is otherwise, nothing is done
    goal: dict[str, Any] = {}  # what they see when it is done: one that was cut off is given again
    number: int = 0  # in the audit log, as soon as it is there
    key: str = ""  # theirs: an order that is given again with its key is carried out once

    @property
    def digest(self) -> str:
        """What tells it apart from any other order of the same caller."""
        said = [self.kind, self.job, self.who, self.given, self.expected]
        return blake2b(json.dumps(said, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()
