"""The needs of a spider: a tree of selectors and keys, with the operations on their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["root", "css", "xpath", "key"]


@dataclass(eq=False)
class Need:
    """One thing that is looked for, within what its parent finds."""

    kind: Kind
    text: str = ""
    parts: list[Need] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # fields and variables it becomes
    is_list: bool = False  # iterated over, or all of it taken
    least: int = 0  # the minimum number, since the one at this index is used
    link: Literal["", "path", "absolute"] = ""  # requested; ``absolute``: as it is
    is_number: bool = False
    date_format: str = ""
    cuts: list[tuple[str, int]] = field(default_factory=list)  # split there, and that part taken
    patterns: list[str] = field(default_factory=list)  # regular expressions it is searched with

    def part(self, kind: Kind, text: str) -> Need:
        """The part of that selector or key, made where there is none."""
        for part in self.parts:
            if (part.kind, part.text) == (kind, text):
                return part
        self.parts.append(Need(kind, text))
        return self.parts[-1]

    def walk(self) -> list[Need]:
        """This need and all below."""
        return [self, *(need for part in self.parts for need in part.walk())]


@dataclass
class PageNeeds:
    """All that is known of the pages of one spider."""

    root: Need = field(default_factory=lambda: Need("root"))
    json: Need = field(default_factory=lambda: Need("root"))
    row: Need = field(default_factory=lambda: Need("root"))  # of a CSV file or an XML feed
    address: Need = field(default_factory=lambda: Need("root"))  # operations on a page's own URL
    allowed: list[str] = field(default_factory=list)  # patterns of links
    regions: list[tuple[Kind, str]] = field(default_factory=list)  # where links are sought
    domains: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)  # URLs in the source
    fields: list[str] = field(default_factory=list)  # of forms
    node: str = ""  # of an XML feed
    columns: list[str] = field(default_factory=list)
    delimiter: str = ","
    is_sitemap: bool = False
    sitemap_patterns: list[str] = field(default_factory=list)

    @property
    def wants_json(self) -> bool:
        """Whether answers are read as JSON somewhere."""
        return bool(self.json.parts) or self.json.is_list
