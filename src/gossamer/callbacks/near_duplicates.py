"""Pages that say almost the same as another one of their host: marked, or left out."""

from __future__ import annotations

from hashlib import blake2b

from msgspec.structs import replace

from gossamer.callbacks.page_text import read_page
from gossamer.callbacks.passing_extractor import PassingExtractor
from gossamer.core.drops import DropKind
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.policy import urls
from gossamer.policy.simhash import PageIndex, simhash_of
from gossamer.ports.extractor import Extractor
from gossamer.spiders.response import Response

FLAG = "near_duplicate"


class CopyExtractor(PassingExtractor):
    """Port ``Extractor``: another one, whose pages are compared with each other.

    A page that is like one before it has the flag ``near_duplicate``; with ``skips`` its items and links are
    not taken. A page that is visited again is not like itself. The comparison is that of one process and run.

    Pages with other headings are never alike: two products of one shop may differ in a few words of a large
    template, but each has its name above; copies of an article all have that of the article.
    """

    def __init__(self, extractor: Extractor, index: PageIndex, *, min_words: int, skips: bool) -> None:
        super().__init__(extractor)
        self._index = index
        self._min_words = min_words
        self._skips = skips

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        result = await super().extract(request, fetched)
        page = result.response
        if result.fault or result.refresh_to or not isinstance(page, Response) or not page.is_html:
            return result
        heading, text = read_page(page)
        simhash = simhash_of(text, self._min_words)
        url = request.url
        if simhash is None:
            return result
        group = f"{urls.host_key(url)} {_shorten(heading)}"
        if self._index.find_near(group, url, simhash) is None:
            return result
        dropped = {**result.dropped, DropKind.PAGE.key_of(FLAG): 1}
        result = replace(result, flags=(*result.flags, FLAG), dropped=dropped)
        return replace(result, items=(), requests=()) if self._skips else result


def _shorten(heading: str) -> str:
    return blake2b(heading.encode("utf-8", "replace"), digest_size=16).hexdigest() if heading else ""
