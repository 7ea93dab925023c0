"""The pages of a listing: which to request next, and when to stop. Pure.

The state of a chain of pages travels with each request (:class:`PagingState`), so any worker can handle any
page at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import ceil

from gossamer.core.record import Record

DIGEST_CHARACTERS = 8
"""Length of an entry's digest in hexadecimal digits: only entries of two pages are compared."""
MAX_ENTRIES = 500
"""Entries of a page that are remembered for the next one: the last ones, since pages may show all before."""

_GROUPED = r"[1-9]\d{0,2}(?:%s\d{3})+(?!\d)|[1-9]\d{0,1}(?:,\d{2})+,\d{3}(?!\d)"
_GROUP_MARKS = "[.,'\u2019\u00a0\u202f\u2009]"
_FRACTION = r"0[.,]\d+"
_NUMBERS = re.compile(rf"{_FRACTION}|{_GROUPED % _GROUP_MARKS}|\d+")
_SPACED_NUMBERS = re.compile(rf"{_FRACTION}|{_GROUPED % _GROUP_MARKS}|{_GROUPED % '[ ]'}|\d+")
_RANGE = re.compile(r"(\d+)\s*(?:[-\u2010-\u2015\u2212]|to|bis|a|\u00e0|al)\s*(\d+)", re.IGNORECASE)
_NEGATIVE = re.compile(r"[-\u2212]\s*\d[\d.,]*")
_LONGEST = 18
"""Digits of a number that can be a count of something."""


class PagingRules(Record, frozen=True, kw_only=True):
    """How one listing is paged."""

    first: int = 1  # the number of its first page, or the offset of the first entry
    step: int = 1  # from one page to the next
    size: int | None = None  # entries of a full page; None: as the page itself shows
    limit: int = 10_000  # pages of one listing


class PagingState(Record, frozen=True, kw_only=True):
    """The state of a chain of pages, which travels with the request of each."""

    page: int = 1  # its number among those that were asked for, from 1
    last: int = 0  # all up to this one have been asked for already; 0: only this one
    first: tuple[str, ...] = ()  # digests of the entries of the first page
    former: tuple[str, ...] = ()  # of the page before
    size: int = 0  # entries of a full page, by the first page; 0: unknown


class PageFacts(Record, frozen=True, kw_only=True):
    """Facts that a page of a listing shows."""

    number: int  # its page number or offset
    pages: int | None = None  # how many pages there are; None: the page does not say
    total: int | None = None  # how many entries all pages have together
    shown: tuple[int, int] | None = None  # which of them this page has, by its own words: "1-16 of 4,213"
    entries: tuple[str, ...] | None = None  # digests of its entries; None: not requested


class PagingPlan(Record, frozen=True, kw_only=True):
    """The next requests."""

    numbers: Sequence[int] = ()  # page numbers or offsets, in their order; empty: nothing, by number
    last: int = 0  # the number of the last page that has been asked for then, from 1
    refused: int = 0  # pages above the limit
    size: int = 0  # entries of a full page, for the pages that follow
    end: str = ""  # why the listing ends here: ``empty``, ``nothing_new``, ``last``, ``limit``


def plan_numbers(rules: PagingRules, state: PagingState, facts: PageFacts) -> PagingPlan:
    """The pages that follow one page of a listing: all of a known total at once, else the next one.

    A page of those that were asked for at once leads on only if it is the last of them, and the listing
    has grown. Pages before the one that a listing is entered at are not asked for.
    """
    here = page_number(rules, facts)
    size = find_size(rules, state, facts)
    pages = count_pages(facts, size)
    if state.last > here or (state.last and pages is None):
        return PagingPlan(end="last", last=state.last, size=size)
    if pages is None:
        end = find_end(state, facts) or ("limit" if state.page >= rules.limit else "")
        numbers = () if end else (facts.number + rules.step,)
        return PagingPlan(numbers=numbers, end=end, refused=int(end == "limit"), size=size)
    begun = here - state.page + 1  # where the listing was entered
    until = min(pages, begun + rules.limit - 1)
    if until <= here:
        return PagingPlan(end="limit" if pages > here else "last", refused=max(0, pages - here), size=size)
    following = range(facts.number + rules.step, facts.number + (until - here) * rules.step + 1, rules.step)
    return PagingPlan(numbers=following, last=until, refused=pages - until, size=size)


def page_number(rules: PagingRules, facts: PageFacts) -> int:
    """The number of a page in its listing, from 1."""
    return max(1, (facts.number - rules.first) // rules.step + 1)


def find_size(rules: PagingRules, state: PagingState, facts: PageFacts) -> int:
    """Return the number of entries of a full page; 0 if unknown.

    Only the first page's number counts: the last page may have fewer.
    """
    if rules.size or rules.step > 1:
        return rules.size or rules.step
    if state.size:
        return state.size
    before = page_number(rules, facts) - 1
    if facts.shown is not None:
        first, last = facts.shown
        if not before:
            return last - first + 1
        return (first - 1) // before if (first - 1) % before == 0 else 0
    return len(facts.entries) if facts.entries and not before else 0


def count_pages(facts: PageFacts, size: int) -> int | None:
    """Return the number of pages that a page of the listing announces; ``None`` if unknown."""
    if facts.pages is not None:
        return facts.pages
    if facts.total is not None and facts.total <= 1:
        return 1
    return ceil(facts.total / size) if facts.total is not None and size else None


def find_end(state: PagingState, facts: PageFacts) -> str:
    """Explain why a chain of pages ends at this page; empty if it continues.

    A page without entries is beyond the last one; a page with only the entries of the first or the previous
    page is a server's answer to a page number that does not exist.
    """
    if facts.entries is None:
        return ""
    if not facts.entries:
        return "empty"
    known = {*state.first, *state.former}
    return "nothing_new" if known and known.issuperset(facts.entries) else ""


def follow_state(state: PagingState, facts: PageFacts, plan: PagingPlan, steps: int = 1) -> PagingState:
    """Return the state for the page that is ``steps`` pages after this one."""
    page, size = state.page + steps, plan.size
    if plan.last or facts.entries is None:
        return PagingState(page=page, last=plan.last, size=size)
    return PagingState(page=page, first=state.first or facts.entries, former=facts.entries, size=size)


def digest_entries(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the digests of a page's entries, each once."""
    texts = dict.fromkeys(entries)
    return tuple(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_CHARACTERS // 2).hexdigest()
        for text in [*texts][-MAX_ENTRIES:]
    )


def read_count(text: str, *, has_spaces: bool = True) -> int | None:
    """Return the largest whole number in a text, such as ``1-16 of 4,213`` or ``4.213 Treffer``.

    Digits may be grouped by ``. , '`` or no-break spaces, and with ``has_spaces`` by ordinary ones. Returns
    ``None`` without a number, and for a negative one, which APIs use for unknown.
    """
    if _NEGATIVE.fullmatch(text.strip()):
        return None
    numbers = _read_numbers(text, has_spaces=has_spaces)
    return max(numbers, default=None)


def read_range(text: str) -> tuple[int, int] | None:
    """The first and the last entry of a page that calls them ``1-16 of 4,213``; ``None``: it does not."""
    plain = _SPACED_NUMBERS.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    found = _RANGE.search(plain)
    if found is None or max(len(found[1]), len(found[2])) > _LONGEST:
        return None
    first, last = int(found[1]), int(found[2])
    return (first, last) if 1 <= first < last else None


def _read_numbers(text: str, *, has_spaces: bool) -> list[int]:
    pattern = _SPACED_NUMBERS if has_spaces else _NUMBERS
    found = (match[0] for match in pattern.finditer(text))
    digits = (re.sub(r"\D", "", one) for one in found if not re.fullmatch(_FRACTION, one))
    return [int(one) for one in digits if len(one) <= _LONGEST]
