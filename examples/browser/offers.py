from collections.abc import Iterator

from gossamer import Browsing, Response, Spider


class Offers(Spider):
    name = "offers"
    start_urls = ["http://127.0.0.1:8085/js/offers.html"]
    fetch = "browser"
    browser = Browsing(wait_for="#offers li")

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        for sku in response.css("#offers li::text").getall():
            yield {"sku": sku}
