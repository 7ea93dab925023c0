"""How far a crawl is on its way to what the site itself announces: "3,120 of 4,213 products". Pure.

A page says a number (``response.expect``), and many pages say it again: the largest one counts, whoever
reads which page when. Of a site that says it in parts, category by category, the parts are added up.
"""

from __future__ import annotations

from hashlib import blake2b

from gossamer.core.errors import UsageError
from gossamer.core.jobs import JobTotals
from gossamer.core.record import Record
from gossamer.policy.freshness import is_partial

MAX_TOTAL = 2**53
"""What JSON carries everywhere; a page that says more says nothing."""
_LONGEST_WORD = 40
_LONGEST_PART = 60


class ListingGoal(Record, frozen=True, kw_only=True):
    """How many of something a site announces, and how many of them there are."""

    what: str  # in the spider's words: ``products``
    done: int  # so many are there: items of the job, or pages that a callback was given
    total: int  # so many are announced

    def to_text(self) -> str:
        """``3,120 of 4,213 products``."""
        return f"{self.done:,} of {self.total:,} {self.what}"


def expectation_key(what: str, callback: str = "", part: str = "") -> str:
    """The name under which an announced number is kept. Raises ``UsageError`` for what is no word."""
    if "/" in what or not what.isprintable() or len(what) > _LONGEST_WORD:
        raise UsageError(
            f"{what!r:.80} cannot be expected: give a word or two of at most {_LONGEST_WORD} characters, "
            "without /"
        )
    if not what.strip():
        raise UsageError('say what is expected, as in response.expect("products", 4213)')
    if len(part) > _LONGEST_PART:
        digest = blake2b(part.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        part = f"{part[: _LONGEST_PART - 9]} {digest}"
    return f"{what.strip()}/{callback}/{part}"


def keep_largest(known: dict[str, int], key: str, total: int) -> None:
    """Let a number count if it is the largest of its name."""
    if 0 < total <= MAX_TOTAL and total > known.get(key, 0):
        known[key] = total


def read_goals(totals: JobTotals) -> tuple[ListingGoal, ...]:
    """What is announced of a job, in the order of the words."""
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
    """How many things are announced altogether that a job is to find, and how many of them are there.

    Of a job that leaves out what has not changed nobody knows that.
    """
    goals = () if is_partial(totals) else read_goals(totals)
    return sum(goal.total for goal in goals), sum(min(goal.done, goal.total) for goal in goals)
