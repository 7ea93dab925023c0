"""A question that a server did not answer: what to say of it."""

from __future__ import annotations

from gossamer.policy.sentences.outages import describe_outage
from gossamer.policy.sentences.words import Saying
from gossamer.wiring.backends import Backends


def explain_outage(backends: Backends, error: Exception) -> Saying:
    """Explain a failed read and its consequences for the crawls of this place."""
    return describe_outage(str(error), is_fleet=backends.requests.fleet is not None)
