"""Guess facts about a thing from the visible page: properties in tables and lists, prose, a price."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from turbohtml import Element

from gossamer.items.helpers import squeeze
from gossamer.parse.block_values import BlockValue, classes_of
from gossamer.parse.repeats import BlockList
from gossamer.spiders.response import Response

FEWEST_PAIRS = 3
"""Terms that make a list of definitions, and rows that make a table of properties."""
LEAST_PROSE = 400
"""Characters of paragraphs that make an article."""
_LONGEST_NAME = 40
_LEAST_PARAGRAPH = 60
_BESIDE = "aside, [class*=related i], [class*=similar i], [class*=recommend i], [id*=related i]"


_SHORT_VALUE = 40
"""Characters that the values of properties have, on average; definitions have more."""


class NamedValue(NamedTuple):
    """A property that a page names."""

    name: str
    value: str
    xpath: str
    is_plain: bool = False  # from a cell that is not called a heading


def read_facts(response: Response) -> list[NamedValue]:
    """The properties in tables of two columns and in lists of terms; the first of equal names counts."""
    found: dict[str, NamedValue] = {}
    for fact in (*_table_facts(response), *_listed_facts(response)):
        if fact.name and fact.value and len(fact.name) <= _LONGEST_NAME and '"' not in fact.name:
            found.setdefault(fact.name, fact)
    return list(found.values())


def are_properties(facts: list[NamedValue]) -> bool:
    """Whether facts are those of one thing, by themselves: short values behind names, and no columns."""
    named = [fact for fact in facts if not fact.is_plain]
    return len(named) >= FEWEST_PAIRS and sum(len(fact.value) for fact in named) < _SHORT_VALUE * len(named)


def _table_facts(response: Response) -> Iterator[NamedValue]:
    for table in response.page.document.select("table"):
        rows = [[one for one in row.children if isinstance(one, Element)] for row in table.select("tr")]
        if len(rows) < FEWEST_PAIRS or any(len(cells) != 2 or cells[1].tag != "td" for cells in rows):
            continue
        for name, value in rows:
            text = squeeze(name.text)
            yield NamedValue(
                text, squeeze(value.text), f'//tr[*[1][normalize-space()="{text}"]]/*[2]', name.tag != "th"
            )


def _listed_facts(response: Response) -> Iterator[NamedValue]:
    for dl in response.page.document.select("dl"):
        for term, value in _pairs_of(dl):
            text = squeeze(term.text)
            xpath = f'//dt[normalize-space()="{text}"]/following-sibling::dd[1]'
            yield NamedValue(text, squeeze(value.text), xpath)


def _pairs_of(dl: Element) -> list[tuple[Element, Element]]:
    parts = [one for one in dl.children if isinstance(one, Element) and one.tag in ("dt", "dd")]
    return [(one, two) for one, two in pairwise(parts) if (one.tag, two.tag) == ("dt", "dd")]


def find_definitions(response: Response) -> list[BlockList]:
    """The lists of terms with their definitions, the longest first."""
    found = []
    for dl in response.page.document.select("dl"):
        pairs = _pairs_of(dl)
        if len(pairs) < FEWEST_PAIRS:
            continue
        name = next(iter(classes_of(dl)), "")
        selector = f"dl.{name} > dt" if name else "dl > dt"
        terms, meanings = (tuple(squeeze(pair[place].text) for pair in pairs) for place in (0, 1))
        values: tuple[BlockValue, ...] = (
            BlockValue("", "text", "", ("term", "dt"), terms, 1.0, is_many=False),
            BlockValue(
                "./following-sibling::dd[1]", "text", "", ("definition", "dd"), meanings, 1.0, is_many=False
            ),
        )
        links = tuple(link.attr("href") or "" for term, _ in pairs for link in term.select("a[href]")[:1])
        if len(links) == len(pairs):
            values = (*values, BlockValue("a", "link", "href", ("link", "a"), links, 1.0, is_many=False))
        size = len(response.page.document.select(selector))
        found.append(BlockList(selector, size, values, "definition"))
    return sorted(found, key=lambda one: -one.size)


def _members_of(response: Response, blocks: BlockList) -> list[Element]:
    return [one for one in response.page.document.select(blocks.selector) if isinstance(one, Element)]


def is_in_aside(response: Response, blocks: BlockList) -> bool:
    """Whether the page marks a list as separate from its main content."""
    members = _members_of(response, blocks)
    return bool(members) and members[0].closest(_BESIDE) is not None


def stands_beside(response: Response, blocks: BlockList, price: Element | None, *, is_aside: bool) -> bool:
    """Whether a list stands beside the main thing of a page.

    ``price`` is the thing's price, which then stands before the list. A thing without a price has more prose
    before the list than the list has text. The place of a list in an aside does not matter.
    """
    document = response.page.document
    members = _members_of(response, blocks)
    if not members or document.root is None:
        return False
    is_aside = is_aside or is_in_aside(response, blocks)
    known, prose = set(members), 0
    for element in document.root.iter_elements():
        if element is members[0] and not is_aside:
            break
        if price is not None and element == price:
            return not _is_within(element, known)
        if element.tag == "p" and not _is_within(element, known):
            length = len(element.text.strip())
            prose += length if length >= _LEAST_PARAGRAPH else 0
    listed = 0 if is_aside else sum(len(squeeze(one.text)) for one in members)
    return price is None and prose >= max(LEAST_PROSE, listed)


def _is_within(element: Element, members: set[Element]) -> bool:
    around: Element | None = element
    while around is not None:
        if around in members:
            return True
        parent = around.parent
        around = parent if isinstance(parent, Element) else None
    return False


def is_table_of_facts(blocks: BlockList, facts: list[NamedValue]) -> bool:
    """Whether a list is the table of the thing's properties."""
    first = blocks.values[0].values[0] if blocks.values else ""
    return re.search(r"(?:^|[ >])(?:tr|dt|dd)\b[^ ]*$", blocks.selector) is not None and any(
        first in (fact.name, fact.value) for fact in facts
    )


def read_prose(response: Response) -> str:
    """The text of the page's article, if it has enough paragraphs for one; else empty."""
    article = response.article()
    paragraphs = (one.text.strip() for one in response.page.document.select("p"))
    prose = sum(len(text) for text in paragraphs if len(text) >= _LEAST_PARAGRAPH)
    return article.text if article is not None and prose >= LEAST_PROSE else ""
