"""Progress of a crawl towards the totals that the site announces: "3,120 of 4,213 products". Pure.

A page announces a number (``response.expect``), and many pages repeat it: the largest one counts, in any
order of pages. Numbers of parts, such as categories, are added up.
"""

from __future__ import annotations

from hashlib import blake2b

from gossamer.core.errors import UsageError
from gossamer.core.jobs import JobTotals
from gossamer.core.record import Record
from gossamer.policy.freshness import is_partial

MAX_TOTAL = 2**53
"""The largest integer that JSON carries everywhere; larger announcements are ignored."""
_LONGEST_WORD = 40
_LONGEST_PART = 60


class ListingGoal(Record, frozen=True, kw_only=True):
    """How many of something a site announces, and how many of them there are."""

    what: str  # in the spider's words: ``products``
    done: int  # number reached: items of the job, or pages given to a callback
    total: int  # number announced

    def to_text(self) -> str:
        """``3,120 of 4,213 products``."""
        return f"{self.done:,} of {self.total:,} {self.what}"


def expectation_key(what: str, callback: str = "", part: str = "") -> str:
    """Return the name of an announced number's counter. Raises ``UsageError`` unless ``what`` is a word."""
    if "/" in what or not what.isprintable() or len(what) > _LONGEST_WORD:
        raise UsageError(
            f"{what!r:.80} cannot be expected: give a word or two of at most {_LONGEST_WORD} characters, "
            "without /"
        )
    if not what.strip():
        raise UsageError('name the expected things, as in response.expect("products", 4213)')
    if len(part) > _LONGEST_PART:
        digest = blake2b(part.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        part = f"{part[: _LONGEST_PART - 9]} {digest}"
    return f"{what.strip()}/{callback}/{part}"


def keep_largest(known: dict[str, int], key: str, total: int) -> None:
    """Let a number count if it is the largest of its name."""
    if 0 < total <= MAX_TOTAL and total > known.get(key, 0):
        known[key] = total


def read_goals(totals: JobTotals) -> tuple[ListingGoal, ...]:
    """Return the announced totals of a job, in the order of the words."""
    announced: dict[tuple[str, str], int] = {}
    for key, total in totals.expected.items():
        what, callback, _ = key.split("/", 2)
        announced[what, callback] = announced.get((what, callback), 0) + total
    return tuple(
        ListingGoal(
            what=what,
            done=totals.callback_pages.get(callback, 0) if callback else totals.items,
            total=total,
        )
        for (what, callback), total in sorted(announced.items())
    )


def sum_goals(totals: JobTotals) -> tuple[int, int]:
    """Return how many things are announced for a job altogether, and how many of them it has.

    Both are unknown for a job that skips unchanged pages.
    """
    goals = () if is_partial(totals) else read_goals(totals)
    return sum(goal.total for goal in goals), sum(min(goal.done, goal.total) for goal in goals)
