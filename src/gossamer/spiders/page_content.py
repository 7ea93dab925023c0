"""The contents that many pages have: structured data, an article, text."""

from __future__ import annotations

from typing import Any

from gossamer.parse import structured
from gossamer.parse.html import Article, HtmlPage


class PageContent:
    """The base of responses, with the contents of their HTML page."""

    @property
    def page(self) -> HtmlPage:
        """The parsed HTML document."""
        raise NotImplementedError

    def json_ld(self) -> list[dict[str, Any]]:
        """Return the JSON-LD objects of the page."""
        return structured.read_json_ld(self.page)

    def opengraph(self) -> dict[str, str]:
        """Return the OpenGraph properties of the page."""
        return structured.read_opengraph(self.page)

    def microdata(self) -> list[dict[str, Any]]:
        """Return the microdata items of the page."""
        return structured.read_microdata(self.page)

    def article(self) -> Article | None:
        """Return the article of the page with its title, authors and date; ``None`` if it has no article."""
        return self.page.article()

    def main_text(self) -> str:
        """Return the main text without navigation, or the whole text if the page has no article."""
        return self.page.main_text()

    def markdown(self) -> str:
        """Return the page as Markdown."""
        return self.page.markdown()
