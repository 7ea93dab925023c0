"""What pages say for machines: JSON-LD, OpenGraph and microdata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turbohtml import MicrodataItem

from gossamer.parse.html import HtmlPage

_MAX_BLOCK = 2_000_000
"""Characters of one JSON-LD block that are read."""


def read_json_ld(page: HtmlPage) -> list[dict[str, Any]]:
    """The objects of every JSON-LD block, lists and ``@graph`` unfolded, in document order.

    Blocks that are not JSON are passed over; a comment around the JSON and line ends within its strings,
    which many sites write, are forgiven.
    """
    found: list[dict[str, Any]] = []
    for script in page.document.select('script[type="application/ld+json" i]'):
        value = _read_json(script.text)
        if value is not None:
            found.extend(_unfold_objects(value))
    return found


def _read_json(text: str) -> Any:
    text = text[:_MAX_BLOCK].strip().removeprefix("<!--").removesuffix("-->").strip().rstrip(";")
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _unfold_objects(value: Any) -> Iterator[dict[str, Any]]:
    entries = value if isinstance(value, list) else [value]
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        graph = entry.get("@graph")
        if isinstance(graph, list) and not set(entry) - {"@context", "@graph", "@id"}:
            yield from (node for node in graph if isinstance(node, dict))
        else:
            yield entry


def read_opengraph(page: HtmlPage) -> dict[str, str]:
    """The ``og:`` properties without their prefix, URLs absolute; the first of equal names counts."""
    found: dict[str, str] = {}
    for name, content, element in page.meta_tags:
        if name.startswith("og:") and element.attr("property"):
            found.setdefault(name[3:], content.strip())
    for name in ("url", "image", "image:url", "image:secure_url", "video", "audio"):
        if name in found:
            found[name] = page.join_url(found[name]) or found[name]
    return found


def read_microdata(page: HtmlPage) -> list[dict[str, Any]]:
    """The top-level items: ``{"type": ..., "id": ..., "properties": {name: [values]}}``, nested alike.

    URLs are absolute; ``type`` and ``id`` are left out where the page gives none.
    """
    return [_item_dict(item) for item in page.document.microdata(page.base_url)]


def _item_dict(item: MicrodataItem) -> dict[str, Any]:
    properties = {
        name: [_item_dict(value) if isinstance(value, MicrodataItem) else value for value in values]
        for name, values in item.properties.items()
    }
    head = {key: value for key, value in (("type", item.type), ("id", item.id)) if value}
    return {**head, "properties": properties}
