"""Sentences about single attempts. Pure."""

from __future__ import annotations

from gossamer.core.results import Attempt
from gossamer.policy.sentences.errors import words_for
from gossamer.queries.explain.facts import NumberFormatter, UrlFacts


def last_try(facts: UrlFacts, show: NumberFormatter) -> str:
    """The latest try at the request, in one sentence."""
    tried = facts.attempts[0]
    status = f"status {tried.status}, " if tried.status else ""
    reason = f": {words_for(tried.reason)}" if tried.reason else ""
    if tried.detail and "\n" not in tried.detail and tried.detail != f"status {tried.status}":
        reason += f"; {tried.detail}"
    ago = show.span(facts.now - tried.at)
    return f"The last attempt, number {tried.attempt}, was {ago} ago ({status}{tried.verdict}{reason})."


def describe_origin(tried: Attempt) -> str:
    """Return the origin of a request; "" for a start URL."""
    redirected_by = tried.request.redirected_by if tried.request else ""
    if not redirected_by:
        return f"a link on {tried.via}" if tried.via else ""
    link = f", to which {tried.via} has a link" if tried.via else ""
    return f"a redirect of {redirected_by}{link}"
