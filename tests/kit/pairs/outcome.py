"""The outcome of a crawl, in a form that can be compared between two served sites."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

PLACES = ("path", "thumbnails")
"""Fields of a file that say where it is."""


@dataclass(frozen=True)
class Outcome:
    """Items by content; pages, dead letters and skipped requests by path."""

    items: Set[str]
    pages: Set[str]
    letters: Mapping[str, str]  # reasons
    skipped: Mapping[str, str]  # reasons

    def differences(self, expected: Outcome) -> list[str]:
        """Return the differences from the expected outcome, one line each."""
        return [
            *_compared("item", self.items, expected.items),
            *_compared("page", self.pages, expected.pages),
            *_compared("letter", _lines(self.letters), _lines(expected.letters)),
            *_compared("skipped", _lines(self.skipped), _lines(expected.skipped)),
        ]

    def and_earlier(self, earlier: Outcome) -> Outcome:
        """Return the outcome with the items of an earlier crawl: unchanged pages are not read again."""
        return replace(self, items=self.items | earlier.items)


def item_text(line: str, site: str) -> str:
    """An item as it is compared: its fields in order, without the site's address and places of files."""
    fields = json.loads(line.replace(site, ""))
    if "sha256" in fields:
        fields = {name: value for name, value in fields.items() if name not in PLACES}
    if "files" in fields:  # of Scrapy's pipeline
        fields = {**fields, "files": len(fields["files"]), "file_urls": len(fields["file_urls"])}
    return json.dumps(fields, sort_keys=True, ensure_ascii=False)


def page_item(path: str, title: str) -> str:
    """The item of a page."""
    return json.dumps({"path": path, "title": title}, sort_keys=True, ensure_ascii=False)


def path_of(url: str) -> str:
    """The path with its query."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _lines(letters: Mapping[str, str]) -> Set[str]:
    return {f"{path}: {reason}" for path, reason in letters.items()}


def _compared(kind: str, found: Set[str], expected: Set[str]) -> Iterable[str]:
    yield from (f"{kind} is missing: {text}" for text in sorted(expected - found))
    yield from (f"{kind} is too much: {text}" for text in sorted(found - expected))
