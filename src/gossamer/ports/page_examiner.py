"""Safe checks of suspicious pages before they are parsed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

PARSE_TRUNCATED = "parse_truncated"
"""The flag of a page that was cut."""
MALFORMED = "malformed"
"""The flag of XML that is not well-formed: it is read as far as it makes sense."""


class ParseLimitError(Exception):
    """A page exceeded its limit of CPU time or memory."""


class ParseInterruptError(Exception):
    """Another process stopped the trial: the page's effect is unknown."""


class TruncatedPage(NamedTuple):
    """The rest of an oversized page: UTF-8, quick to parse."""

    body: bytes
    encoding: str  # of the page as it came
    cuts: dict[str, int]  # the number of removed parts by kind

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags for the ledger and the spider."""
        return PARSE_TRUNCATED, *(f"cut_{kind}" for kind in sorted(self.cuts))


class PageExaminer(Protocol):
    """Parses a page on trial, outside of the crawling process."""

    async def examine(self, body: bytes, content_type: str) -> TruncatedPage | None:
        """Return ``None`` if the page may be parsed as it is, or else its rest, cut to a harmless shape.

        Raises :class:`ParseLimitError` for a page that no cut makes harmless, and
        :class:`ParseInterruptError` if another process stopped the trial.
        """
        ...
