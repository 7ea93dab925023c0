"""The steps of a first spider: saved pages, items, the next page, an argument, a second callback."""

from pathlib import Path

import scrapy


class SavedPages(scrapy.Spider):
    name = "saved"

    async def start(self):
        for number in (1, 2):
            yield scrapy.Request(url=f"https://quotes.example/page/{number}/", callback=self.parse)

    def parse(self, response):
        number = response.url.split("/")[-2]
        Path(f"quotes-{number}.html").write_bytes(response.body)
        self.log(f"saved page {number}")


class ByAddress(scrapy.Spider):
    name = "by-address"
    start_urls = ["https://quotes.example/page/1/"]

    def parse(self, response):
        for block in response.css("div.quote"):
            yield {
                "text": block.css("span.text::text").get(),
                "author": block.xpath(".//small[@class='author']/text()").get(),
                "tags": block.css("div.tags a.tag::text").getall(),
                "opened": getattr(self, "opened_with", None),
            }
        following = response.css("li.next a::attr(href)").get()
        if following is not None:
            yield scrapy.Request(response.urljoin(following), callback=self.parse)


class ByFollow(scrapy.Spider):
    name = "by-follow"
    start_urls = ["https://quotes.example/"]
    allowed_domains = ["quotes.example"]

    def parse(self, response):
        if "selector" in response.url:
            from scrapy.shell import inspect_response

            inspect_response(response, self)
        for block in response.css("div.quote"):
            yield {"text": block.css("span.text::text").get(), "of": response.url}
        yield from response.follow_all(css="ul.pager a", callback=self.parse)


class Authors(scrapy.Spider):
    name = "authors"
    start_urls = ["https://quotes.example/"]

    def parse(self, response):
        yield from response.follow_all(response.css(".author + a"), self.parse_author)
        for link in response.css("li.next a"):
            yield response.follow(link, self.parse)

    def parse_author(self, response):
        def pick(query):
            return response.css(query).get(default="").strip()

        yield {
            "name": pick("h3.author-title::text"),
            "born": pick("span.born::text"),
            "about": pick("div.description::text"),
        }


class Tagged(scrapy.Spider):
    name = "tagged"

    async def start(self):
        tag = getattr(self, "tag", None)
        url = f"https://quotes.example/page/{tag}/" if tag else "https://quotes.example/"
        yield scrapy.Request(url, self.parse)

    def parse(self, response):
        for block in response.css("div.quote"):
            yield {"text": block.css("span.text::text").re_first(r"The (\d+)"), "url": response.url}


class Members(scrapy.Spider):
    """Logs in by the form of the page; its hidden field goes along."""

    name = "members"
    start_urls = ["https://quotes.example/login"]

    def parse(self, response):
        return scrapy.FormRequest.from_response(
            response,
            formxpath="//form[@method='post']",
            formdata={"username": "weaver", "password": "spinning-wheel"},
            callback=self.after_login,
        )

    def after_login(self, response):
        if b"Log out" not in response.body:
            self.logger.error("not logged in")
            return
        yield {"secret": response.css("p.secret::text").get(), "at": response.url}
