"""The author and the dates of an article in a page's JSON-LD (schema.org)."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_ARTICLES = ("article", "posting", "report", "apireference")
"""How the names of schema.org's articles end; ``Article`` has some twenty of them below it."""
_PAGES = ("page", "creativework", "recipe", "howto")
"""Types that a page may also have. They fill in facts that no article gives."""
_SCHEMES = ("http://", "https://")


class ArticleFacts(NamedTuple):
    """An author and dates, as written; ``""`` where the page gives none."""

    author: str = ""  # several names with commas between them
    published: str = ""
    modified: str = ""


def read_article_facts(objects: Sequence[dict[str, Any]], own_urls: Collection[str] = ()) -> ArticleFacts:
    """Return the facts about the article that the page is.

    That is the first one that the JSON-LD calls an article; of several, the one with the page's own URL.
    """
    known = list(_nodes(objects))
    by_id = {node["@id"]: node for node in reversed(known) if _names_something(node)}
    facts = ArticleFacts()
    for endings in (_ARTICLES, _PAGES):
        meant = [node for node in known if any(name.endswith(endings) for name in _types_of(node))]
        meant.sort(key=lambda node: not _has_url(node, own_urls))
        told = next((one for one in (_facts_of(node, by_id) for node in meant) if any(one)), ArticleFacts())
        facts = ArticleFacts(*(first or second for first, second in zip(facts, told, strict=True)))
    return facts


def _facts_of(node: Mapping[str, Any], by_id: Mapping[str, dict[str, Any]]) -> ArticleFacts:
    return ArticleFacts(
        author=_names_of(node.get("author"), by_id) or _names_of(node.get("creator"), by_id),
        published=_text_of(node.get("datePublished")) or _text_of(node.get("dateCreated")),
        modified=_text_of(node.get("dateModified")),
    )


def _nodes(objects: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a page, including those in a named graph and the page's main entity."""
    for node in objects:
        if isinstance(node, dict):
            yield node
            inner = [*_as_list(node.get("@graph")), *_as_list(node.get("mainEntity"))]
            yield from (one for one in inner if isinstance(one, dict))


def _names_something(node: Mapping[str, Any]) -> bool:
    return isinstance(node.get("@id"), str) and len(node) > 1


def _types_of(node: Mapping[str, Any]) -> list[str]:
    """Return the types in lower case, without prefixes (``https://schema.org/``, ``schema:``)."""
    named = (one for one in _as_list(node.get("@type")) if isinstance(one, str))
    return [name.replace("#", "/").replace(":", "/").rpartition("/")[2].lower() for name in named]


def _has_url(node: Mapping[str, Any], own_urls: Collection[str]) -> bool:
    places = [node.get("url"), node.get("@id"), *_as_list(node.get("mainEntityOfPage"))]
    urls = (place.get("@id") or place.get("url") if isinstance(place, dict) else place for place in places)
    return any(isinstance(url, str) and url.partition("#")[0] in own_urls for url in urls)


def _names_of(value: Any, by_id: Mapping[str, dict[str, Any]]) -> str:
    """Return the names of people and organizations; an ``@id`` is looked up on the page."""
    names = [_name_of(one, by_id) for part in _as_list(value) for one in _as_list(part)]
    return ", ".join(dict.fromkeys(name for name in names if name and not name.startswith(_SCHEMES)))


def _name_of(value: Any, by_id: Mapping[str, dict[str, Any]]) -> str:
    if not isinstance(value, dict):
        return _text_of(value)
    reference = value.get("@id")
    who = by_id.get(reference, value) if isinstance(reference, str) and "name" not in value else value
    parts = (_text_of(who.get("givenName")), _text_of(who.get("familyName")))
    return _text_of(who.get("name")) or _text_of(who) or " ".join(filter(None, parts))


def _text_of(value: Any) -> str:
    """Return a text on one line; of several the first one that says something."""
    for one in _as_list(value):
        text = one.get("@value") if isinstance(one, dict) else one
        if isinstance(text, str) and text.strip():
            return " ".join(html.unescape(text).split())
    return ""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
