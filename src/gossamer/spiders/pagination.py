"""The pages of a listing, said once: ``pages = Paginate(next="a.next")``, and in a callback
``yield from self.pages.follow(response)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from gossamer.core.drops import DropKind
from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.parse.json_path import find_values, replace_value
from gossamer.parse.selectors import Selector
from gossamer.policy.goals import expectation_key
from gossamer.policy.pagination import (
    PageFacts,
    PagingPlan,
    PagingRules,
    PagingState,
    digest_entries,
    find_end,
    follow_state,
    plan_numbers,
    read_count,
    read_range,
)
from gossamer.policy.url_parameters import drop_parameter, read_parameter, set_parameter
from gossamer.spiders.query import compile_query, text_of
from gossamer.spiders.response import Response

STATE = "paging"
"""The name in ``meta`` of the state that a page's request carries from the pages before it."""
_LIMIT = DropKind.LINK.key_of("too_many_pages")
_MOST_REFUSED = 10**9
"""Pages above the limit of one listing that are counted: a page may claim more than a store can add up."""
_FRESH: dict[str, Any] = {"dont_filter": False, "redirects": (), "trace": "", "archived": ""}
"""Fields that the request for the next page does not copy."""
_MARK = "31415926535897"


class Paginate:
    """The way from one page of a listing to the next: by a link, by a number in the URL, or by a cursor.

    ``next``, ``pages``, ``total``, ``cursor`` and ``entries`` are CSS selectors, XPath expressions (which
    begin with ``/``, ``./`` or ``(``) or paths into JSON (which begin with ``$``).

    Args:
        next: selects the link to the next page.
        param: the parameter with the number of the page, its offset or its cursor, in the URL or in the body.
        url: a URL with ``{page}`` in the place of the number, instead of ``param``.
        pages: selects the number of pages.
        total: selects the number of entries, as in ``1-16 of 4,213``.
        cursor: selects the value of ``param`` for the next page.
        entries: selects the entries, best their links. A page without entries, or with the entries of the
            page before or of the first page, ends the listing.
        of: the noun that ``total`` counts (``products``), for reports of progress.
        first: the number of the first page; by default 1, or 0 if ``step`` is not 1.
        step: the distance from one number to the next; for an offset, the entries of a page.
        size: the number of entries of a page.
        limit: maximum number of pages of one listing; others are counted as ``link:too_many_pages``.

    Raises ``UsageError`` for arguments that give no way, or no end.
    """

    def __init__(
        self,
        *,
        next: str = "",  # noqa: A002 - what links to the next page are called everywhere
        param: str = "",
        url: str = "",
        pages: str = "",
        total: str = "",
        cursor: str = "",
        entries: str = "",
        of: str = "",
        first: int | None = None,
        step: int = 1,
        size: int | None = None,
        limit: int = 10_000,
    ) -> None:
        self.next, self.param, self.url = next, param, url
        self.pages, self.total, self.cursor, self.entries = pages, total, cursor, entries
        for name in ("next", "pages", "total", "cursor", "entries"):
            _check_query(name, getattr(self, name))
        for name, number in (("step", step), ("size", size), ("limit", limit)):
            if number is not None and (type(number) is not int or number < 1):
                raise UsageError(f"Paginate: {name} is {number!r}; it must be a whole number from 1 on")
        if first is None:
            first = 1 if step == 1 else 0
        self.rules = PagingRules(first=first, step=step, size=size, limit=limit)
        self.of = of
        self._check_way()

    def __repr__(self) -> str:
        names = ("next", "param", "url", "pages", "total", "cursor", "entries")
        said = ", ".join(f"{name}={value!r}" for name in names if (value := getattr(self, name)))
        return f"Paginate({said})"

    def _check_way(self) -> None:
        """Raise ``UsageError`` for what says no way from one page to the next, or has no end."""
        by_number = bool(self.param or self.url) and not self.cursor
        if self.url and (self.param or self.url.count("{page}") != 1):
            raise UsageError(
                'Paginate: url has {page} once, as in "/catalog/page/{page}/", and no param beside it'
            )
        if self.cursor and not self.param:
            raise UsageError("Paginate: with cursor, param says which parameter is set to it")
        if self.cursor and (self.next or self.pages or self.total):
            raise UsageError("Paginate: cursor is a way of its own; leave out next, pages and total")
        if (self.pages or self.total) and not by_number:
            raise UsageError("Paginate: with pages or total, param or url says how a page is asked for")
        if self.of:
            expectation_key(self.of)
            if not self.total:
                raise UsageError("Paginate: `of` says what total counts; say where total is")
        if not (by_number or self.next or self.cursor):
            raise UsageError("Paginate: say how pages follow one another: next, param, url or cursor")
        if by_number and not (self.pages or self.total or self.entries or self.next):
            raise UsageError(
                "Paginate: the end of the listing is not defined; give pages, total, or entries (what a page "
                "lists: the page after the last one has none)"
            )

    def follow(self, response: Response, callback: Any = None, **options: Any) -> Iterator[Request]:
        """Yield requests for the next page, or for all further pages if their number is known.

        They repeat the request for this page, with its callback, ``cb_kwargs``, ``meta`` and headers.

        Args:
            response: a page of the listing.
            callback: another callback.
            options: other arguments of :class:`Request`.
        """
        state = _read_state(response)
        follow = self._follow_cursor if self.cursor else self._follow_numbers
        for request, told in follow(response, state):
            meta = {**request.meta, **options.get("meta", {}), STATE: _to_stored(told)}
            changes = {**_FRESH, **options, "meta": meta}
            yield request.replace(callback=callback or response.request.callback, **changes)

    # ------------------------------------------------------------------ ways

    def _follow_numbers(
        self, response: Response, state: PagingState
    ) -> Iterator[tuple[Request, PagingState]]:
        """By the number of a page; by the link where no number is known, and one may be followed."""
        facts = self._read_facts(response)
        if self.of and facts.total is not None:
            response.expect(self.of, facts.total, part=self._describe_listing(response))
        is_known = facts.pages is not None or facts.total is not None
        if not (self.param or self.url) or (self.next and not is_known and not state.last):
            yield from self._follow_link(response, state, facts)
            return
        if not is_known and facts.entries is None:
            return  # a listing of one page says nothing of pages
        plan = plan_numbers(self.rules, state, facts)
        if not plan.size and facts.pages is None and (facts.total or 0) > 1 and facts.entries is None:
            raise ValueError(
                f"{response.url} has {facts.total:,} entries, and nothing says how many a page has: "
                "give Paginate size=..., or entries=..."
            )
        self._count_refused(response, plan.refused)
        for steps, number in enumerate(plan.numbers, start=1):
            yield self._ask_for(response, number), follow_state(state, facts, plan, steps)

    def _follow_link(
        self, response: Response, state: PagingState, facts: PageFacts
    ) -> Iterator[tuple[Request, PagingState]]:
        query = compile_query(self.next)
        links = self._read_texts("next", response) if query.kind == "json" else query.find_in(response)
        if not links or find_end(state, facts):
            return
        if state.page >= self.rules.limit:
            self._count_refused(response, 1)
            return
        told = follow_state(state, facts, PagingPlan())
        for request in response.follow_all(links[:1]):
            if request.url != response.url:
                yield response.request.replace(url=request.url), told

    def _follow_cursor(self, response: Response, state: PagingState) -> Iterator[tuple[Request, PagingState]]:
        found = self._read_texts("cursor", response)
        facts = PageFacts(number=state.page, entries=self._read_entries(response))
        if not found or found[0] == self._asked_for(response) or find_end(state, facts):
            return
        if state.page >= self.rules.limit:
            self._count_refused(response, 1)
            return
        yield self._ask_for(response, found[0]), follow_state(state, facts, PagingPlan())

    def _count_refused(self, response: Response, pages: int) -> None:
        if pages:
            response.dropped[_LIMIT] = response.dropped.get(_LIMIT, 0) + min(pages, _MOST_REFUSED)

    # ------------------------------------------------------------------ facts of a page

    def _read_facts(self, response: Response) -> PageFacts:
        pages = total = shown = None
        if self.pages:
            counts = [read_count(text, has_spaces=False) for text in self._read_texts("pages", response)]
            pages = max((count for count in counts if count is not None), default=None)
        if self.total:
            texts = self._read_texts("total", response)
            total = max((count for text in texts if (count := read_count(text)) is not None), default=None)
            shown = next((found for text in texts if (found := read_range(text)) is not None), None)
        number = self._asked_for(response)
        return PageFacts(
            number=int(number) if number.isdecimal() and len(number) < 19 else self.rules.first,
            pages=pages,
            total=total,
            shown=shown,
            entries=self._read_entries(response),
        )

    def _read_texts(self, name: str, response: Response) -> list[str]:
        """Return the results of a query as texts, without ``false`` and ``null`` of JSON."""
        found = compile_query(query := getattr(self, name)).find_in(response)
        if any(isinstance(one, dict | list) and one for one in found):
            raise ValueError(f"{response.url}: {name} ({query}) finds an object or a list: say what of it")
        return [text for one in found if not isinstance(one, bool) and (text := text_of(one))]

    def _read_entries(self, response: Response) -> tuple[str, ...] | None:
        """Return digests of the listed entries: of the targets of links, else of texts or values."""
        if not self.entries:
            return None
        found = compile_query(self.entries).find_in(response)
        return digest_entries(
            (one.attrib.get("href") or text_of(one)) if isinstance(one, Selector) else json.dumps(one)
            for one in found
        )

    # ------------------------------------------------------------------ where a page is asked for

    def _asked_for(self, response: Response) -> str:
        """The page number, offset or cursor with which a page was asked for; empty: with none."""
        url = self._find_url(response)
        if self.url:
            return self._number_in(response, url) or ""
        in_url = read_parameter(url, self.param) if self.param else ""
        body = response.request.body
        if in_url is not None or not body:
            return in_url or ""
        if _is_json(body):
            found_values = find_values(msgspec.json.decode(body), self._body_path)
            return text_of(found_values[0]) if found_values else ""
        return read_parameter(f"?{body.decode('latin-1')}", self.param) or ""

    def _find_url(self, response: Response) -> str:
        """The URL in which the number is: the page's, or the one asked for, if a redirect has hidden it."""
        read = partial(self._number_in, response)
        places = (response.url, *response.request.redirects[:1])
        return next((url for url in places if read(url) is not None), response.url)

    def _number_in(self, response: Response, url: str) -> str | None:
        """The page number, offset or cursor in a URL; ``None``: there is none."""
        if not self.url:
            return read_parameter(url, self.param)
        pattern = re.escape(response.urljoin(self.url.replace("{page}", _MARK)))
        found = re.fullmatch(pattern.replace(_MARK, r"(\d+)"), url)
        return found[1] if found else None

    def _ask_for(self, response: Response, value: int | str) -> Request:
        """The request for a page by its number, offset or cursor."""
        request, url = response.request, self._find_url(response)
        if self.url:
            return request.replace(url=response.urljoin(self.url.replace("{page}", str(value))))
        if not request.body or read_parameter(url, self.param) is not None:
            return request.replace(url=set_parameter(url, self.param, str(value)))
        if _is_json(request.body):
            changed = replace_value(msgspec.json.decode(request.body), self._body_path, value)
            return request.replace(url=url, body=msgspec.json.encode(changed))
        form = set_parameter(f"?{request.body.decode('latin-1')}", self.param, str(value))
        return request.replace(url=url, body=form.removeprefix("?").encode("latin-1"))

    def _describe_listing(self, response: Response) -> str:
        """Return a text that all pages of one listing share, without the number of the page."""
        request = self._ask_for(response, "")
        return f"{drop_parameter(request.url, self.param)} {request.body.decode('latin-1')}"

    @property
    def _body_path(self) -> str:
        return self.param if self.param.startswith("$") else f"$.{self.param}"


def _check_query(name: str, text: str) -> None:
    if text:
        try:
            compile_query(text)
        except ValueError as error:
            raise UsageError(f"Paginate: {name}: {error}") from None


def _is_json(body: bytes) -> bool:
    return body.lstrip()[:1] == b"{"


def _read_state(response: Response) -> PagingState:
    """Return the state in the page's request; a spider's own ``meta`` of that name does not count."""
    try:
        return msgspec.convert(response.request.meta.get(STATE) or {}, PagingState)
    except msgspec.ValidationError:
        return PagingState()


def _to_stored(state: PagingState) -> dict[str, Any]:
    stored: dict[str, Any] = msgspec.to_builtins(state)
    return stored
