import scrapy


class Slow(scrapy.Spider):
    name = "slow"
    start_urls = ["http://127.0.0.1:8085/about.html"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 2.0,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CLOSESPIDER_PAGECOUNT": 10,
        "REDIRECT_MAX_TIMES": 3,
    }

    def parse(self, response):
        yield {"title": response.css("title::text").get()}
