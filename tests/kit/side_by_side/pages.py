"""Makes the pages of a site for one spider: every page matches all of the spider's selectors.

A page follows from its URL. The links of a page lead to pages with no other links to them, down to a depth
that is part of their numbers, so the results of a crawl do not depend on its order.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from lxml import etree, html

from kit.side_by_side.elements import Garden, Spot, clean, set_attribute
from kit.side_by_side.needs import Need, PageNeeds
from kit.side_by_side.texts import make_text, make_words, number_of, sample_pattern
from kit.side_by_side.xpaths import Path, read_selector

_DEPTH = re.compile(r"(?<!\d)([1-4])(\d{6})(?!\d)")
_COUNTERS = re.compile(
    r"^(p|pg|pn|page|pageno|page_?num(ber)?|pageindex|start|offset|skip|from|currentpage|paged|cp|index)$",
    re.IGNORECASE,
)
_LIST = 3
_MOST = 15


@dataclass(frozen=True)
class Flavour:
    """One of the sites that are tried for a spider."""

    texts: str = "words"  # or ``numbers``, ``dates``
    shape: str = "auto"  # or ``json``: all of it; ``json-first``: the first pages; ``json-later``: all others


def flavours_for(needs: PageNeeds) -> list[Flavour]:
    """Return the suitable flavours for a spider, the likeliest first."""
    if needs.wants_json and needs.root.parts:
        shapes = ["auto", "json-later", "json-first", "json"]
    else:
        shapes = ["json"] if needs.wants_json else ["auto"]
    return [
        *(Flavour("words", shape) for shape in shapes),
        Flavour("numbers", shapes[0]),
        Flavour("dates", shapes[0]),
    ]


class PageMaker:
    """The pages of one site."""

    def __init__(self, needs: PageNeeds, flavour: Flavour) -> None:
        self._needs, self._flavour = needs, flavour
        slots = [
            need
            for need in [*needs.root.walk(), *needs.json.walk(), *needs.row.walk()]
            if self._is_link(need)
        ]
        self._slots = len(slots) + len(needs.allowed)

    @staticmethod
    def _is_link(need: Need) -> bool:
        return bool(need.link)

    def is_json(self, url: str, accept: str = "") -> bool:
        """Whether the page at a URL is JSON."""
        if not self._needs.wants_json:
            return False
        is_first = _depth_of(url) == 0
        shape = self._flavour.shape
        if shape == "auto":
            return bool(re.search(r"api|json|ajax|graphql", url, re.IGNORECASE)) or "json" in accept
        return shape == "json" or (shape == "json-first") == is_first

    def make_json(self, url: str) -> bytes:
        """A document with the keys that are looked for."""
        return json.dumps(self._make_value(self._needs.json, url, (0,))).encode()

    def make_html(self, url: str) -> bytes:
        """Return a page that matches the needs."""
        garden = Garden()
        for need in self._needs.root.parts:
            self._grow(garden, garden.body, need, url, ())
        for number, pattern in enumerate(self._needs.allowed):
            self._grow_links(garden, number, pattern, url)
        if garden.head.find("title") is None:
            etree.SubElement(garden.head, "title").text = make_words("title", url)
        self._grow_form(garden, url)
        samples = [sample_pattern(one, number_of(url, one) % 1000) for one in self._needs.root.patterns]
        tail = "".join(f"<p>{clean(sample)}</p>\n" for sample in samples if sample)
        text = html.tostring(garden.document, encoding="unicode", doctype="<!doctype html>")
        return text.replace("</body>", f"{tail}</body>").encode()

    def make_sitemap(self, url: str) -> bytes:
        """A sitemap with links of the shapes that the rules want."""
        host = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        found = self._needs.sitemap_patterns or [""]
        links = [
            self._link("path", f"sitemap {pattern}", pattern, url, place)
            for pattern in found
            for place in range(3)
        ]
        rows = "".join(
            f"<url><loc>{link if link.startswith('http') else host + link}</loc></url>"
            for link in links
            if link
        )
        return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'.encode()

    def make_feed(self, url: str) -> bytes:
        """An XML document with the nodes that an XMLFeedSpider reads."""
        document = etree.Element("feed")
        for place in range(_LIST):
            garden = Garden()
            node = etree.SubElement(document, self._needs.node.rpartition(":")[2] or "item")
            garden.body = node
            for need in [*self._needs.row.parts, *self._needs.root.parts]:
                self._grow(garden, node, need, url, (place,))
        return etree.tostring(document, xml_declaration=True, encoding="utf-8")

    def make_csv(self, url: str) -> bytes:
        """A file with the columns that a CSVFeedSpider reads."""
        columns = self._needs.columns or [need.text for need in self._needs.row.parts if need.kind == "key"]
        rows = [columns] if not self._needs.columns else []
        named = {need.text: need for need in self._needs.row.parts}
        rows += [
            [self._text(named.get(c, Need("key", c, names=[c])), url, (place,)) for c in columns]
            for place in range(_LIST)
        ]
        return "\n".join(self._needs.delimiter.join(row) for row in rows).encode()

    # elements

    def _grow(
        self, garden: Garden, base: etree._Element, need: Need, url: str, place: tuple[int, ...]
    ) -> None:
        if need.kind == "key":
            path = Path(False, [])
            etree.SubElement(base, "span").text = self._text(need, url, place)
            return
        for path in read_selector(need.kind, need.text)[:3]:
            count = min(max(_LIST if need.is_list or need.parts else 1, need.least), _MOST)
            for copy in range(count):
                here = (*place, copy)
                address = self._link(need.link or "path", need.text, self._pattern_for(need), url, *here)
                address = _suit_cuts(_suit_cuts(address, need), self._needs.address)
                if need.link and not address:
                    continue  # the last pages have no more links
                spot = garden.place(base, path, is_fresh=copy > 0)
                self._fill(spot, need, address, url, here)
                for part in need.parts:
                    self._grow(garden, spot.element, part, url, here)

    def _fill(self, spot: Spot, need: Need, address: str, url: str, place: tuple[int, ...]) -> None:
        element, name = spot.element, spot.attribute
        text = clean(self._text(need, url, place))
        if name:
            names = [name] if name != "*" else ["title"]
            for one in names:
                is_address = one in ("href", "src", "action") or "url" in one or bool(need.link)
                value = address if is_address else text
                if one == "src" or (is_address and _wants_image(need)):
                    value = f"/images/{number_of(url, need.text, place) % 100000}.jpg"
                if element.get(one) in (None, "1") or (is_address and need.link):
                    set_attribute(element, one, value)
            return
        if need.link or (element.tag == "a" and element.get("href") is None):
            element.set("href", address or "/end")
        if not (element.text or "").strip() and element.tag not in ("html", "body"):
            element.text = text

    def _grow_links(self, garden: Garden, number: int, pattern: str, url: str) -> None:
        regions = [garden.body]
        for kind, text in self._needs.regions:
            regions += [garden.place(garden.body, path).element for path in read_selector(kind, text)]
        for at, region in enumerate(regions):
            for copy in range(2):
                link = self._link("path", f"allow {pattern}", pattern, url, number, at, copy)
                if link:
                    etree.SubElement(region, "a", href=link).text = make_words(link)

    def _grow_form(self, garden: Garden, url: str) -> None:
        form = etree.SubElement(garden.body, "form", action="/form", method="post", id="login-form")
        etree.SubElement(form, "input", type="hidden", name="csrf_token", value=f"t{number_of(url) % 1000}")
        for name in dict.fromkeys(self._needs.fields):
            etree.SubElement(form, "input", type="text", name=clean(name))

    # values

    def _text(self, need: Need, url: str, place: tuple[int, ...]) -> str:
        return make_text(need, self._flavour.texts, url, place)

    def _make_value(self, need: Need, url: str, place: tuple[int, ...]) -> object:
        if need.is_list and need.parts:
            count = min(max(_LIST, need.least), _MOST)
            return [self._make_object(need, url, (*place, copy)) for copy in range(count)]
        if need.parts:
            return self._make_object(need, url, place)
        if need.link:
            return self._link(need.link, need.text, "", url, *place)
        if _wants_image(need):
            return f"https://images.example/{number_of(url, need.text, place) % 100000}.jpg"
        text = self._text(need, url, place)
        if need.is_list:
            return [text, make_words(text)]
        return int(text) if need.is_number and text.isdigit() else text

    def _make_object(self, need: Need, url: str, place: tuple[int, ...]) -> dict[str, object]:
        return {part.text: self._make_value(part, url, place) for part in need.parts}

    def _pattern_for(self, need: Need) -> str:
        patterns = [one for one in need.patterns if "/" in one] + self._needs.address.patterns
        return patterns[number_of(need.text) % len(patterns)] if patterns else ""

    def _link(self, kind: str, slot: str, pattern: str, url: str, *place: int) -> str:
        """Return the target of a link; ``""`` without a further one."""
        depth = _depth_of(url)
        seed = number_of(slot, url, place)
        if depth >= (3 if self._slots <= 2 else 2) or (depth > 0 and place and place[-1] > 0):
            return ""
        if place and place[-1] > 1 and self._slots > 2:
            return ""
        if depth > 0 and self._slots > 8 and seed % self._slots > 4:
            return ""
        number = (depth + 1) * 1_000_000 + seed % 1_000_000
        path = sample_pattern(pattern, number) if pattern else ""
        if path and str(number) not in path:
            longer = f"{path.rstrip('/')}/{number}.html"
            path = longer if re.search(pattern, longer) else path
        path = path or f"/made/{number}.html"
        if path.startswith("http"):
            return path
        path = path if path.startswith("/") else f"/{path}"
        host = self._needs.domains[0] if self._needs.domains else urlsplit(url).netloc
        return f"{urlsplit(url).scheme}://{host}{path}" if kind == "absolute" else path


def is_last(url: str) -> bool:
    """Whether a counter in the URL is beyond the last page of a list."""
    counters = [value for name, value in parse_qsl(urlsplit(url).query) if _COUNTERS.match(name)]
    counters += re.findall(r"/(?:page|p|pages)[/-]?(\d+)", urlsplit(url).path)
    return any(value.isdigit() and _is_beyond(int(value)) for value in counters)


def _is_beyond(number: int) -> bool:
    return number >= 4 and not (number % 10 == 0 and number < 60)


def _depth_of(url: str) -> int:
    return max((int(match[1]) for match in _DEPTH.finditer(url)), default=0)


def _suit_cuts(address: str, need: Need) -> str:
    """The address, with as many of each separator as the spider cuts it at."""
    for separator, place in need.cuts if address else ():
        wanted = -place - 1 if place < 0 else place
        missing = min(wanted - address.count(separator), _MOST)
        if missing > 0:
            head, slash, tail = address.rpartition("/")
            address = (
                f"{head}{slash}made{f'{separator}x' * missing}{'' if separator.endswith('/') else '/'}{tail}"
            )
    return address


def _wants_image(need: Need) -> bool:
    return any(
        re.search(r"image|img|pic|photo|poster|cover|thumb|file_url", name, re.IGNORECASE)
        for name in need.names
    )
