from collections.abc import Iterator

from gossamer import Item, Response, SitemapSpider, key


class Article(Item):
    title: str
    published: str
    text: str
    url: str = key()


class News(SitemapSpider):
    name = "news"
    sitemap_urls = ["http://127.0.0.1:8085/robots.txt"]
    sitemap_rules = [("/articles/", "parse_article")]

    def parse_article(self, response: Response) -> Iterator[Article]:
        yield Article(
            title=response.css("h1::text").get(),
            published=response.css("time::attr(datetime)").get(),
            text=" ".join(response.main_text().split()),
            url=response.url,
        )
