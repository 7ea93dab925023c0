"""One page load in a tab: the data of its own request, and its outcome.

The gate of the tab's browser consults it before the page's own request is sent, and when the answer's
header has arrived. A redirect ends the load as an answer, since each hop is a request of its own. So does a
body other than HTML, which is read, and never shown, saved or run. HTML is passed to the page.

A page that leaves by itself (``location = ...``) while it loads is treated like a redirect. One that
reloads itself, or submits a form to its own site (a challenge to visitors), may do so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

from gossamer.core.errors import Fault, FetchError
from gossamer.core.media_type import essence_of, extract_type
from gossamer.core.requests import Request
from gossamer.fetch.browser.faults import NO_PAGE, translate_code
from gossamer.policy import redirects, urls
from gossamer.policy.url_parser import normalise_url

MAX_RELOADS = 5
SCRIPT_REDIRECT = "script_redirect"
_MAX_DIGITS = 18
_HTML = ("text/html", "application/xhtml+xml")

Headers = tuple[tuple[str, str], ...]
AnswerFate = Literal["show", "read", "end"]
"""A gate's handling of an answer: pass it to the page, read its bytes, or drop it."""


class Navigation:
    """From a request to the answer of its page. ``fields`` are headers beside the browser's own."""

    def __init__(self, request: Request, fields: Mapping[str, str], *, max_body_bytes: int) -> None:
        self.request = request
        self.fields = fields
        self.max_body_bytes = max_body_bytes
        self._loop = asyncio.get_running_loop()
        self._loads = 0  # of the main frame, that were let through
        self.last_url = ""  # of the page that was in the tab before
        self.follows_page = False  # and still is, until this one takes its place
        self.browser_from = self._loop.time()  # when the browser's own part began; 0: it waits
        self.end: asyncio.Future[None] = self._loop.create_future()  # there is nothing to show, or a failure
        self.is_linked = False  # a page that leads to it is in the tab: it is opened from there
        self.is_loading = False  # the main frame is requested again, without an answer yet
        self.may_leave = False  # the page may go elsewhere, as actions on it may want
        self.has_left = False  # and it did
        self.status = 0
        self.headers: Headers = ()
        self.body: bytes | None = None  # of an answer that is not shown
        self.flags: tuple[str, ...] = ()
        self.answered_at = 0.0  # by the loop

    def __repr__(self) -> str:
        return f"<Navigation to {urls.hostname_of(self.request.url)}: {self.status or 'no answer yet'}>"

    # ------------------------------------------------------------------ the request

    @property
    def is_begun(self) -> bool:
        """Whether the request was sent; later requests of the main frame are the page's own doing."""
        return self._loads > 0

    @property
    def is_shown(self) -> bool:
        """Whether the requested page is the one in the tab."""
        return self.status > 0 and not (self.follows_page or self.has_left or self.end.done())

    def begin_anew(self) -> None:
        """Start over: the tab's previous page has interfered, and is gone now."""
        self._loads, self.follows_page, self.is_loading = 0, False, False
        self.status, self.headers, self.answered_at = 0, (), 0.0

    def is_of_last_page(self, url: str, referrer: str) -> bool:
        """Return whether the tab's previous page is the one that navigates to ``url``.

        It may do so to the last moment, and a browser may report that after the new page. So the referrer
        counts as well.
        """
        if self.follows_page and not self.is_for(url):
            return True
        return bool(self.last_url) and referrer == self.last_url.partition("#")[0]

    def is_answer_of_last_page(self, url: str) -> bool:
        """Return whether an answer from ``url`` belongs to a request of the previous page."""
        return not self.is_begun or (self.follows_page and not self.is_for(url))

    def is_held_up(self, limit_s: float) -> bool:
        """Return whether the browser has taken ``limit_s`` for its part: the previous page blocks it."""
        return self.browser_from > 0 and self._loop.time() - self.browser_from >= limit_s

    def is_for(self, url: str) -> bool:
        """Return whether ``url``, as a browser writes it, is the URL that the tab was sent to."""
        here, own = url.partition("#")[0], self.request.url.partition("#")[0]
        return here == own or normalise_url(here) == normalise_url(own)

    def url_of(self, shown: str) -> str:
        """Return the page's URL, given the document's URL ``shown``; with a fragment if that is kept.

        A script may change it (``pushState``), and an action may lead elsewhere. An unchanged URL is
        returned as it was requested.
        """
        own = self.request.url
        if not shown.startswith(("http://", "https://")):
            return own
        if "#" not in own:
            return own if self.is_for(shown) else shown.partition("#")[0]
        is_same = (
            self.is_for(shown) and (normalise_url(own) or own).partition("#")[2] == shown.partition("#")[2]
        )
        return own if is_same else shown

    def begin_load(self, url: str, method: str) -> bool:
        """Return whether the main frame may load ``url`` now; otherwise it counts as a redirect."""
        if self.is_begun and not self._is_own_affair(url, method):
            self._conclude_redirect(url)
            return False
        self._loads += 1
        self.browser_from = 0.0
        self.has_left = self.has_left or self.may_leave
        self.is_loading = True
        return True

    def add_fields(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the browser's own headers, overridden by those of the request."""
        taken = {name.lower() for name in self.fields}
        return {name: value for name, value in headers.items() if name.lower() not in taken} | dict(
            self.fields
        )

    def _is_own_affair(self, url: str, method: str) -> bool:
        """Return whether the main frame may navigate by itself."""
        if self._loads > MAX_RELOADS:
            return False
        if self.may_leave:
            return True
        here = self.request.url.partition("#")[0]
        is_same_site = urls.origin_of(here) == urls.origin_of(url)
        return here == url or (is_same_site and method != "GET")

    # ------------------------------------------------------------------ the answer

    def take_answer(self, status: int, headers: Headers) -> AnswerFate:
        """Decide on the answer."""
        self.is_loading = False
        self.status, self.headers = status, headers
        self.answered_at = self.answered_at or self._loop.time()
        is_redirect = status in redirects.STATUSES
        if is_redirect and self.header("location") and not self.may_leave:
            self.conclude(body=b"")
            return "end"
        is_shown = self._is_page() or is_redirect
        if not is_shown and (self.request.method == "HEAD" or status in (204, 205, 304)):
            self.conclude(body=b"")
            return "end"
        try:
            self.check_size(self.announced_bytes)
        except FetchError as error:
            self.conclude(error)
            return "end"
        if not is_shown:
            return "read"
        self.browser_from = self._loop.time()
        return "show"

    def check_size(self, length: int) -> None:
        """Raise ``FetchError`` if a body of ``length`` bytes is too large."""
        if length > self.max_body_bytes:
            raise FetchError(Fault.TOO_LARGE, f"more than {self.max_body_bytes} bytes")

    def check_length(self, count: int) -> None:
        """Refuse a body that is shorter than announced: a connection that is lost ends it like any other."""
        has_body = self.status not in (204, 205, 304) and not self.header("content-encoding")
        if has_body and count < self.announced_bytes:
            raise FetchError(Fault.INCOMPLETE, f"{count} of {self.announced_bytes} bytes came")

    @property
    def announced_bytes(self) -> int:
        """Content-Length of the answer's body, or 0."""
        length = self.header("content-length")
        if not (length.isascii() and length.isdigit()):
            return 0
        return int(length.lstrip("0")[:_MAX_DIGITS] or 0)  # more digits are too large all the same

    @property
    def answer_bytes(self) -> int:
        """Approximate bytes of the answer on the wire."""
        return self.announced_bytes + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def header(self, name: str) -> str:
        """Return the first header of the answer with that name."""
        return next((value for key, value in self.headers if key == name), "")

    def _is_page(self) -> bool:
        sent = extract_type(tuple(value for key, value in self.headers if key == "content-type"))
        kind = essence_of(sent) or ("text/html" if "html" in sent.lower() else "")
        is_saved = self.header("content-disposition").lower().startswith("attachment")
        return (
            kind in _HTML
            and not is_saved
            and self.status not in (204, 205, 304)
            and self.request.method != "HEAD"
        )

    # ------------------------------------------------------------------ the end

    def _conclude_redirect(self, url: str) -> None:
        """End the load as a redirect, since the page leaves by itself."""
        kept = tuple(field for field in self.headers if field[0] == "x-robots-tag")
        self.status, self.headers = 302, (("location", url), *kept)
        self.flags = (SCRIPT_REDIRECT,)
        self.conclude(body=b"")

    def break_off(self, code: str) -> None:
        """Handle a net error in the answer's body; a browser reports the empty page of an error status as
        one."""
        if code == NO_PAGE:
            self.conclude(body=b"")
        else:
            self.conclude(translate_code(code, urls.hostname_of(self.request.url)))

    def refuse_answer(self) -> None:
        """Fail the load because the answer cannot be understood."""
        self.conclude(FetchError(Fault.PROTOCOL, "the answer could not be read"))

    def conclude(self, error: FetchError | None = None, *, body: bytes | None = None) -> None:
        """End the load without a page: with a body as received, or with a failure. The first call counts."""
        if self.end.done():
            return
        if error is None:
            self.body = body
            self.end.set_result(None)
        else:
            self.end.set_exception(error)
            self.end.exception()  # heard, whether or not the visit still waits for it
