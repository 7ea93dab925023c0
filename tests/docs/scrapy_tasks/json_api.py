import os

import scrapy
from scrapy.http import JsonRequest


class Search(scrapy.Spider):
    name = "search"

    def ask(self, page):
        url, token = "http://127.0.0.1:8085/search", os.environ["SHOP_TOKEN"]
        headers = {"Authorization": f"Bearer {token}"}
        return JsonRequest(url, data={"query": "*", "page": page}, headers=headers)

    async def start(self):
        yield self.ask(1)

    def parse(self, response):
        found = response.json()
        yield from ({"name": name} for name in found["names"])
        if found["names"]:
            yield self.ask(found["page"] + 1)
