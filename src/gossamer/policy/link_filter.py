"""Which links of a page are taken: by expressions, domains and suffixes. Pure.

One filter for rules of spiders, ``response.links()`` and ``response.follow_all()``. Expressions given as text
run as the setting ``include`` does: in a time that grows with the URL and no faster, where that is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, cast

from gossamer.core.errors import UsageError
from gossamer.policy import urls
from gossamer.policy.patterns import compile_pattern
from gossamer.policy.scope import Scope, domain_of

Texts = str | Iterable[str]
"""One text, or several."""
Patterns = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""One regular expression, or several."""


class LinkFilter(NamedTuple):
    """Conditions for a URL. Every part may be empty."""

    scope: Scope
    denied: Scope | None  # hosts whose links are not taken

    def accepts(self, url: str) -> bool:
        """Whether a link to an absolute URL is taken."""
        if self.scope.check_url(url) is not None:
            return False
        if self.denied is None:
            return True
        place = urls.parse_origin(url)
        return not self.denied.is_host_allowed(place.hostname, place.port)


def make_link_filter(
    allow: Patterns = (),
    deny: Patterns = (),
    allow_domains: Texts = (),
    deny_domains: Texts = (),
    deny_extensions: Texts = (),
) -> LinkFilter:
    """The filter of these options; made once for equal ones. Raises ``UsageError`` that names the option."""
    return _make_filter(
        tuple(_patterns_of("allow", allow)),
        tuple(_patterns_of("deny", deny)),
        tuple(_domains_of("allow_domains", allow_domains)),
        tuple(_domains_of("deny_domains", deny_domains)),
        texts_of("deny_extensions", deny_extensions),
    )


@lru_cache(maxsize=1000)
def _make_filter(
    allow: tuple[str | re.Pattern[str], ...],
    deny: tuple[str | re.Pattern[str], ...],
    allow_domains: tuple[str, ...],
    deny_domains: tuple[str, ...],
    deny_extensions: tuple[str, ...],
) -> LinkFilter:
    scope = Scope(allow_domains, allow, deny, deny_extensions=deny_extensions)
    return LinkFilter(scope, Scope(deny_domains) if deny_domains else None)


def texts_of(option: str, value: Texts) -> tuple[str, ...]:
    """Return one or several texts as a tuple. Raises ``UsageError`` that names the option."""
    given = _several(option, value)
    wrong = next((text for text in given if not isinstance(text, str)), None)
    if wrong is not None:
        raise UsageError(f"{option}: {wrong!r} is not a string")
    return cast("tuple[str, ...]", given)


def _patterns_of(option: str, value: Patterns) -> Iterable[str | re.Pattern[str]]:
    for pattern in _several(option, value):
        if isinstance(pattern, str):
            try:
                compile_pattern(pattern)
            except UsageError as error:
                raise UsageError(f"{option}: {error}") from None
        elif not isinstance(pattern, re.Pattern) or not isinstance(pattern.pattern, str):
            raise UsageError(f"{option}: {pattern!r} is not a regular expression for text")
        yield pattern


def _domains_of(option: str, value: Texts) -> Iterable[str]:
    for domain in texts_of(option, value):
        domain_of(domain, option)
        yield domain


def _several(option: str, value: object) -> tuple[object, ...]:
    if isinstance(value, str | re.Pattern):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise UsageError(f"{option}: {value!r} is neither a string nor a list of strings")
    return tuple(value)
