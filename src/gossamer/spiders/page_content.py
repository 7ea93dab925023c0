"""What many pages have in common, for spiders: structured data, the article, the text."""

from __future__ import annotations

from typing import Any

from gossamer.parse import structured
from gossamer.parse.html import Article, HtmlPage


class PageContent:
    """The base of responses: what can be asked of their page of HTML."""

    @property
    def page(self) -> HtmlPage:
        """The parsed HTML document."""
        raise NotImplementedError

    def json_ld(self) -> list[dict[str, Any]]:
        """The page's JSON-LD objects."""
        return structured.read_json_ld(self.page)

    def opengraph(self) -> dict[str, str]:
        """The page's OpenGraph properties."""
        return structured.read_opengraph(self.page)

    def microdata(self) -> list[dict[str, Any]]:
        """The page's microdata items."""
        return structured.read_microdata(self.page)

    def article(self) -> Article | None:
        """The article of the page, with what the page says of it; ``None`` when nothing reads like one."""
        return self.page.article()

    def main_text(self) -> str:
        """The main text of the page without its navigation; all of it when there is no article."""
        return self.page.main_text()

    def markdown(self) -> str:
        """The page as Markdown."""
        return self.page.markdown()
