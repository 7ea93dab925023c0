"""The readable text of a parsed page, for comparisons with other pages."""

from __future__ import annotations

from gossamer.core.results import PageReading
from gossamer.parse.html import HtmlPage
from gossamer.spiders.response import Response

MOST_HEADINGS = 3
"""Headings of the first rank that count; a broken page has thousands, one within the other."""


def read_page(response: Response) -> PageReading:
    """Return the text of a page, and its headings."""
    return read_html(response.page) if response.is_html else PageReading("", response.text)


def read_html(page: HtmlPage) -> PageReading:
    """Return the text of a page of HTML, under its title and its first headings."""
    headings = (element.text for element in page.document.select("h1")[:MOST_HEADINGS])
    heading = " ".join(word for part in (page.title, *headings) for word in part.split())
    return PageReading(heading, page.visible_text())
