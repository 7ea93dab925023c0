from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Pages(CrawlSpider):
    name = "pages"
    start_urls = ["http://127.0.0.1:8085/"]
    allowed_domains = ["127.0.0.1"]
    custom_settings = {"ROBOTSTXT_OBEY": True}
    rules = [Rule(LinkExtractor(), callback="parse_page", follow=True)]

    def parse_start_url(self, response):
        return self.parse_page(response)

    def parse_page(self, response):
        texts = response.xpath("//body//text()[not(parent::script or parent::style)]").getall()
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": " ".join(" ".join(texts).split()),
        }
