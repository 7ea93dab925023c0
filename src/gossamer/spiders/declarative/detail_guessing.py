"""Guess the fields of the one thing that a page describes, for a proposal.

The most reliable source wins: JSON-LD, microdata, OpenGraph, else a heading with a price, picture or
description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from turbohtml import Element

from gossamer.items.helpers import squeeze
from gossamer.items.item import Item
from gossamer.parse.block_values import is_plain_name, is_price
from gossamer.spiders.declarative.fact_guessing import NamedValue, are_properties, read_facts, read_prose
from gossamer.spiders.query import text_of
from gossamer.spiders.response import Response

MOST_FIELDS = 25
"""Fields of one type of items."""
_MAIN_TYPES = re.compile(
    r"Product|Article|NewsArticle|BlogPosting|Recipe|Event|JobPosting|Book|Movie|Course|Review|Vehicle|Hotel|"
    r"Restaurant|LocalBusiness|Dataset|SoftwareApplication|VideoObject"
)
_RESERVED = {"copy": "copies", "json": "data", "dict": "data", "schema": "scheme"}
_ABOUT_ONE = re.compile(
    r"(?:og:)?(product|article|book|video|music|profile|recipe)\b(?!\.group)", re.IGNORECASE
)
_OPENGRAPH = (
    ("title", "og:title", ""),
    ("price", "product:price:amount", "decimal"),
    ("price", "og:price:amount", "decimal"),
    ("currency", "product:price:currency", ""),
    ("currency", "og:price:currency", ""),
    ("image", "og:image", "url"),
    ("published", "article:published_time", "datetime"),
    ("author", "article:author", ""),
)
_PRICE_WORD = re.compile(r"price|preis|prix|precio|prezzo|amount", re.IGNORECASE)
_PICTURES = ("main img", "article img", ".product img", "#content img", "#main img")
_MOST_PRICES = 50
"""Classes that are looked at for a price."""


class FieldProposal(NamedTuple):
    """A field of a proposal."""

    name: str
    said: Mapping[str, Any]  # the keys of its table
    example: str


class ThingProposal(NamedTuple):
    """The thing that a page describes."""

    source: str  # where it was found, for people
    kind: str  # its type
    fields: tuple[FieldProposal, ...]  # the first one is the page's own URL, which is the key


def find_thing(response: Response) -> ThingProposal | None:
    """Return the thing described in the page's metadata; ``None`` without one."""
    return _proposal_of(
        response, _find_json_ld(response) or _find_microdata(response) or _find_opengraph(response)
    )


def find_shown_thing(response: Response) -> ThingProposal | None:
    """Return the thing that the visible page describes: a product, an article, or a page with a heading."""
    return _proposal_of(response, _find_heading(response))


def _proposal_of(response: Response, found: _Found | None) -> ThingProposal | None:
    if found is None:
        return None
    source, kind, fields = found
    taken = {"url"}
    named = [field._replace(name=free_name(field.name, taken)) for field in fields[:MOST_FIELDS]]
    own = FieldProposal("url", {"page": "url"}, response.url)
    return ThingProposal(source, kind, (own, *named))


_Found = tuple[str, str, Sequence[FieldProposal]]
"""The source, the type, the fields."""


# --------------------------------------------------------------------------- names and values


def free_name(name: str, taken: set[str]) -> str:
    """Return a free name, and take it."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}{number}" if name[:1].isupper() else f"{name}_{number}"
    taken.add(free)
    return free


def make_identifier(word: str) -> str:
    """Return a word as the name of a field."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1_\2", word)
    name = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")
    name = name if name[:1].isalpha() else f"field_{name}".rstrip("_")
    name = _RESERVED.get(name, name)
    return f"own_{name}" if hasattr(Item, name) else name


def is_iso_time(text: str) -> bool:
    """Whether a text is a date or a time as ISO 8601 has it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _type_of(name: str, value: Any) -> dict[str, str]:
    """The type of a field by its name and its value, as its table has it."""
    if isinstance(value, bool):
        return {"type": "bool"}
    text = str(value)
    if isinstance(value, int | float) or (name.lower().endswith("price") and re.fullmatch(r"[\d.,]+", text)):
        return {"type": "decimal"}
    return {"type": "datetime"} if is_iso_time(text) and not text.isdecimal() else {}


# --------------------------------------------------------------------------- JSON-LD


def _find_json_ld(response: Response) -> _Found | None:
    about = [
        (number, *found) for number, value in enumerate(response.json_ld()) if (found := _main_type(value))
    ]
    if len(about) != 1:
        return None  # of several things, it is about none
    number, kind, value = about[0]
    fields = [
        FieldProposal(make_identifier("_".join(path)), _json_field(number, path, leaf), str(leaf))
        for path, leaf in _leaves_of(value)
    ]
    return (f"JSON-LD {kind}", kind, fields) if fields else None


def _main_type(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The type of an object that a page may be about, and the object."""
    said = value.get("@type")
    kind = str(said[0] if isinstance(said, list) and said else said)
    return (kind, value) if _MAIN_TYPES.fullmatch(kind) else None


def _json_field(number: int, path: Sequence[str], leaf: Any) -> dict[str, Any]:
    steps = "".join(f".{part}" if re.fullmatch(r"[A-Za-z_][\w-]*", part) else f'["{part}"]' for part in path)
    return {"select": f"$[{number}]{steps}", **_type_of(path[-1], leaf), "optional": True}


def _leaves_of(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the scalars of a value, three levels deep, without the keywords of JSON-LD."""
    for name, inner in value.items():
        if name.startswith("@") or not name.isprintable() or '"' in name:
            continue
        way = (*path, name)
        if isinstance(inner, dict) and len(way) < 3:
            yield from _leaves_of(inner, way)
        elif isinstance(inner, str | int | float) and str(inner).strip():
            yield way, inner


# --------------------------------------------------------------------------- microdata


def _find_microdata(response: Response) -> _Found | None:
    about = []
    for item in response.microdata():
        place = str(item.get("type", "")).split(" ")[0]
        kind = place.rstrip("/").rpartition("/")[2]
        if _MAIN_TYPES.fullmatch(kind) and '"' not in place:
            about.append((place, kind, item["properties"]))
    if len(about) != 1:
        return None
    place, kind, properties = about[0]
    fields = [*_microdata_fields(response, f'[itemtype~="{place}"]', properties, ())]
    return (f"microdata {kind}", kind, fields) if fields else None


def _microdata_fields(
    response: Response, around: str, properties: Mapping[str, Sequence[Any]], path: tuple[str, ...]
) -> Iterator[FieldProposal]:
    """The properties whose first value a selector finds again, three levels deep."""
    for name, values in properties.items():
        if not values or not is_plain_name(name):
            continue
        selector, way, value = f'{around} [itemprop~="{name}"]', (*path, name), values[0]
        if isinstance(value, dict):
            if len(way) < 3:
                yield from _microdata_fields(response, selector, value["properties"], way)
        elif found := _select_again(response, selector, str(value)):
            said, text = found
            kind = {} if "type" in said else _type_of(name, text)
            yield FieldProposal(make_identifier("_".join(way)), {**said, **kind, "optional": True}, text)


def _select_again(response: Response, selector: str, value: str) -> tuple[dict[str, str], str] | None:
    """Return the selection of a value and its text: from metadata if possible, else as displayed."""
    first = next(iter(response.css(selector)), None)
    if first is None or not value.strip():
        return None
    for name in ("content", "datetime", "value"):
        if text := squeeze(first.attrib.get(name)):
            return {"select": f"{selector}::attr({name})"}, text
    if squeeze(text_of(first)) == squeeze(value):
        return {"select": selector}, squeeze(value)
    place = first.attrib.get("href") or first.attrib.get("src") or ""
    is_link = bool(place) and response.page.join_url(place) == value
    return ({"select": selector, "type": "url"}, value) if is_link else None


# --------------------------------------------------------------------------- OpenGraph, headings


def _find_opengraph(response: Response) -> _Found | None:
    about = _ABOUT_ONE.match(response.page.meta_content("og:type"))
    if about is None:
        return None
    kind = about[1].capitalize()
    fields = [*_opengraph_fields(response), *_description_field(response)]
    if not any(field.name == "price" for field in fields):
        fields += _price_field(response)
    if kind == "Article":
        fields.append(FieldProposal("text", {"page": "text"}, response.main_text()))
    return f"OpenGraph {about[1].lower()}", kind, fields


def _opengraph_fields(response: Response) -> Iterator[FieldProposal]:
    for name, prop, kind in _OPENGRAPH:
        selector = f'meta[property="{prop}"]::attr(content)'
        value = squeeze(response.css(selector).get())
        if value and (kind != "datetime" or is_iso_time(value)):
            said = {"select": selector, **({"type": kind} if kind else {}), "optional": True}
            yield FieldProposal(name, said, value)


def _find_heading(response: Response) -> _Found | None:
    """A page with one heading, and something more than a little text that belongs to it."""
    title = _title_field(response)
    if title is None:
        return None
    price = [*_price_field(response)]
    image = [field for field in _opengraph_fields(response) if field.name == "image"]
    more = [*(image or _picture_field(response)), *_description_field(response)]
    if not price and (text := read_prose(response)):
        own = FieldProposal("text", {"page": "text"}, text)
        return "a heading with prose", "Article", (title, *_date_field(response), own, *more)
    if not (price or more):
        return None
    facts = read_facts(response)
    if not price and not (are_properties(facts) and any(field.name == "image" for field in more)):
        return "a heading", "Page", (title, *more)
    named = (FieldProposal(make_identifier(one.name), _said_of(one), one.value) for one in facts)
    return "a heading", "Product", (title, *price, *more, *named)


def _title_field(response: Response) -> FieldProposal | None:
    """The only heading of the first rank that the page uses."""
    for tag in ("h1", "h2"):
        headings = [text for one in response.css(tag) if (text := squeeze(text_of(one)))]
        if headings:
            return FieldProposal("title", {"select": tag}, headings[0]) if len(headings) == 1 else None
    return None


def _said_of(fact: NamedValue) -> dict[str, Any]:
    return {"select": fact.xpath, "optional": True}


def _date_field(response: Response) -> Iterator[FieldProposal]:
    selector = "time[datetime]::attr(datetime)"
    value = squeeze(response.css(selector).get())
    if value and is_iso_time(value):
        yield FieldProposal("published", {"select": selector, "type": "datetime", "optional": True}, value)


def _description_field(response: Response) -> Iterator[FieldProposal]:
    if text := response.page.description:
        yield FieldProposal("description", {"page": "description", "optional": True}, text)


def _price_field(response: Response) -> Iterator[FieldProposal]:
    """The first text that is called a price, and looks like one."""
    called_so = (
        name
        for found in response.css("[class]")
        for name in found.attrib.get("class", "").split()
        if _PRICE_WORD.search(name) and is_plain_name(name)
    )
    for name in islice(dict.fromkeys(called_so), _MOST_PRICES):
        text = squeeze(text_of(response.css(f".{name}")[0]))
        if text and is_price([text]):
            yield FieldProposal("price", {"select": f".{name}", "type": "decimal", "optional": True}, text)
            return


def find_price(response: Response) -> Element | None:
    """The element of the price that a proposal has."""
    field = next(_price_field(response), None)
    element = response.css(str(field.said["select"]))[0].root if field is not None else None
    return element if isinstance(element, Element) else None


def _picture_field(response: Response) -> Iterator[FieldProposal]:
    for selector in _PICTURES:
        first = next(iter(response.css(selector)), None)
        source = first.attrib.get("src", "") if first is not None else ""
        if source and not source.startswith("data:"):
            yield FieldProposal("image", {"select": selector, "type": "url", "optional": True}, source)
            return
