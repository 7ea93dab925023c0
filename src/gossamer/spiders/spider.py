"""A spider: where to start, how far to go, and what to make of a page."""

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
"""What a hook may have, one of them at least."""


class Spider:
    """The base of every spider.

    Arguments (``-a KEY=VALUE``) become attributes, in the types of their annotations: with ``pages: int = 3``
    in the class, ``-a pages=5`` makes ``self.pages`` the number 5. Callbacks are methods: plain functions,
    generators, coroutines or async generators; they yield or return items and requests.
    """

    name: str = ""
    start_urls: Sequence[str] = ()
    allowed_domains: Sequence[str] = ()
    """Domains (with their sub-domains) that requests may go to; empty: anywhere."""
    settings: Mapping[str, Any] = {}
    """Settings of this spider, by name: ``{"delay": 1.0, "http.max_redirects": 3}``."""
    rules: Sequence[Rule] = ()
    """Which links are followed, and which callback gets what they lead to (:class:`~gossamer.Rule`).

    They apply to pages whose request names no callback, and to those that a rule follows.
    """
    require: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """CSS selectors that a page must have to count as a success: for all callbacks, or by callback."""
    require_fields: Sequence[str] = ()
    """Fields that no item may lack (be without, or have empty)."""
    handle_httpstatus_list: Sequence[int] = ()
    """Error statuses that the spider's callbacks want to see."""
    login_url: str = ""
    """The page where one logs in. With ``log_in()``, all other pages of its site are for members."""
    if TYPE_CHECKING:  # only a spider that logs in has this method

        async def log_in(self, login: Any, /) -> Any:
            """Log a session in, once, by the steps of ``login`` (:class:`~gossamer.Login`).

            It is called only if the spider defines it and has a ``login_url``. Without ``login_url``, a
            method of this name is a callback like any other. Return ``False`` if the log-in has failed.
            """
    else:
        log_in = None
    browser: Browsing | Mapping[str, Browsing] | None = None
    """What a browser does on pages whose requests do not say it: for all callbacks, or by callback."""
    fetch: str | Mapping[str, str] = ""
    """The rung of requests that name none (``"browser"``, ``"auto"``): for all callbacks, or by callback."""
    pipelines: Sequence[Any] = ()
    """Stages that every item passes: functions ``stage(item)`` or ``stage(item, spider)``, objects or classes
    with ``process_item(item, spider)``, or text that names one (``module:Name``, ``drop-duplicates``). They
    run before validation, or when their ``order`` says (:class:`~gossamer.core.stages.StageOrder`); a
    parameter ``page`` gets the response that the item was found on.
    """

    hooks: Sequence[Any] = ()
    """What every request and answer passes: objects or classes with ``on_request(request)``,
    ``on_response(response)``, ``on_error(request, failure)``, ``on_output(response, output)`` or
    ``on_start(requests)``, functions (of requests), or text that names one (``module:Name``). The spider may
    have these methods itself; see "Hooks" among the guides.
    """

    sinks: Sequence[Any] = ()
    """Objects with ``emit(event)`` that are told what happens in this process, besides those of the settings
    (:class:`~gossamer.ports.sink.Sink`). One that raises gets no more events.
    """

    export_fields: Sequence[str] | Mapping[str, str] = ()
    """The fields that `gossamer crawl -o FILE` and ``-O FILE`` write, in their order; empty: all.

    A dict says by which name each is written.
    """

    feeds: Sequence[Any] = ()
    """What writes the items of the job at the end of each run of `gossamer crawl`: objects with ``name``,
    ``path``, ``can_grow`` (new items come behind those that are there) and
    ``write_items(items, ready, is_continued)``; it calls ``ready(path)`` before a new file takes its place.
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
        """A logger of the spider's name."""
        return logging.getLogger(f"gossamer.spiders.spider.{self.name}")

    @lazy_property
    def stats(self) -> SpiderStats:
        """Counters of its own, which the summary, the dashboard and the metrics show."""
        return SpiderStats()

    async def start(self) -> AsyncIterator[Request]:
        """The first requests: those of ``start_requests()``, else one for each of ``start_urls``."""
        older = getattr(self, "start_requests", None)
        for request in older() if older is not None else map(Request, self.start_urls):
            yield request

    def on_idle(self) -> Any:
        """Further requests, asked for when nothing is left to do; the crawl ends where there are none.

        It may be a generator, a coroutine or an async generator, and wait for as long as it likes: the crawl
        stays open meanwhile. Where it gives requests it is asked again, once those are done. It is called in
        the first process of ``--processes``; on a fleet it is not.
        """
        return ()

    def find_end(self) -> str:
        """Why the spider wants the crawl to end, looked at every half second; empty: it does not.

        For code outside of callbacks, which have ``response.stop()``. On a fleet each process that works on
        the job calls it for its own spider, and once when the spider has given its first requests.
        """
        return ""

    def closed(self, reason: str, /) -> Any:
        """Called once when a run of `gossamer crawl` has ended, with its reason; may be a coroutine function.

        That is after the pipelines were closed, in the first process of ``--processes``, whatever ended
        the run, unless the process is killed. What it raises is said, and the exit code is 1; one that
        waits longer than ``parse.callback_timeout`` has failed, too. On a fleet it is not called: no
        process there sees a crawl from its beginning to its end.
        """

    def parse(self, response: Any, /) -> Any:
        """What to make of a page; the callback of requests that name none.

        With :attr:`rules` a spider needs none: such pages go to :meth:`parse_start_url`.
        """
        if self.rules:
            return self.parse_start_url(response)
        raise NotImplementedError(
            f"{type(self).__name__} has no method 'parse', the callback of requests that name no other"
        )

    def parse_start_url(self, response: Any, /) -> Any:
        """What a spider with :attr:`rules` makes of start pages, besides following their links: nothing."""
        return ()

    def follow_rules(self, response: Any, /) -> Any:
        """The requests that :attr:`rules` make of a page's links; override it to change or leave out some.

        It is called after the callback of a page to which the rules apply, and is the callback of pages for
        which a rule names none.
        """
        return requests_by_rules(self.rules, response)

    def is_blocked(self, response: Any, /) -> bool | str:
        """Whether a response refuses us, by what only this spider knows; a text says why.

        Asked of every response but redirects, errors included, before its callback. Gossamer's own marks of
        challenges are looked for besides (setting ``blocks.detect``).
        """
        return False

    @property
    def logs_in(self) -> bool:
        """Whether there is something to log in to, and the code for it."""
        return self.log_in is not None and bool(self.login_url) and inspect.iscoroutinefunction(self.log_in)

    def is_logged_in(self, response: Any, /) -> bool:
        """Whether a page is one for members; asked for every page of HTML if the spider has ``log_in()``.

        A redirect to ``login_url``, or to what looks like it, and status 401 say no by themselves.
        """
        return True

    follows_loops: ClassVar[bool] = True
    """Whether a page that redirects to itself is asked again, up to ``http.max_redirects`` times."""
    reads_pages: ClassVar[bool] = True
    """Whether its pages are read by Gossamer's own parsers; another framework's spider brings its own."""

    def find_callback(self, name: str) -> Callable[..., Any]:
        """What a request with the callback or errback of this name calls.

        Raises ``AttributeError`` where there is no such method.
        """
        found: Callable[..., Any] = getattr(self, name)
        return found

    def find_script(self, name: str, request: Request) -> Any:
        """The coroutine function that runs on the page of a request in a browser; ``None``: there is none."""
        return getattr(self, name, None)

    def wants_status(self, request: Request, status: int) -> int:
        """Whether the callback of a request is to see a response of this status (``StatusWish``)."""
        if request.meta.get("handle_httpstatus_all") is True:
            return True
        wanted = request.meta.get("handle_httpstatus_list")
        return status in (self.handle_httpstatus_list if wanted is None else wanted)

    def has_callback(self, name: str) -> bool:
        """Whether there is a callback of this name."""
        return callable(getattr(self, name, None))

    def console_names(self, response: Any) -> dict[str, Any]:
        """What a person at a console works with, by name: the page, its request, and the spider."""
        return {"response": response, "request": response.request, "spider": self}

    def find_binding(self) -> str:
        """Why its requests cannot leave the process that made them, in words; ``""``: they can."""
        return ""

    def keep_no_state(self) -> None:
        """Called for a replay: nothing that another crawl finds is to be written."""

    def share_work(self) -> None:
        """Other processes take its requests, too, from now on."""

    @property
    def unshared_settings(self) -> Sequence[str]:
        """The names of its settings that have no effect once other processes take its requests, too."""
        return ()

    def take_fetcher(self, fetch: Callable[[Request], Awaitable[tuple[Request, FetchResult]]]) -> None:
        """``fetch`` is there from now on for code that needs a page while a callback runs."""

    def take_url_rule(self, canonicalise: Callable[[Request], str | None]) -> None:
        """``canonicalise`` says from now on under which URL a request is fetched and known."""

    def selects(self, callback: str) -> bool:
        """Whether ``callback`` selects elements of its pages; one that reads the bytes alone does not."""
        return True

    def watches(self, callback: str) -> bool:
        """Whether a crawl that comes back always asks for pages of ``callback``, be they due or not.

        For pages that only list others, and that may change without those that lead to them.
        """
        return False

    def browsing_for(self, callback: str) -> Browsing | None:
        """What a browser does on a page for ``callback``. Raises ``UsageError`` where that is no Browsing."""
        found = self.browser
        if isinstance(found, Mapping):
            found = found.get(callback)
        if found is not None:
            check_browsing(found, f"`browser` of the spider {self.name!r}")
        return found

    def required(self, callback: str) -> Sequence[str]:
        """The selectors that a page for ``callback`` must have."""
        require = self.require
        if isinstance(require, Mapping):
            return require.get(callback, ())
        return (require,) if isinstance(require, str) else require


def _is_code(value: Any) -> bool:
    """Methods and properties are not arguments."""
    return callable(value) or isinstance(value, property)


def may_have_hooks(spider: Spider | type[Spider]) -> bool:
    """Whether requests of a spider may pass hooks: callbacks can have the same names."""
    return bool(spider.hooks) or any(hasattr(spider, name) for name in HOOK_METHODS)
