"""Rules for the links that a spider follows, and the callbacks for their pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.storable import callback_name
from gossamer.policy.link_filter import Patterns, Texts
from gossamer.policy.scope import IGNORED_EXTENSIONS
from gossamer.spiders.page_links import LinkOptions, check_link_options

FOLLOW_RULES = "follow_rules"
"""The callback of pages that only give links, a method of every spider."""


class Rule(Record, frozen=True, kw_only=True):
    """Links to follow, and the callback for their pages; an entry of ``Spider.rules``.

    A link belongs to the first rule that accepts it. All arguments are keywords; the options that choose
    links are those of :class:`~gossamer.spiders.page_links.LinkOptions`.
    """

    allow: Patterns = ()  # regular expressions; the absolute URL must match one of them
    deny: Patterns = ()  # regular expressions; the absolute URL must match none of them
    css: Texts = ()  # CSS selectors of links, or of parts of the page that contain them
    xpath: Texts = ()  # XPath expressions of links, or of parts of the page that contain them
    allow_domains: Texts = ()  # domains of the links to follow, with their subdomains
    deny_domains: Texts = ()  # domains of links to leave out, with their subdomains
    deny_extensions: Texts = IGNORED_EXTENSIONS
    """Suffixes of paths to leave out; by default pictures, archives, films and the like."""
    tags: Texts = ()  # elements that are links; empty: ``a`` and ``area``
    attrs: Texts = ()  # attributes with their URLs; empty: ``href``
    callback: Any = None  # the method of the spider that gets the responses, or its name
    follow: bool | None = None  # apply the rules to these pages; ``None``: only without a callback
    errback: Any = None  # the method that is called if a request fails for good, or its name
    cb_kwargs: Mapping[str, Any] = {}  # keyword arguments of the callback
    priority: int = 0  # priority of the requests
    fetch: str = ""  # the way to fetch the pages; empty: the spider's default

    @property
    def link_options(self) -> LinkOptions:
        """The options of the links it takes, without empty ones."""
        options = {name: getattr(self, name) for name in LinkOptions.__annotations__}
        return cast("LinkOptions", {name: value for name, value in options.items() if value})

    @property
    def follows(self) -> bool:
        """Whether the rules apply to the pages of this rule."""
        return self.callback is None if self.follow is None else self.follow

    @property
    def callback_name(self) -> str:
        """Name of the callback. Raises ``UsageError`` if it is not a method."""
        return callback_name(self.callback, "callback") or FOLLOW_RULES

    def request_for(self, url: str) -> Request:
        """Make the request for an accepted link."""
        return Request(
            url,
            self.callback_name,
            follow_rules=self.follows and self.callback is not None,
            errback=self.errback,
            cb_kwargs=dict(self.cb_kwargs),
            priority=self.priority,
            fetch=self.fetch,
        )


def follows_rules(request: Request) -> bool:
    """Whether the spider's rules apply to the page of a request, besides its callback."""
    return request.callback is None or request.follow_rules


def links_by_rule(rules: Iterable[Rule], response: Any) -> Iterator[tuple[Rule, list[str]]]:
    """The links of a response that each rule takes: a link goes to the first rule that fits."""
    taken: set[str] = set()
    for rule in rules:
        urls = [url for url in response.links(**rule.link_options) if url not in taken]
        taken.update(urls)
        yield rule, urls


def requests_by_rules(rules: Iterable[Rule], response: Any) -> Iterator[Request]:
    """The requests for links of a response that rules take."""
    session = response.request.session
    for rule, urls in links_by_rule(rules, response):
        requests = map(rule.request_for, urls)
        yield from (request.replace(session=session) for request in requests) if session else requests


def check_rules(spider: Any) -> None:
    """Raise ``UsageError`` that names the rule and the option for one that could not work."""
    rules = spider.rules
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise UsageError(
            f"rules of the spider {spider.name!r} is a {type(rules).__name__}, and has to be a list: rules = "
            "[Rule(...)]"
        )
    for number, rule in enumerate(rules):
        try:
            _check_rule(rule, spider)
        except (UsageError, TypeError) as error:
            raise UsageError(f"rules[{number}] of the spider {spider.name!r}: {error}") from None


def _check_rule(rule: object, spider: Any) -> None:
    if not isinstance(rule, Rule):
        raise UsageError(f"{rule!r} is not a Rule(...)")
    if rule.follow is not None and not isinstance(rule.follow, bool):
        raise UsageError(f"follow: {rule.follow!r} is neither True nor False")
    for option, method in (("callback", rule.callback), ("errback", rule.errback)):
        name = None if method is None else callback_name(method, option)
        if name is not None and not callable(getattr(spider, name, None)):
            raise UsageError(f"{option}: the spider has no method {name!r}")
    if rule.callback is None and not rule.follows:
        raise UsageError("it has no callback and follow=False, so its pages would be fetched for nothing")
    if rule.callback is None and rule.cb_kwargs:
        raise UsageError("cb_kwargs: the rule has no callback that could take them")
    check_link_options(rule.link_options)
    rule.request_for("http://rule.invalid/")
