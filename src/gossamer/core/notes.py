"""Notes: sentences that a crawl says at its end besides its figures."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record


class NoteKind(StrEnum):
    """The subject of a note."""

    LEFT = "left"  # requests wait, and the same command continues with them
    NOTHING_TO_DO = "nothing_to_do"  # this crawl is finished, or nothing has changed
    BUDGET = "budget"  # a budget ended the crawl, or skipped requests
    START = "start"  # start URLs were not accepted, or there are none
    NO_PAGE = "no_page"  # no page was parsed
    LOST_HOST = "lost_host"  # requests were given up since their host did not come back
    MISSING = "missing"  # items of a page are missing
    CALLBACK = "callback"  # callbacks gave nothing
    LOG_IN = "log_in"  # pages redirect to a log-in
    HOOK = "hook"  # code of the spider failed at the end
    QUALITY = "quality"  # items are worse than usual


_NO_WARNINGS = frozenset({NoteKind.LEFT, NoteKind.NOTHING_TO_DO})
"""Kinds that say how to continue; all others report a possible problem."""


class CrawlNote(Record, frozen=True, omit_defaults=False):
    """One sentence, for people; its kind is for programs."""

    kind: NoteKind
    text: str
    is_warning: bool = True  # a possible problem: shown with `-q` as well

    def __str__(self) -> str:
        return self.text


def make_note(kind: NoteKind, text: str) -> CrawlNote:
    """A note, which is a warning if its kind is."""
    return CrawlNote(kind, text, kind not in _NO_WARNINGS)


class CallbackSource(Record, frozen=True, kw_only=True):
    """Hints in a callback's source about why it yields nothing."""

    lacks_yield: bool = False  # it has neither ``yield`` nor a ``return`` with a value
    selectors: tuple[str, ...] = ()
