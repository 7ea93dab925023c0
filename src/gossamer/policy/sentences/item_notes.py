"""Remarks at a job's end about items and links, by its totals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault
from gossamer.core.jobs import JobTotals
from gossamer.core.notes import CallbackSource, CrawlNote, NoteKind, make_note
from gossamer.core.text import by_reason, format_count
from gossamer.policy.freshness import is_partial
from gossamer.policy.sentences.refusals import explain_refusal

SAME_KEY = 9
"""Items beyond the first from which on one key for all of them is a mistake."""
ReadSource = Callable[[str], CallbackSource]
MOST_NAMES = 4
"""Callbacks that are named in one line."""


def dropped_items(tally: JobTotals) -> dict[str, int]:
    """The items that were looked at and dropped, by the reason."""
    dropped = DropKind.ITEM.select_from(tally.dropped)
    dropped.pop("too_many", None)
    return dropped


def describe_dropped(job: str, items: int, dropped: Mapping[str, int]) -> str:
    """Report that every item of a job was dropped, and why; empty where that is not so.

    A job that is not kept has no id here.
    """
    if items or not dropped:
        return ""
    see = f"; `gossamer report quality {job}` shows examples" if job else ""
    return (
        f"every item was dropped ({format_count(sum(dropped.values()), 'item')}): {by_reason(dropped)}{see}"
    )


def item_notes(job: str, tally: JobTotals) -> list[CrawlNote]:
    """That every item was dropped, or that all of them have one key."""
    if text := describe_dropped(job, tally.items, dropped_items(tally)):
        return [make_note(NoteKind.MISSING, text)]
    if tally.items == 1 and tally.duplicates >= SAME_KEY:
        text = (
            f"{tally.duplicates + 1} items had the same key and are one; if they are different things, mark "
            "with key() what tells them apart"
        )
        return [make_note(NoteKind.MISSING, text)]
    return []


def callback_notes(tally: JobTotals, read_source: ReadSource = lambda _: CallbackSource()) -> list[CrawlNote]:
    """Callbacks that never gave anything, and a crawl without any item: mostly a selector that fits nothing.

    Gossamer's own callbacks, whose names begin with an underscore, are not meant. ``read_source`` reads
    the source of the callback of a name.
    """
    if is_partial(tally):  # pages that lead to others have nothing new, and that is as it should be
        return []
    pages = {name: count for name, count in tally.callback_pages.items() if not name.startswith("_")}
    idle = {
        name: count
        for name, count in pages.items()
        if not tally.callback_items.get(name) and not tally.callback_requests.get(name)
    }
    said = []
    if idle:
        is_all = len(idle) == len(pages)
        sources = {name: read_source(name) for name in idle}
        said.append(_idle_note(idle, _idle_cause(sources, tally, is_all=is_all), is_all=is_all))
    # Failed pages have their own warning.
    has_failed = not {Fault.CALLBACK, Fault.PIPELINE}.isdisjoint(tally.by_reason)
    has_result = any(tally.callback_items.values()) or _has_items(tally) or tally.stats  # it may only count
    if pages and not idle and not (has_result or has_failed):
        names = ", ".join(f"{name}() on {format_count(count, 'page')}" for name, count in pages.items())
        said.append(f"no callback gave an item: {names}")
    return [make_note(NoteKind.CALLBACK, text) for text in said]


def _idle_cause(sources: Mapping[str, CallbackSource], tally: JobTotals, *, is_all: bool) -> str:
    """Why callbacks give nothing: code that can give nothing, links that were refused, or their selectors."""
    is_one = len(sources) == 1
    if silent := [name for name, source in sources.items() if source.lacks_yield]:
        names = "it" if is_one else ", ".join(f"{name}()" for name in silent)
        return f"{names} {'has' if len(silent) == 1 else 'have'} no `yield` and no `return` with a value"
    refused = DropKind.LINK.select_from(tally.dropped)
    if is_all and (why := explain_refusal(refused)):
        return f"{format_count(sum(refused.values()), 'link')} left out ({by_reason(refused)}): {why}"
    selectors = [text for source in sources.values() for text in source.selectors]
    named = f" ({', '.join(map(repr, selectors[:MOST_NAMES]))})" if is_one and selectors else ""
    return f"do {'its' if is_one else 'their'} selectors fit{named}?"


def _idle_note(pages: Mapping[str, int], cause: str, *, is_all: bool) -> str:
    """Describe, in one line, callbacks that gave nothing on many pages, and the cause."""
    if len(pages) == 1:
        ((name, count),) = pages.items()
        on = "its only page" if count == 1 else f"any of its {count:,} pages"
        return f"{name}() gave neither items nor new requests on {on}: {cause}"
    most_first = sorted(pages.items(), key=lambda each: -each[1])
    listed = ", ".join(
        f"{name}() on {format_count(count, 'page')}" for name, count in most_first[:MOST_NAMES]
    )
    listed += ", ..." if len(pages) > MOST_NAMES else ""
    which = "no callback gave items or" if is_all else f"{len(pages)} callbacks gave neither items nor"
    return f"{which} new requests on any page: {listed}; {cause}"


def _has_items(tally: JobTotals) -> bool:
    """Whether there was an item, stored or dropped: also one of a callback that failed later."""
    return bool(tally.items) or bool(DropKind.ITEM.select_from(tally.dropped))
