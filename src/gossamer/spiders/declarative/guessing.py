"""A proposal for a page: a spider in TOML for what repeats there, and for the one thing that it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gossamer.core.text import format_count
from gossamer.parse.block_values import BlockValue, is_price
from gossamer.parse.repeats import BlockList, find_blocks
from gossamer.policy.pagination import read_count
from gossamer.spiders.declarative.detail_guessing import (
    MOST_FIELDS,
    FieldProposal,
    ThingProposal,
    find_price,
    find_shown_thing,
    find_thing,
    free_name,
    is_iso_time,
    make_identifier,
)
from gossamer.spiders.declarative.fact_guessing import (
    find_definitions,
    is_in_aside,
    is_table_of_facts,
    read_facts,
    stands_beside,
)
from gossamer.spiders.response import Response

_NAMES: Mapping[str, str] = {
    "price": r"price|amount|cost|preis|prix|precio",
    "title": r"title|name|heading|headline|titre|titel|h[1-6]",
    "author": r"author|byline|writer|autor|auteur",
    "date": r"date|time|published|posted|datum|fecha",
    "summary": r"summary|excerpt|desc|description|teaser|snippet|lead|intro",
    "rating": r"rating|stars|score",
    "tags": r"tags?|keywords?|labels?",
    "category": r"category|section|genre|kategorie",
    "brand": r"brand|manufacturer|marke",
    "location": r"location|city|place|address",
    "company": r"company|employer|seller|vendor",
    "text": r"text|body|content|quote|comment|p|dd|li",
}
"""Meanings of words in classes and ``itemprop``."""
_KINDS = {"link": "link", "image": "image", "time": "date"}
_TEXTS = re.compile(
    r"^(?:next|next page|older|older posts|more|weiter|n\u00e4chste|vor|suivant|siguiente|successivo|"
    r"pr\u00f3xima|volgende|n\u00e4sta|\u203a|\u00bb|>|\u2192|next\s*[\u203a\u00bb>\u2192])$",
    re.IGNORECASE,
)
_NEXT = (
    "a[rel~=next]",
    "a.next",
    ".next a",
    "a.next-page",
    "a.pagination-next",
    ".pagination .next a",
    "link[rel~=next]",
)
_PAGER = (".pagination a", ".pager a", ".page-numbers", ".pages a", "nav a")
_PAGE_PARAMETER = re.compile(r"[?&](page|p|pg|paged|seite|pagina)=(\d{1,6})(?:&|$)")
_UNPRINTABLE = re.compile(r"[^ -~\u00a1-\ud7ff\ue000-\ufffd]")

_ASIDE = re.compile(r"relat|similar|recommend|also|sell|comment|review", re.IGNORECASE)
LEAST_BLOCKS = 8
"""Minimum blocks of a list that matters on a page about one thing."""


class SpiderProposal(NamedTuple):
    """A declarative spider for a page, with the findings it is based on."""

    text: str  # in TOML
    found: tuple[str, ...]  # for people: the fields that it takes


def propose_spider(response: Response, domain: str, name: str = "") -> SpiderProposal | None:
    """Propose a spider for a page, with links of ``domain``.

    ``None`` if the page has no repeated elements and is not about one thing.
    """
    if not response.is_html:
        return None
    blocks, thing, other = _choose_reading(response)
    if blocks is None and thing is None:
        return None
    found: list[str] = []
    lines = [
        f"# Proposed for {response.url}",
        "# Keep and rename the fields you need. Reference: docs/how-to/declarative.md",
        "",
        f"name = {_quote(name or _name_of(response.url))}",
        f"start_urls = [{_quote(response.url)}]",
        f"allowed_domains = [{_quote(domain)}]",
    ]
    uses: list[str] = []
    types: set[str] = set()
    for taken in (blocks, thing):
        if taken is not None:
            told = _tell_reading(taken, types)
            lines += told.lines
            uses.append(told.use)
            found.append(told.found)
    lines += ["", "[pages.page]", f"items = [{', '.join(uses)}]"]
    paging = _find_paging(response)
    if paging:
        lines.append(f"paginate = {_table(paging)}")
        found.append(f"pages: {', '.join(f'{key} = {value}' for key, value in paging.items())}")
    lines += _detail_lines(blocks)
    if other is not None:
        told = _tell_reading(other, types)
        lines += _other_lines(told)
        found.append(f"another reading, commented out in the spider: {told.found}")
    return SpiderProposal("\n".join(lines) + "\n", tuple(found))


_Reading = BlockList | ThingProposal


class _ToldReading(NamedTuple):
    """A reading as parts of the spider."""

    lines: tuple[str, ...]  # of its type of items
    use: str  # in the list of items of the page
    found: str  # for people


def _choose_reading(response: Response) -> tuple[BlockList | None, ThingProposal | None, _Reading | None]:
    """The list and the thing that are taken, and another reading that a person may prefer."""
    lists, sure = find_blocks(response.page.document), find_thing(response)
    shown = find_shown_thing(response) if sure is None else None
    is_product = shown is not None and shown.kind == "Product"
    if is_product:
        facts = read_facts(response)
        lists = [one for one in lists if not is_table_of_facts(one, facts)]
    elif sure is None:
        terms = find_definitions(response)
        lists = [*terms, *lists] if lists and lists[0].selector.endswith(" dt") else [*lists, *terms]
    lists.sort(key=lambda one: is_in_aside(response, one))  # the others keep their order
    blocks = lists[0] if lists else None
    if blocks is None:
        return None, sure or shown, None
    if sure is not None:
        return (None, sure, blocks) if _is_aside(blocks) else (blocks, sure, None)
    if shown is None or shown.kind == "Page":
        return blocks, None, None
    price = find_price(response) if is_product else None
    if stands_beside(response, blocks, price, is_aside=_is_named_aside(blocks)):
        return None, shown, blocks
    return blocks, None, None if is_product else shown


def _tell_reading(reading: _Reading, types: set[str]) -> _ToldReading:
    if isinstance(reading, ThingProposal):
        kind = free_name(reading.kind, types)
        return _ToldReading(
            lines=(*_item_lines(kind, reading.fields, reading.fields[0].name),),
            use=f"{{ type = {_quote(kind)} }}",
            found=f"{reading.source}: {_list_names(reading.fields)}",
        )
    fields = [*_name_fields(reading)]
    kind = _type_name(reading, types)
    return _ToldReading(
        lines=(*_item_lines(kind, fields, _find_key(reading, fields)),),
        use=f"{{ type = {_quote(kind)}, each = {_quote(reading.selector)} }}",
        found=f"{format_count(reading.size, 'block')} {reading.selector}: {_list_names(fields)}",
    )


def _other_lines(told: _ToldReading) -> Iterator[str]:
    yield from (
        "",
        "# The page may be read in another way. To take that, say in [pages.page]:",
        f"# items = [{told.use}]",
    )
    yield from (f"# {line}".rstrip() for line in told.lines)


def _is_aside(blocks: BlockList) -> bool:
    """Whether a list stands beside the main thing of a page, such as related products."""
    return blocks.size < LEAST_BLOCKS or _is_named_aside(blocks)


def _is_named_aside(blocks: BlockList) -> bool:
    return _ASIDE.search(f"{blocks.selector} {blocks.type_name}") is not None


# --------------------------------------------------------------------------- text


def _quote(text: str) -> str:
    """A text as TOML has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(said: Mapping[str, Any]) -> str:
    pairs = ", ".join(
        f"{key} = {str(value).lower() if isinstance(value, bool) else _quote(value)}"
        for key, value in said.items()
    )
    return f"{{ {pairs} }}"


def _item_lines(kind: str, fields: Sequence[FieldProposal], key: str) -> Iterator[str]:
    yield from ("", f"[items.{kind}]")
    if key:
        yield f"key = {_quote(key)}"
    yield from ("", f"[items.{kind}.fields]")
    for field in fields:
        said = _quote(field.said["select"]) if [*field.said] == ["select"] else _table(field.said)
        example = " ".join(field.example.split())
        shown = f"{example[:57]}..." if len(example) > 60 else example
        yield f"{field.name} = {said}  # {_UNPRINTABLE.sub('?', shown)}"


def _list_names(fields: Sequence[FieldProposal]) -> str:
    return ", ".join(field.name for field in fields)


def _detail_lines(blocks: BlockList | None) -> Iterator[str]:
    """Yield lines that show how to follow the listed pages."""
    link = next((one for one in blocks.values if one.kind == "link"), None) if blocks else None
    if blocks is None or link is None:
        return
    selector = f"{blocks.selector} {link.selector}".strip()
    yield from (
        "",
        "# To visit the pages that the blocks link to, add this to [pages.page], and describe them",
        "# (`gossamer guess` of one of them proposes it):",
        f'# follow = {{ select = {_quote(selector)}, page = "detail", priority = 1 }}',
        "#",
        "# [pages.detail]",
        '# items = "..."',
    )


# --------------------------------------------------------------------------- names


def _name_of(url: str) -> str:
    host = (urlsplit(url).hostname or "page").removeprefix("www.")
    return re.sub(r"[^a-z0-9]+", "-", host).strip("-")


def _type_name(blocks: BlockList, taken: set[str]) -> str:
    words = re.findall(r"[A-Za-z]+", blocks.type_name)
    return free_name("".join(word[:1].upper() + word[1:] for word in words) or "Entry", taken)


def _name_fields(blocks: BlockList) -> Iterator[FieldProposal]:
    """The fields of the blocks, each with a name of its own."""
    taken: set[str] = set()
    for value in blocks.values[:MOST_FIELDS]:
        said: dict[str, Any] = {"select": _selector_of(value)}
        kind = _kind_of(value)
        if kind != "str":
            said["type"] = kind
        if value.coverage < 1:
            said["optional"] = True
        yield FieldProposal(free_name(_name_value(value), taken), said, value.values[0])


def _selector_of(value: BlockValue) -> str:
    if not value.selector:  # it is the block's own
        return f"./@{value.attribute}" if value.attribute else "./self::*"
    is_plain = not value.attribute or (value.kind in ("link", "image") and value.attribute in ("href", "src"))
    return value.selector if is_plain else f"{value.selector}::attr({value.attribute})"


def _kind_of(value: BlockValue) -> str:
    """The type of a field by its values."""
    if value.kind in ("link", "image"):
        return "url"
    if value.is_many:
        return "list[str]"
    if value.kind == "time":
        return "datetime" if all(map(is_iso_time, value.values)) else "str"
    if value.kind != "text":
        return "str"
    if is_price(value.values) or _are_all(r"\d{1,9}[.,]\d{1,2}", value.values):
        return "decimal"
    return "int" if _are_all(r"\d{1,9}", value.values) else "str"


def _are_all(pattern: str, values: Sequence[str]) -> bool:
    return all(re.fullmatch(pattern, text) for text in values)


def _name_value(value: BlockValue) -> str:
    """Choose the name of a field: by its meaning, the words around it, or its tag."""
    if value.kind == "data":
        return make_identifier(value.attribute.removeprefix("data-"))
    if value.kind in _KINDS:
        return _KINDS[value.kind]
    if is_price(value.values):
        return "price"
    for word in value.words:
        parts = [
            part
            for part in re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1-\2", word).lower())
            if part
        ]
        for part in reversed(parts):
            for name, pattern in _NAMES.items():
                if re.fullmatch(pattern, part):
                    return name
    if value.words[-1] == "a":
        return "title"
    word = next((word for word in value.words if len(word) > 2), "text")
    return "text" if word in ("span", "div", "strong") else make_identifier(word)


def _find_key(blocks: BlockList, fields: Sequence[FieldProposal]) -> str:
    """The field that tells the blocks apart: an id, else the link."""
    for wanted in ("data", "link"):
        for value, field in zip(blocks.values, fields, strict=False):
            is_whole = value.coverage == 1 and len(set(value.values)) == len(value.values)
            if value.kind == wanted and is_whole:
                return field.name
    return ""


# --------------------------------------------------------------------------- pages


def _find_paging(response: Response) -> dict[str, str]:
    """How to get to the next page: by a link, else by the numbers of a pager."""
    for selector in _NEXT:
        found = response.css(selector)
        if found and found.attrib.get("href"):
            return {"next": selector}
    for link in response.css("a[href]"):
        text = " ".join(str(link.xpath("string()").get("")).split())
        if len(text) < 20 and _TEXTS.match(text):
            return {"next": f"//a[normalize-space()={_quote_xpath(text)}]"}
    for selector in _PAGER:
        hrefs = [link.attrib.get("href", "") for link in response.css(selector)]
        named = [match[1] for href in hrefs if (match := _PAGE_PARAMETER.search(href))]
        numbers = [read_count(text, has_spaces=False) for text in response.css(f"{selector}::text").getall()]
        if len(named) >= 2 and len(set(named)) == 1 and max((n for n in numbers if n), default=0) > 1:
            return {"param": named[0], "pages": f"{selector}::text"}
    return {}


def _quote_xpath(text: str) -> str:
    return f'"{text}"' if '"' not in text else f"'{text}'"
