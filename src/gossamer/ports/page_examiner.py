"""Whether a suspicious page may be parsed, decided where it can do no harm."""

from __future__ import annotations

from typing import NamedTuple, Protocol

PARSE_TRUNCATED = "parse_truncated"
"""The flag of a page that was cut."""
MALFORMED = "malformed"
"""The flag of XML that is not well-formed: it is read as far as it makes sense."""


class ParseLimitError(Exception):
    """A page used up the CPU time or the memory it may have."""


class ParseInterruptError(Exception):
    """The process was stopped or killed by others: nothing is known of the page."""


class TruncatedPage(NamedTuple):
    """What is left of a page that was too much: UTF-8, quick to parse."""

    body: bytes
    encoding: str  # of the page as it came
    cuts: dict[str, int]  # what was left out, by kind

    @property
    def flags(self) -> tuple[str, ...]:
        """What the ledger and the spider are told of it."""
        return PARSE_TRUNCATED, *(f"cut_{kind}" for kind in sorted(self.cuts))


class PageExaminer(Protocol):
    """Parses a page on trial, outside of the process that crawls."""

    async def examine(self, body: bytes, content_type: str) -> TruncatedPage | None:
        """``None``: the page may be parsed as it is. Else what is left of it when it is
        cut to a harmless shape.

        Raises :class:`ParseLimitError` for a page that no cut makes harmless, and
        :class:`ParseInterruptError` when the trial was ended by others and says nothing of the page.
        """
        ...
