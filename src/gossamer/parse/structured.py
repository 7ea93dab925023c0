"""Structured data of pages: JSON-LD, OpenGraph and microdata."""

from __future__ import annotations

from typing import Any

from turbohtml import MicrodataItem

from gossamer.parse.html import HtmlPage
from gossamer.parse.json_ld import read_blocks


def read_json_ld(page: HtmlPage) -> list[dict[str, Any]]:
    """Return the objects of every JSON-LD block, lists and ``@graph`` unfolded, in document order.

    Comments, CDATA sections, surplus commas and several objects in one block are forgiven
    (:mod:`gossamer.parse.json_ld`). Blocks that are not JSON even then are passed over.
    """
    return read_blocks(page.document)


def read_opengraph(page: HtmlPage) -> dict[str, str]:
    """Return the ``og:`` properties without their prefix, URLs absolute; the first of equal names counts."""
    found: dict[str, str] = {}
    for name, content, element in page.meta_tags:
        if name.startswith("og:") and element.attr("property"):
            found.setdefault(name[3:], content.strip())
    for name in ("url", "image", "image:url", "image:secure_url", "video", "audio"):
        if name in found:
            found[name] = page.join_url(found[name]) or found[name]
    return found


def read_microdata(page: HtmlPage) -> list[dict[str, Any]]:
    """Return the top-level items: ``{"type": ..., "id": ..., "properties": {name: [values]}}``, nested alike.

    URLs are absolute; ``type`` and ``id`` are left out where the page gives none.
    """
    items = [_item_dict(item) for item in page.document.microdata(page.base_url)]
    if page.encoding != "UTF-8":
        written = [_item_dict(item) for item in page.document.microdata()]
        items = [_encode_urls(item, own, page) for item, own in zip(items, written, strict=True)]
    return items


def _encode_urls(value: Any, written: Any, page: HtmlPage) -> Any:
    """A value whose URLs have their queries in the charset of the page; a URL was written in another way."""
    if isinstance(value, dict):
        return {key: _encode_urls(one, written.get(key), page) for key, one in value.items()}
    if isinstance(value, list):
        return [_encode_urls(one, own, page) for one, own in zip(value, written, strict=True)]
    if value == written or not written or written.isascii():
        return value
    return (page.join_url(written) or value) + value[value.find("#") :] * ("#" in value)


def _item_dict(item: MicrodataItem) -> dict[str, Any]:
    properties = {
        name: [_item_dict(value) if isinstance(value, MicrodataItem) else value for value in values]
        for name, values in item.properties.items()
    }
    head = {key: value for key, value in (("type", item.type), ("id", item.id)) if value}
    return {**head, "properties": properties}
