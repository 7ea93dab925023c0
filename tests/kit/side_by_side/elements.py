"""Makes elements that a path matches."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from kit.side_by_side.xpaths import Expression, Path, Step

_WRAPPERS = {
    "tr": ("table", "tbody", "thead", "tfoot"),
    "td": ("tr",),
    "th": ("tr",),
    "tbody": ("table",),
    "thead": ("table",),
    "li": ("ul", "ol", "menu"),
    "option": ("select",),
    "dd": ("dl",),
    "dt": ("dl",),
}
_IN_HEAD = {"title", "meta", "base"}
_MOST = 15


@dataclass
class Spot:
    """The match of a path: an element, or an attribute of it, or its text."""

    element: etree._Element
    attribute: str = ""  # ``*``: all of them
    is_text: bool = False


class Garden:
    """A document that grows: paths reuse the elements that former ones made."""

    def __init__(self) -> None:
        self.document = etree.Element("html")
        self.head = etree.SubElement(self.document, "head")
        self.body = etree.SubElement(self.document, "body")
        self._known: dict[tuple[etree._Element, str], etree._Element] = {}

    def place(self, base: etree._Element, path: Path, *, is_fresh: bool = False) -> Spot:
        """Make a match for a path below an element; on request the last element is a new one."""
        spot = Spot(self.body if path.absolute else base)
        elements = [
            step for step in path.steps if step.axis in ("child", "descendant") and step.test != "text()"
        ]
        for step in path.steps:
            fresh = is_fresh and bool(elements) and step is elements[-1]
            self._take_step(spot, step, is_fresh=fresh)
        return spot

    def _take_step(self, spot: Spot, step: Step, *, is_fresh: bool) -> None:
        element = spot.element
        if step.axis == "attribute":
            spot.attribute = step.test
        elif step.test in ("text()", "node()"):
            spot.is_text = True
        elif step.axis in ("child", "descendant"):
            spot.element = self._find_child(element, step, is_fresh=is_fresh)
        elif step.axis in ("following-sibling", "preceding-sibling", "following", "preceding"):
            spot.element = self._find_sibling(element, step)
        elif step.axis == "parent" and element.getparent() is not None:
            spot.element = element.getparent()
        for condition in step.conditions:
            if step.axis != "attribute" and not spot.is_text:
                self._meet(spot.element, condition)

    def _find_child(self, parent: etree._Element, step: Step, *, is_fresh: bool) -> etree._Element:
        tag = step.test.rpartition(":")[2].lower() if step.test != "*" else "div"
        if tag in ("html", "head", "body") and parent in (self.body, self.document):
            return {"html": self.document, "head": self.head, "body": self.body}[tag]
        if tag in _IN_HEAD and step.axis == "descendant" and parent is self.body:
            parent = self.head
        if step.axis == "descendant":
            parent = self._wrap(parent, tag)
        place = _place_in(step)
        if place > 1 or (place and len(step.conditions) == 1):
            same = [child for child in parent if child.tag == tag]
            while len(same) < place:
                same.append(etree.SubElement(parent, tag))
            return same[place - 1]
        key = f"{tag} {step.conditions!r}"
        known = self._known.get((parent, key))
        if known is None or is_fresh:
            known = etree.SubElement(parent, tag)
            self._known[parent, key] = known
        return known

    def _wrap(self, parent: etree._Element, tag: str) -> etree._Element:
        wrappers = _WRAPPERS.get(tag)
        if wrappers is None or parent.tag in wrappers or parent.tag in ("table", "tbody"):
            return parent
        outer = self._wrap(parent, wrappers[0])
        known = self._known.get((outer, wrappers[0]))
        if known is None:
            known = self._known[outer, wrappers[0]] = etree.SubElement(outer, wrappers[0])
        return known

    def _find_sibling(self, element: etree._Element, step: Step) -> etree._Element:
        parent = element.getparent()
        if parent is None:
            return element
        tag = step.test if step.test != "*" else "div"
        key = f"{step.axis} {tag} {step.conditions!r}"
        known = self._known.get((element, key))
        if known is None:
            at = parent.index(element) + (1 if step.axis.startswith("following") else 0)
            for _ in range(_place_in(step) or 1):
                known = etree.Element(tag)
                parent.insert(at, known)
            if step.axis.startswith("following"):
                known = parent[at + (_place_in(step) or 1) - 1]
            self._known[element, key] = known
        return known

    def _meet(self, element: etree._Element, condition: Expression) -> None:
        """Let an element fulfil a condition."""
        match condition:
            case Expression("and", parts=parts):
                for part in parts:
                    self._meet(element, part)
            case Expression("or", parts=[first, *_]):
                self._meet(element, first)
            case Expression("path", value=Path() as path):
                self._fill(element, path, "1", "exists")
            case Expression("=", parts=[left, Expression("text", value=str() as text)]):
                self._meet_text(element, left, text, "is")
            case Expression("=", parts=[Expression("text", value=str() as text), left]):
                self._meet_text(element, left, text, "is")
            case Expression("call", value="contains", parts=[left, Expression("text", value=str() as text)]):
                self._meet_text(element, left, text, "has")
            case Expression(
                "call", value="starts-with", parts=[left, Expression("text", value=str() as text)]
            ):
                self._meet_text(element, left, text, "begins")
            case Expression(
                "call",
                value="re:test" | "test" | "matches",
                parts=[left, Expression("text", value=str() as text), *_],
            ):
                self._meet_text(element, left, text.strip("^$"), "has")

    def _meet_text(self, element: etree._Element, left: Expression, text: str, how: str) -> None:
        match left:
            case Expression("path", value=Path() as path):
                self._fill(element, path, text, how)
            case Expression("call", value="concat", parts=parts):
                for part in parts:
                    self._meet_text(element, part, text.strip(), "word")
            case Expression("call", parts=[first, *_]):
                self._meet_text(element, first, text, how)

    def _fill(self, element: etree._Element, path: Path, text: str, how: str) -> None:
        spot = self.place(element, path)
        if spot.attribute:
            name = spot.attribute if spot.attribute != "*" else "title"
            set_attribute(spot.element, name, _join(spot.element.get(name), text, how))
        elif how != "exists" and len(spot.element) == 0:
            spot.element.text = _join(spot.element.text, text, how)


def set_attribute(element: etree._Element, name: str, value: str) -> None:
    """Set it, where the name can be one."""
    try:
        element.set(name.rpartition(":")[2], clean(value))
    except ValueError:
        return


def clean(text: str) -> str:
    """Without what no document may have."""
    return "".join(sign for sign in text if sign >= " " or sign in "\n\t")


def _join(old: str | None, new: str, how: str) -> str:
    if how == "exists":
        return old or new
    if how == "is" or not old:
        return new
    if how == "begins":
        return old if old.startswith(new) else new + old
    if new in (old.split() if how == "word" else old):
        return old
    return f"{old} {new}"


def _place_in(step: Step) -> int:
    """Which child of its kind is meant, from 1; 0: any."""
    for condition in step.conditions:
        match condition:
            case Expression("number", value=int() as number):
                return min(number, _MOST)
            case Expression(
                "=", parts=[Expression("call", value="position"), Expression("number", value=int() as number)]
            ):
                return min(number, _MOST)
            case Expression(
                "=", parts=[Expression("call", value="count"), Expression("number", value=int() as number)]
            ):
                return min(number + 1, _MOST)
            case Expression(
                ">" | ">=",
                parts=[Expression("call", value="position"), Expression("number", value=int() as number)],
            ):
                return min(number + 1, _MOST)
    return 0
