"""Values in the blocks of a list: those in the same place of several blocks that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from turbohtml import Element, Text

FEWEST = 3
"""Blocks that make a list."""
_EXAMPLES = 12
"""Blocks in which places are looked for that may hold a value."""
_MOST_BLOCKS = 60
"""The number of blocks that are examined for a place."""
_MOST_LEAVES = 200
"""Places of one block."""
_MADE_UP = re.compile(
    r"\d{2,}|[0-9a-f]{6,}|^(?:css|sc|jss|js|is|has)-|^_|__(?=\w*[A-Z0-9])[A-Za-z0-9]{5}$|[:/\[\]]"
)
_CLASS = re.compile(r"-?[A-Za-z_][\w-]*")
_LETTER = re.compile(r"[^\W\d_]")
_PRICE = re.compile(r"[$\u20ac\u00a3\u00a5\u20b9]|\b(?:EUR|USD|GBP|CHF|kr)\b")


class BlockValue(NamedTuple):
    """A value of the blocks: its selector, and its text in the first block."""

    selector: str  # relative to a block; empty: the block itself
    kind: str  # ``text``, ``link``, ``image``, ``time`` or ``data``
    attribute: str  # in which it is; empty: the element's text
    words: tuple[str, ...]  # names of it, best first: ``itemprop``, classes, the tag
    values: tuple[str, ...]  # of the blocks that have it, the first of each
    coverage: float  # the part of the blocks that have it
    is_many: bool  # whether a block may have several


def classes_of(element: Element) -> list[str]:
    """Return the classes that a selector may name: not those that a tool or a number has made."""
    names = (element.attr("class") or "").split()
    return [name for name in names if is_plain_name(name)]


@lru_cache(maxsize=4096)
def is_plain_name(name: str) -> bool:
    """Whether a class or an id can stand in a selector, and was made by a person."""
    return _CLASS.fullmatch(name) is not None and not _MADE_UP.search(name)


class _Leaf(NamedTuple):
    """One place of a block that may hold a value."""

    element: Element
    kind: str
    attribute: str
    value: str
    own: str = ""  # the text that is the element's own, and not that of one in it


def find_values(blocks: Sequence[Element]) -> list[BlockValue]:
    """Return values in the same place of several blocks, unless they are equal in all of them."""
    blocks = blocks[:_MOST_BLOCKS]
    leaves = [[*islice(_read_leaves(block), _MOST_LEAVES)] for block in blocks]
    found: dict[tuple[str, str], BlockValue | None] = {}
    for block, own in zip(blocks[:_EXAMPLES], leaves, strict=False):
        for leaf in own:
            for selector in _leaf_selectors(block, leaf.element):
                place = (selector, leaf.attribute)
                if place not in found:
                    found[place] = _examine_place(blocks, leaves, selector, leaf)
                if found[place] is not None:
                    break
    return _drop_copies(value for value in found.values() if value is not None)


def _read_leaves(block: Element) -> Iterator[_Leaf]:
    for element in (block, *(one for one in block.descendants if isinstance(one, Element))):
        tag = element.tag
        if tag in ("script", "style", "svg", "template", "noscript"):
            continue
        for name in element.attrs:
            value = element.attr(name) or ""
            if re.fullmatch(r"data-(?:[a-z]+[-_])?(?:id|sku|asin|key)", name) and value:
                yield _Leaf(element, "data", name, value)
        if tag == "a" and _leads_somewhere(element):
            yield _Leaf(element, "link", "href", element.attr("href") or "")
        if tag == "img":
            for name in ("src", "data-src"):
                value = element.attr(name) or ""
                if value and not value.startswith("data:"):
                    yield _Leaf(element, "image", name, value)
                    break
        if tag == "time" and element.attr("datetime"):
            yield _Leaf(element, "time", "datetime", element.attr("datetime") or "")
        elif tag == "meta" and element.attr("itemprop"):
            yield _Leaf(element, "text", "content", element.attr("content") or "")
        elif text := _text_of(element):
            yield _Leaf(element, "text", "", text, _own_text(element))


def _leads_somewhere(link: Element) -> bool:
    """Whether it is a link to another page that may be followed."""
    href = link.attr("href") or ""
    return bool(href) and not (
        href.startswith(("#", "javascript:", "mailto:", "tel:")) or "nofollow" in (link.attr("rel") or "")
    )


def _own_text(element: Element) -> str:
    return " ".join("".join(str(child.data) for child in element.children if isinstance(child, Text)).split())


def _text_of(element: Element) -> str:
    """Return the text of an element that has some of its own, or that is a price put together of parts."""
    whole = " ".join(element.text.split())
    is_named = bool(element.attr("itemprop")) or re.search(
        r"\b(price|amount)\b", " ".join(classes_of(element))
    )
    if _own_text(element) or (is_named and whole and len(whole) < 60):
        return whole if re.search(r"\w", whole) else ""
    return ""


def _leaf_selectors(block: Element, element: Element) -> Iterator[str]:
    """Selectors of a place in a block, the plainest first."""
    if element is block:
        yield ""
        return
    prop = element.attr("itemprop")
    if prop and is_plain_name(prop):
        yield f'[itemprop="{prop}"]'
    tag, names = element.tag, classes_of(element)
    yield from (f".{name}" for name in names)
    yield from (f"{tag}.{name}" for name in names)
    yield tag
    above = element.parent
    if isinstance(above, Element) and above is not block:
        yield from (f".{name} {tag}" for name in classes_of(above))
        yield f"{above.tag} {tag}"
        yield f"{above.tag} > {tag}:nth-of-type({_place_of(element)})"
    yield f"{tag}:nth-of-type({_place_of(element)})"


def _place_of(element: Element) -> int:
    parent = element.parent
    same = (
        [one for one in parent.children if isinstance(one, Element) and one.tag == element.tag]
        if parent
        else []
    )
    return same.index(element) + 1 if element in same else 1


def _examine_place(
    blocks: Sequence[Element], leaves: Sequence[Sequence[_Leaf]], selector: str, leaf: _Leaf
) -> BlockValue | None:
    """Return the value that a selector finds in all blocks; ``None`` if it finds nothing, or different
    things."""
    found: list[list[_Leaf]] = []
    for block, own in zip(blocks, leaves, strict=True):
        places = [one for one in block.select(selector) if isinstance(one, Element)] if selector else [block]
        wanted = {one.element: one for one in own if (one.kind, one.attribute) == (leaf.kind, leaf.attribute)}
        if places and places[0] not in wanted:
            return None  # it finds something else in this block
        if places:
            found.append([wanted[place] for place in places if place in wanted])
    is_many = _are_several(found, len(blocks))
    values = tuple(one[0].value for one in found)
    least = (0.9 if leaf.kind == "text" else 1.0) if ":nth" in selector else 0.3
    if is_many is None or len(values) < least * len(blocks) or (_are_labels(found) and not is_many):
        return None
    return BlockValue(
        selector=selector,
        kind=leaf.kind,
        attribute=leaf.attribute,
        words=_words_of(leaf.element),
        values=values,
        coverage=len(values) / len(blocks),
        is_many=is_many,
    )


def _are_several(found: Sequence[Sequence[_Leaf]], size: int) -> bool | None:
    """Whether blocks have a list of texts in one place; ``None``: several things that are not a list."""
    counts = {len(one) for one in found}
    if counts <= {1}:
        return False
    names = {(leaf.element.tag, *classes_of(leaf.element)) for one in found for leaf in one}
    is_list = found[0][0].kind == "text" and len(names) == 1
    if not is_list or (len(counts) == 1 and len(found) == size):
        return None  # always equally many: columns, not a list
    return True


def _are_labels(found: Sequence[Sequence[_Leaf]]) -> bool:
    """Whether it is the same in all blocks, or a word before something that other places hold."""
    texts = {one[0].value for one in found}
    own = {one[0].own for one in found}
    return len(texts) == 1 or (len(own) == 1 and own != {""})


def _words_of(element: Element) -> tuple[str, ...]:
    """Return the words that name an element: ``itemprop``, its column's head, its classes, its tag."""
    column = ""
    table = element.closest("table") if element.tag == "td" else None
    if table is not None:
        heads = table.select("th")
        place = _column_of(element)
        column = " ".join(heads[place].text.split()) if place < len(heads) else ""
    words = (element.attr("itemprop") or "", column[:40], *classes_of(element), element.tag)
    return tuple(word for word in words if word)


def _column_of(cell: Element) -> int:
    parent = cell.parent
    cells = [one for one in parent.children if isinstance(one, Element)] if parent is not None else []
    return cells.index(cell) if cell in cells else 0


def _drop_copies(values: Iterable[BlockValue]) -> list[BlockValue]:
    """Return each value once: of places that always hold the same, the first, and a price only as a whole."""
    kept: list[BlockValue] = []
    for value in values:
        if not any(_is_copy(value, other) for other in kept):
            kept.append(value)
    return kept


def _is_copy(value: BlockValue, other: BlockValue) -> bool:
    if value.kind != other.kind or len(value.values) != len(other.values):
        return False
    if value.kind == "link":  # with and without the part that says where a visitor came from
        return [one.partition("?")[0] for one in value.values] == [
            one.partition("?")[0] for one in other.values
        ] and len({one.partition("?")[0] for one in value.values}) > 1
    if value.values == other.values:
        return True
    pairs = zip(value.values, other.values, strict=True)
    return value.kind == "text" and is_price(other.values) and all(part in whole for part, whole in pairs)


def is_price(values: Sequence[str]) -> bool:
    """Whether texts are a number with a currency, and hardly anything else."""
    return all(
        len(text) < 40
        and re.search(r"\d", text)
        and _PRICE.search(text)
        and len(_LETTER.findall(_PRICE.sub("", text))) <= 4
        for text in values
    )
