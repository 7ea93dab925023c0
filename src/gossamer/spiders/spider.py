"""The base class of spiders."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gossamer.core.browsing import Browsing, check_browsing
from gossamer.core.errors import UsageError
from gossamer.core.lazy import lazy_property
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.spiders.rules import Rule, requests_by_rules
from gossamer.spiders.stats import SpiderStats

RESERVED = frozenset(
    {
        *("name", "browser", "rules", "settings", "stats", "pipelines", "hooks", "sinks", "feeds"),
        "handle_httpstatus_list",
    }
)
HOOK_METHODS = ("on_start", "on_request", "on_response", "on_error", "on_output")
"""Methods of a hook, which has at least one of them."""


class Spider:
    """The base class of spiders: the start of a crawl, its scope, and the data to take from each page.

    A callback is a method that gets a :class:`~gossamer.Response` and yields or returns items and requests.
    It may be a function, a generator, a coroutine function or an async generator. A spider argument
    (``-a KEY=VALUE``) becomes an attribute, converted to the type of its annotation: with ``pages: int = 3``
    in the class, ``-a pages=5`` sets ``self.pages`` to the number 5.
    """

    name: str = ""
    """Name of the spider, and of its jobs: ``shop-1``, ``shop-2``."""
    start_urls: Sequence[str] = ()
    """URLs of the first requests, which go to the callback ``parse``."""
    allowed_domains: Sequence[str] = ()
    """Domains that requests may go to, each with its subdomains; empty: any domain."""
    settings: Mapping[str, Any] = {}
    """Settings of this spider by name: ``{"delay": 1.0, "http.max_redirects": 3}``."""
    rules: Sequence[Rule] = ()
    """Links to follow, each :class:`~gossamer.Rule` with the callback for their pages.

    Rules apply to pages whose request names no callback, and to pages that a rule follows.
    """
    require: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """CSS selectors that every page must match, or a dict of them by callback; other pages fail."""
    require_fields: Sequence[str] = ()
    """Required fields: items in which one is missing or empty are dropped."""
    handle_httpstatus_list: Sequence[int] = ()
    """Error statuses, such as 404, whose responses callbacks get."""
    login_url: str = ""
    """URL of the log-in page. If the spider has ``log_in()``, all other pages of the site need a session."""
    if TYPE_CHECKING:  # only a spider that logs in has this method

        async def log_in(self, login: Any, /) -> Any:
            """Log a session in, once, by the steps of ``login`` (:class:`~gossamer.Login`).

            It is called only if the spider defines it and has a ``login_url``. Without ``login_url``, a
            method of this name is a callback like any other. Return ``False`` if the log-in has failed.
            """
    else:
        log_in = None
    browser: Browsing | Mapping[str, Browsing] | None = None
    """Default of a request's ``browser``: one for all callbacks, or a dict by callback."""
    fetch: str | Mapping[str, str] = ""
    """Default of a request's ``fetch`` (``"browser"``, ``"auto"``): one for all, or a dict by callback."""
    pipelines: Sequence[Any] = ()
    """Steps that every item passes: functions ``step(item)`` or ``step(item, spider)``, objects or classes
    with ``process_item(item, spider)``, or names of those (``"module:Name"``, ``"drop-duplicates"``). A step
    runs before validation unless its attribute ``order`` names another stage. A parameter ``page`` gets the
    response that the item was found on.
    """

    hooks: Sequence[Any] = ()
    """Hooks for every request and response: objects or classes with ``on_request(request)``,
    ``on_response(response)``, ``on_error(request, failure)``, ``on_output(response, output)`` or
    ``on_start(requests)``, functions of a request, or names of those (``"module:Name"``). The spider may
    have these methods itself.
    """

    sinks: Sequence[Any] = ()
    """Objects with a method ``emit(event)``, which get the events of this process, in addition to the sinks
    of the settings. A sink that raises gets no further events.
    """

    export_fields: Sequence[str] | Mapping[str, str] = ()
    """Fields that ``gossamer crawl -o FILE`` and ``-O FILE`` write, in this order; empty: all fields.

    A dict gives the name under which each field is written.
    """

    feeds: Sequence[Any] = ()
    """Objects that write the job's items at the end of each run of ``gossamer crawl``. Each has ``name``,
    ``path``, ``can_grow`` (whether new items may be appended) and
    ``write_items(items, ready, is_continued)``, which calls ``ready(path)`` before it replaces a file.
    """

    def __init__(self, **arguments: Any) -> None:
        for key, value in arguments.items():
            own = getattr(type(self), key, None)
            if not key.isidentifier() or key.startswith("_") or key in RESERVED or _is_code(own):
                raise UsageError(f"the spider {self.name!r} cannot take the argument {key!r}")
            setattr(self, key, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def logger(self) -> logging.Logger:
        """Logger of this spider; its lines are part of the crawl's log."""
        return logging.getLogger(f"gossamer.spiders.spider.{self.name}")

    @lazy_property
    def stats(self) -> SpiderStats:
        """Counters of the spider, shown in the summary, the dashboard and the metrics."""
        return SpiderStats()

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first requests: by default those of ``start_requests()``, or one for each start URL."""
        older = getattr(self, "start_requests", None)
        for request in older() if older is not None else map(Request, self.start_urls):
            yield request

    def on_idle(self) -> Any:
        """Return further requests when the queue is empty; the crawl ends if there are none.

        It may be a generator, a coroutine function or an async generator, and may wait: the crawl stays open
        meanwhile. After its requests are done it is called again. With ``--processes`` the first process
        calls it. On a fleet it is not called.
        """
        return ()

    def find_end(self) -> str:
        """Return the reason to end the crawl, or an empty string to continue. Called every half second.

        For code outside of callbacks; a callback calls ``response.stop()``. On a fleet each process that
        works on the job calls it for its own spider, and once after the spider's first requests.
        """
        return ""

    def closed(self, reason: str, /) -> Any:
        """Clean up after a run of ``gossamer crawl`` that ended for ``reason``; may be a coroutine function.

        It is called once, after the pipelines are closed, unless the process is killed. With ``--processes``
        the first process calls it. If it raises, or takes longer than ``parse.callback_timeout``, the error
        is reported and the exit code is 1. On a fleet it is not called, since no process there sees the
        whole crawl.
        """

    def parse(self, response: Any, /) -> Any:
        """Handle the ``response`` to a request that names no callback.

        A spider with ``rules`` does not need it: such responses go to ``parse_start_url()``. Raises
        ``NotImplementedError`` if the spider has neither.
        """
        if self.rules:
            return self.parse_start_url(response)
        raise NotImplementedError(
            f"{type(self).__name__} has no method 'parse', the callback of requests that name no other"
        )

    def parse_start_url(self, response: Any, /) -> Any:
        """Return items and requests of a start page's ``response``, if the spider has ``rules``: none."""
        return ()

    def follow_rules(self, response: Any, /) -> Any:
        """Return requests for the links of ``response`` that ``rules`` accept; override it to change them.

        It is called after the callback of a page to which the rules apply, and instead of a callback if a
        rule names none.
        """
        return requests_by_rules(self.rules, response)

    def is_blocked(self, response: Any, /) -> bool | str:
        """Return whether the site refuses the crawler in ``response``; a text is the reason.

        Called before the callback for every response except redirects, also for errors. Gossamer looks for
        common challenges itself (setting ``blocks.detect``).
        """
        return False

    @property
    def logs_in(self) -> bool:
        """Whether the spider has a log-in page and a method ``log_in()``."""
        return self.log_in is not None and bool(self.login_url) and inspect.iscoroutinefunction(self.log_in)

    def is_logged_in(self, response: Any, /) -> bool:
        """Return whether ``response`` is a page for members. Called for every HTML page after a log-in.

        A redirect to a log-in page, and status 401, count as logged out without this method.
        """
        return True

    follows_loops: ClassVar[bool] = True
    """Whether a page that redirects to itself is requested again, up to ``http.max_redirects`` times."""
    reads_pages: ClassVar[bool] = True
    """Whether Gossamer's parsers read its pages; a spider of another framework has its own."""

    def find_callback(self, name: str) -> Callable[..., Any]:
        """Return the callback or errback of this name. Raises ``AttributeError``."""
        found: Callable[..., Any] = getattr(self, name)
        return found

    def find_script(self, name: str, request: Request) -> Any:
        """Return the coroutine function of this name, which runs on a page in a browser, or ``None``."""
        return getattr(self, name, None)

    def wants_status(self, request: Request, status: int) -> int:
        """Return whether the callback of a request wants a response of this status (``StatusWish``)."""
        if request.meta.get("handle_httpstatus_all") is True:
            return True
        wanted = request.meta.get("handle_httpstatus_list")
        return status in (self.handle_httpstatus_list if wanted is None else wanted)

    def has_callback(self, name: str) -> bool:
        """Return whether the spider has a callback of this name."""
        return callable(getattr(self, name, None))

    def console_names(self, response: Any) -> dict[str, Any]:
        """Return the names of a shell: the page, its request, and the spider."""
        return {"response": response, "request": response.request, "spider": self}

    def find_binding(self) -> str:
        """Why its requests cannot leave the process that made them, in words; ``""``: they can."""
        return ""

    def keep_no_state(self) -> None:
        """Called for a replay: nothing that another crawl finds is to be written."""

    def share_work(self) -> None:
        """Share the crawl's requests with other processes from now on."""

    @property
    def unshared_settings(self) -> Sequence[str]:
        """Names of settings without effect once other processes share the work."""
        return ()

    def take_fetcher(self, fetch: Callable[[Request], Awaitable[tuple[Request, FetchResult]]]) -> None:
        """``fetch`` is there from now on for code that needs a page while a callback runs."""

    def take_url_rule(self, canonicalise: Callable[[Request], str | None]) -> None:
        """``canonicalise`` says from now on under which URL a request is fetched and known."""

    def selects(self, callback: str) -> bool:
        """Return whether ``callback`` selects elements of its pages instead of reading bytes."""
        return True

    def watches(self, callback: str) -> bool:
        """Whether a crawl that comes back always asks for pages of ``callback``, be they due or not.

        For pages that only list others, and that may change without those that lead to them.
        """
        return False

    def browsing_for(self, callback: str) -> Browsing | None:
        """Return the steps of a browser on pages for ``callback``. Raises ``UsageError``."""
        found = self.browser
        if isinstance(found, Mapping):
            found = found.get(callback)
        if found is not None:
            check_browsing(found, f"`browser` of the spider {self.name!r}")
        return found

    def required(self, callback: str) -> Sequence[str]:
        """Return the selectors that a page for ``callback`` must match."""
        require = self.require
        if isinstance(require, Mapping):
            return require.get(callback, ())
        return (require,) if isinstance(require, str) else require


def _is_code(value: Any) -> bool:
    """Methods and properties are not arguments."""
    return callable(value) or isinstance(value, property)


def may_have_hooks(spider: Spider | type[Spider]) -> bool:
    """Return whether a spider may have hooks; callbacks can have the same names."""
    return bool(spider.hooks) or any(hasattr(spider, name) for name in HOOK_METHODS)
