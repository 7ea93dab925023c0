"""A page as a reader sees it: without hidden parts, and with the words of neighbouring controls apart.

Style sheets are not read: hidden are the "hidden elements" of the HTML standard (15.3.1).
"""

from __future__ import annotations

from copy import deepcopy

from turbohtml import Document, Element, Namespace, Text

_HIDDEN = "[hidden],[popover]"
_UNSHOWN = ("iframe", "video", "audio", "canvas", "annotation", "annotation-xml")
"""Their text is a fallback for browsers without frames or films, or the source of a formula."""
_UNDRAWN = "title,desc,metadata,defs,symbol"
_BOXES = (
    *("button", "select", "textarea", "option", "input", "meter", "progress", "dialog"),
    "[role=button],[role=tab],[role=menuitem],[role=option]",
)
"""Elements that browsers draw as boxes: a word ends at their edges."""
_FLOWING = frozenset({"a", "label", "summary", "output"})
"""Controls that flow with the text: a word may continue behind them, unless another control begins there."""
_LINES = ("a + a", "label + label", "span + span > a:first-child", "summary + a", "a + label", "label + a")
_INLINE = frozenset(
    {*_FLOWING, "span", "b", "i", "em", "strong", "small", "font", "u", "bdi", "bdo", "abbr", "code", "sub"}
)
_MOST_STEPS = 8
"""Inline elements around one another that are looked through."""


def visible_tree(document: Document) -> Document:
    """Return the document as a reader sees it: a changed copy, or itself where nothing is to be changed."""
    if not (_find_hidden(document) or _find_touching(document)):
        return document
    copy = deepcopy(document)
    for element, is_after in _find_touching(copy):
        if is_after:
            element.insert_after(Text(" "))
        else:
            element.insert_before(Text(" "))
    for element in _find_hidden(copy):
        element.extract()
    return copy


def _find_hidden(document: Document) -> list[Element]:
    """Return the elements that HTML hides. The page as a whole stays: its script would show it."""
    found = [
        element
        for element in document.select(_HIDDEN)
        if element.namespace is Namespace.HTML and element.tag not in ("html", "body")
    ]
    found += [dialog for dialog in document.select("dialog") if dialog.attr("open") is None]
    for name in _UNSHOWN:
        found += document.select(name)
    for drawing in document.select("svg"):
        found += drawing.select(_UNDRAWN)
    return found


def _find_touching(document: Document) -> list[tuple[Element, bool]]:
    """Controls before or behind which (``True``) a blank is missing."""
    found = []
    for name in _BOXES:
        for box in document.select(name):
            if name != "input" or (box.attr("type") or "").lower() != "hidden":
                found += [(box, is_after) for is_after in (False, True) if _touches(box, is_after=is_after)]
    for pattern in _LINES:
        found += [(link, False) for link in document.select(pattern) if _follows_control(link)]
    return found


def _touches(box: Element, *, is_after: bool) -> bool:
    """Whether text, or an element that flows with the text, stands right at an edge of a box."""
    neighbour = _neighbour_of(box, is_after=is_after)
    if isinstance(neighbour, Text):
        text = neighbour.text
        return bool(text) and not (text[0] if is_after else text[-1]).isspace()
    return isinstance(neighbour, Element) and (neighbour.tag in _INLINE or neighbour.tag in _BOXES)


def _follows_control(link: Element) -> bool:
    """Whether the words right before a link are those of another control."""
    before = _neighbour_of(link, is_after=False)
    for _ in range(_MOST_STEPS):
        if not isinstance(before, Element):
            return False
        if before.tag in _FLOWING:
            return True
        before = next(iter(reversed(before.children)), None)
    return False


def _neighbour_of(element: Element, *, is_after: bool) -> object:
    """Return the node beside an element, or beside inline elements at whose edge it stands; not a comment."""
    place: Element | None = element
    for _ in range(_MOST_STEPS):
        if place is None:
            return None
        for node in place.next_siblings if is_after else place.previous_siblings:
            if isinstance(node, Element | Text):
                return node
        parent = place.parent
        place = parent if isinstance(parent, Element) and parent.tag in _INLINE else None
    return None
