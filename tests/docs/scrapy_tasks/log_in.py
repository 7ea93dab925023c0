import os

import scrapy


class Club(scrapy.Spider):
    name = "club"
    start_urls = ["http://127.0.0.1:8085/login"]

    def parse(self, response):
        return scrapy.FormRequest.from_response(
            response,
            formid="signin",
            formdata={"user": "me@example.org", "password": os.environ["CLUB_PASSWORD"]},
            callback=self.after_login,
        )

    def after_login(self, response):
        if not response.css("a.logout"):
            self.logger.error("Login failed")
            return
        yield from response.follow_all(css=".orders a", callback=self.parse_order)

    def parse_order(self, response):
        yield {"order": response.css("h1::text").get(), "total": response.css(".total::text").get()}
