"""Sentences about a page's history in earlier crawls. Pure."""

from __future__ import annotations

from gossamer.core.freshness import KnownPage
from gossamer.core.text import format_count
from gossamer.queries.explain.facts import NumberFormatter, UrlFacts


def describe_known(facts: UrlFacts, show: NumberFormatter) -> list[str]:
    """When the page was checked, how often it had changed, and when it is due; empty: nothing is known."""
    page = facts.known
    if page is None:
        return []
    if not page.checks:
        return ["The spider has heard of it and not seen it yet: a crawl with --recrawl asks for it."]
    return [_describe_checks(page, show), *_describe_gone(page, show), _describe_due(page, facts.now, show)]


def _describe_checks(page: KnownPage, show: NumberFormatter) -> str:
    checks = format_count(page.checks, "time")
    changed = f"; it had changed {format_count(page.changes, 'time')}" if page.checks > 1 else ""
    return f"It was checked {checks}, the last time at {show.time(page.checked_at)} by {page.job}{changed}."


def _describe_gone(page: KnownPage, show: NumberFormatter) -> list[str]:
    return [] if page.gone_at is None else [f"It is gone since {show.time(page.gone_at)}."]


def _describe_due(page: KnownPage, now: float, show: NumberFormatter) -> str:
    if page.due_at <= now:
        return "It is due: the next crawl with --recrawl asks for it."
    wait_s = page.due_at - now
    return f"It is due in {show.span(wait_s)} ({show.time(page.due_at)})."
