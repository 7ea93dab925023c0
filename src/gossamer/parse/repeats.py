"""Finds the repeated blocks of a page, and the values in each of them, with selectors for both.

A block is one of several sibling elements of equal structure: by their tags, and by their contents. Menus,
footers and pagers repeat as well, but are not lists.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turbohtml import Document, Element

from gossamer.parse.block_values import FEWEST, BlockValue, classes_of, find_values, is_plain_name

MOST_ELEMENTS = 60_000
"""Elements of a page that are looked at."""
_ALIKE = 0.6
"""The share of a list's usual contents that a block must have."""
_SHARED = 0.5
"""The part of the blocks that must have something for it to be usual."""
_SCENERY = re.compile(
    r"\b(nav|navbar|navigation|menu|breadcrumbs?|footer|header|pager|pagination|paging|sidebar|cookie|social|"
    r"share|langs?|languages?|skip)\b"
)
_SCENERY_TAGS = frozenset({"nav", "footer", "header", "head", "select", "form", "svg", "script", "style"})
_PLAIN_WORD = re.compile(
    r"row|col|cell|item|list|entry|card|box|block|grid|content|main|wrapper|container|inner|post|section|page|"
    r"result|element|left|right|first|last|even|odd|clearfix|layout|column|group|site|body|primary|secondary|"
    r"table|view|widget|panel"
)
"""Classes that say nothing about a block."""


class BlockList(NamedTuple):
    """The blocks of a list."""

    selector: str
    size: int  # blocks
    values: tuple[BlockValue, ...]
    type_name: str  # as microdata or classes call them; empty: unnamed


def find_blocks(document: Document) -> list[BlockList]:
    """Return the lists of a page, the one that holds most first; menus and the like are none."""
    groups: dict[str, tuple[float, BlockList]] = {}
    for group in _find_groups(document):
        selector = _select_blocks(document, group)
        if selector is None or selector in groups:
            continue
        blocks = [found for found in document.select(selector) if isinstance(found, Element)]
        values = find_values(blocks)
        score = _rate(blocks, values)
        if score > 0:
            found = BlockList(selector, len(blocks), tuple(values), _type_of(blocks))
            groups[selector] = (score, found)
    return [found for _, found in sorted(groups.values(), key=lambda rated: -rated[0])]


# --------------------------------------------------------------------------- groups of elements


def _find_groups(document: Document) -> Iterator[list[Element]]:
    """Children of one element that are built alike."""
    if document.root is None:
        return
    for number, parent in enumerate(document.root.iter_elements()):
        if number > MOST_ELEMENTS:
            return
        children = [child for child in parent.children if isinstance(child, Element)]
        if len(children) < FEWEST or parent.tag == "p" or _is_scenery(parent):
            continue
        by_tag: defaultdict[str, list[Element]] = defaultdict(list)
        for child in children:
            by_tag[child.tag].append(child)
        for tag, alike in by_tag.items():
            if len(alike) >= FEWEST and tag != "p":  # paragraphs of a text are not a list
                yield from _split_group(alike)


def _split_group(elements: list[Element]) -> Iterator[list[Element]]:
    """Yield all of them if they are built alike, else those that share a class."""
    if _are_alike(elements):
        yield elements
        return
    counted = Counter(name for element in elements for name in set(classes_of(element)))
    for name, count in counted.most_common(5):
        group = [element for element in elements if name in classes_of(element)]
        if FEWEST <= count < len(elements) and _are_alike(group):
            yield group


def _is_scenery(element: Element) -> bool:
    around: Element | None = element
    while around is not None:
        words = " ".join((*_attribute_words(around), around.attr("role") or ""))
        if around.tag in _SCENERY_TAGS or _SCENERY.search(words.lower().replace("_", "-").replace("-", " ")):
            return around.tag not in ("body", "html")
        parent = around.parent
        around = parent if isinstance(parent, Element) else None
    return False


def _attribute_words(element: Element) -> tuple[str, ...]:
    return (*(element.attr("class") or "").split(), element.attr("id") or "")


def _signature(element: Element) -> frozenset[str]:
    """Return the contents of an element: the path to each descendant, by tags, at most three levels deep."""
    found: set[str] = set()
    waiting = [(element, "")]
    while waiting:
        around, path = waiting.pop()
        for child in around.children:
            if isinstance(child, Element):
                way = f"{path}/{child.tag}"
                found.add(way)
                if way.count("/") < 4:
                    waiting.append((child, way))
    return frozenset(found)


def _are_alike(elements: Sequence[Element]) -> bool:
    """Whether most elements have most of their usual contents."""
    signatures = [_signature(element) for element in elements]
    counted = Counter(way for signature in signatures for way in signature)
    usual = {way for way, count in counted.items() if count >= _SHARED * len(elements)}
    if not usual:
        return all(not signature for signature in signatures)
    fitting = sum(
        len(signature & usual) >= _ALIKE * len(usual) and len(signature & usual) >= 0.4 * len(signature)
        for signature in signatures
    )
    return fitting >= 0.8 * len(elements)


# --------------------------------------------------------------------------- selectors


def _select_blocks(document: Document, group: Sequence[Element]) -> str | None:
    """Return the shortest selector that finds these blocks, and nothing that is not like them."""
    wanted = set(group)
    for selector in _block_selectors(group):
        found = [one for one in document.select(selector) if isinstance(one, Element)]
        if not wanted.issubset(found):
            continue
        if len(found) == len(wanted) or (len(found) <= 20 * len(wanted) and _are_alike(found)):
            return selector
    return None


def _block_selectors(group: Sequence[Element]) -> Iterator[str]:
    first = group[0]
    tag = first.tag
    shared = [name for name in classes_of(first) if all(name in classes_of(one) for one in group)]
    yield from (f"{tag}.{name}" for name in shared)
    itemtype = first.attr("itemtype")
    if itemtype and all(one.attr("itemtype") == itemtype for one in group):
        yield f'{tag}[itemtype="{itemtype}"]'
    above, ways = first.parent, [""]
    for _ in range(3):
        if not isinstance(above, Element):
            return
        names = [f"{above.tag}.{name}" for name in classes_of(above)]
        own_id = above.attr("id") or ""
        if is_plain_name(own_id):
            names.insert(0, f"#{own_id}")
        for name in names:
            yield from (f"{name} > {way}{tag}" for way in ways)
            yield from (f"{name} > {way}{tag}.{one}" for way in ways for one in shared)
        if above.tag == "body":
            yield from (f"body > {way}{tag}" for way in ways)
        ways = [f"{above.tag} > {way}" for way in ways]
        above = above.parent
    around = first.css_path().rpartition(" > ")[0]
    if around:
        yield f"{around} > {tag}"


# --------------------------------------------------------------------------- how good a list is


def _rate(blocks: Sequence[Element], values: Sequence[BlockValue]) -> float:
    """How much a list holds; 0 for one that is none: its blocks must differ, and be more than one link."""
    telling = [value for value in values if value.coverage >= _SHARED]
    texts = [value for value in telling if value.kind == "text"]
    if len(blocks) < FEWEST or not texts or len(telling) < 2:
        return 0.0
    distinct = max(len(set(value.values)) / len(value.values) for value in texts)
    if distinct < 0.5:
        return 0.0
    length = min(sum(len(block.text) for block in blocks) / len(blocks), 400)
    return math.sqrt(min(len(blocks), 60)) * len(telling) * (1 + length / 100)


def _type_of(blocks: Sequence[Element]) -> str:
    """Return the name of a list's blocks: by microdata, else by one of their classes."""
    itemtype = blocks[0].attr("itemtype") or ""
    if itemtype:
        return itemtype.rstrip("/").rpartition("/")[2]
    around: Element | None = blocks[0]
    while around is not None and around.tag != "body":
        names = [*classes_of(around), *([around.attr("id") or ""] if around is not blocks[0] else [])]
        for name in names:
            word = re.split(r"[-_]", name)[0].lower().removesuffix("s")
            if word.isalpha() and len(word) > 2 and not _PLAIN_WORD.fullmatch(word):
                return word
        parent = around.parent
        around = parent if isinstance(parent, Element) else None
    return ""
