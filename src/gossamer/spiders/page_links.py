"""Which links of a page are followed: the options that rules, ``links()`` and ``follow_all()`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypedDict, cast

from gossamer.core.drops import DropKind
from gossamer.core.errors import UsageError
from gossamer.core.lazy import lazy_pattern
from gossamer.core.redaction import hide_userinfo
from gossamer.parse.links import PageLinks, join_links
from gossamer.parse.selectors import Selector
from gossamer.policy.credentials import has_credentials
from gossamer.policy.link_filter import LinkFilter, Patterns, Texts, make_link_filter, texts_of
from gossamer.policy.urls import UrlJoiner


class LinkOptions(TypedDict, total=False):
    """The options that choose links, for ``Response.links()``, ``follow_all()`` and :class:`~gossamer.Rule`.

    Each option is one value or a list.
    """

    allow: Patterns
    """Regular expressions; the absolute URL must match one of them."""
    deny: Patterns
    """Regular expressions; the absolute URL must match none of them."""
    css: Texts
    """CSS selectors of links, or of parts of the page that contain them."""
    xpath: Texts
    """XPath expressions of links, or of parts of the page that contain them."""
    allow_domains: Texts
    """Domains of the links to follow, with their subdomains."""
    deny_domains: Texts
    """Domains of links to leave out, with their subdomains."""
    deny_extensions: Texts
    """Suffixes of paths to leave out, such as ``pdf``."""
    tags: Texts
    """Elements that are links; by default ``a`` and ``area``."""
    attrs: Texts
    """Attributes with their URLs; by default ``href``."""


RawLink = tuple[str | None, bool]
"""The URL of a link as written (``None``: it leads nowhere), and whether it asks not to be followed."""
SELECTING = frozenset({"css", "xpath", "tags", "attrs"})
"""Options that say where links are; the others look at their URLs."""
_TAGS, _ATTRS = ("a", "area"), ("href",)
_NAME = lazy_pattern(r"[^\W\d][\w.-]*")
_NONE = LinkOptions()


def split_options(options: dict[str, Any]) -> tuple[LinkOptions, dict[str, Any]]:
    """Options that choose among links, and the others."""
    names = options.keys() & LinkOptions.__annotations__.keys()
    if not names:
        return _NONE, options
    chosen = {name: options[name] for name in names}
    return cast("LinkOptions", chosen), {name: options[name] for name in options.keys() - names}


def link_filter_of(options: LinkOptions) -> LinkFilter:
    """Return the filter of URLs. Raises ``UsageError`` for an unknown or invalid option."""
    if unknown := options.keys() - LinkOptions.__annotations__.keys():
        names = ", ".join(LinkOptions.__annotations__)
        raise UsageError(f"{', '.join(sorted(unknown))} is not an option for links; options are {names}")
    return make_link_filter(
        options.get("allow", ()),
        options.get("deny", ()),
        options.get("allow_domains", ()),
        options.get("deny_domains", ()),
        options.get("deny_extensions", ()),
    )


def check_link_options(options: LinkOptions) -> None:
    """Raise ``UsageError`` that names the option for one that cannot be used on any page."""
    link_filter_of(options)
    _names_of(options)
    empty = Selector(text="")
    for option, select in (("css", empty.css), ("xpath", empty.xpath)):
        for query in texts_of(option, options.get(option, ())):  # type: ignore[arg-type]
            try:
                select(query)
            except ValueError as error:
                raise UsageError(f"{option}: {error}") from None


def select_all(option: str, queries: Texts, select: Callable[[str], list[Selector]]) -> list[Selector]:
    """Return the results of one query or several."""
    return [found for query in texts_of(option, queries) for found in select(query)]


def select_links(response: Any, options: LinkOptions, joiner: UrlJoiner, limit: int) -> PageLinks:
    """The links that the options select on a response, of HTML or XML."""
    if not (response.is_html or response.is_xml):
        return PageLinks([], frozenset(), {})
    selected = select_all("css", options.get("css", ()), response.css)
    selected += select_all("xpath", options.get("xpath", ()), response.xpath)
    if options.keys().isdisjoint(("css", "xpath")):
        selected = [response.selector]
    links = [(href, is_marked) for href, is_marked in read_links(selected, options) if href is not None]
    urls, _, dropped = join_links([href for href, _ in links], joiner, limit)
    marked, unmarked = (
        {joiner[href] for href, is_marked in links if is_marked is said} for said in (True, False)
    )
    return PageLinks(urls, frozenset(url for url in marked - unmarked if url), dropped)


def read_links(links: Iterable[str | Selector], options: LinkOptions = _NONE) -> Iterator[RawLink]:
    """Yield the links of texts and elements; an element that is not a link stands for those in it.

    An element without any gives one link without a target. Raises ``UsageError`` for a single text, whose
    letters are not links.
    """
    if isinstance(links, str):
        raise UsageError(
            f"follow_all({links!r}): it takes several links; follow_all(css={links!r}) follows what a "
            "selector finds, and follow(url) one link"
        )
    tags, attrs = _names_of(options) if options else (_TAGS, _ATTRS)
    for link in links:
        found = read_link(link, attrs)
        if found[0] is not None or isinstance(link, str):
            yield found
        else:
            yield from _links_within(link, tags, attrs) or [found]


def check_single(given: object, method: str, instead: str) -> None:
    """Raises ``UsageError`` for several links where a method takes one."""
    if isinstance(given, list):
        raise UsageError(
            f"response.{method} takes one URL or element, and got a list of {len(given)}: {instead}"
        )


class LinkCredentialsError(ValueError):
    """A link has a user or a password in its URL."""


def check_link(url: str, href: str = "") -> str:
    """The absolute URL of a link, with the fragment of ``href``, if it has one.

    Raises :class:`LinkCredentialsError`: a page has no say in who asks.
    """
    if "@" in url and has_credentials(url):
        raise LinkCredentialsError(
            f"the link {hide_userinfo(url)} has a user or a password in it: links of pages are not followed "
            "so; if it is yours to send, write Request(url, auth=(user, password))"
        )
    fragment = href.partition("#")[2].strip()
    return f"{url.partition('#')[0]}#{fragment}" if fragment else url


def drop_reason_of(error: ValueError) -> str:
    """Return the counter of a link that could not be followed."""
    return DropKind.LINK.key_of("credentials" if isinstance(error, LinkCredentialsError) else "bad_url")


def read_link(link: str | Selector, attrs: Sequence[str] = _ATTRS) -> RawLink:
    """A link given as text, as an element, or as the text or attribute of one."""
    if isinstance(link, str):
        return link, False
    attributes = link.attrib  # worked out each time it is asked for
    href = next((attributes[name] for name in attrs if name in attributes), None)
    rel = attributes.get("rel")
    is_nofollow = rel is not None and "nofollow" in rel.lower().split()
    return text_as_link(link) if href is None else href, is_nofollow


def text_as_link(selector: Selector) -> str | None:
    """The text of ``::attr(href)``, or of an element of XML that has nothing but text, as in RSS."""
    if isinstance(selector.root, str):
        return selector.root.strip()
    if selector.type != "xml" or selector.xpath("*"):
        return None
    return selector.xpath("string()").get("").strip() or None


def _links_within(part: Selector, tags: Sequence[str], attrs: Sequence[str]) -> list[RawLink]:
    """The links in a part of a page; of XML also elements called ``link``."""
    if part.type == "xml":
        names = " or ".join(f"local-name() = '{name}'" for name in (*tags, "link"))
        found = part.xpath(f".//*[{names}]")
    else:
        names = " or ".join(f"self::{name}" for name in tags)
        found = part.xpath(f".//*[{names}][{' or '.join(f'@{name}' for name in attrs)}]")
    return [link for link in (read_link(element, attrs) for element in found) if link[0] is not None]


def _names_of(options: LinkOptions) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of elements and attributes. Raises ``UsageError`` for an invalid name."""
    tags, attrs = (texts_of(option, options.get(option, ())) for option in ("tags", "attrs"))  # type: ignore[arg-type]
    for option, names in (("tags", tags), ("attrs", attrs)):
        wrong = next((name for name in names if not _NAME.fullmatch(name)), None)
        if wrong is not None:
            raise UsageError(f"{option}: {wrong!r} is not a name")
    return tags or _TAGS, attrs or _ATTRS


def read_file_link(url: Any, page_url: str) -> str:
    """Return the URL of a file as written: a text, or ``href`` or ``src`` of an element."""
    if not isinstance(url, str):
        attributes = url.attrib if url.type != "text" else {}
        url = attributes.get("href") or attributes.get("src") or text_as_link(url) or ""
    if not url:
        raise ValueError(f"an element on {page_url} has neither href nor src: it names no file")
    return str(url)
