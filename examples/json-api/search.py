import os
from collections.abc import AsyncIterator, Iterator

from gossamer import Request, Response, Spider


class Search(Spider):
    name = "search"

    def ask(self, page: int) -> Request:
        query = {"query": "*", "page": page}
        return Request("http://127.0.0.1:8085/search", json=query, auth=os.environ["SHOP_TOKEN"])

    async def start(self) -> AsyncIterator[Request]:
        yield self.ask(1)

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        found = response.json()
        for name in found["names"]:
            yield {"name": name}
        if found["names"]:
            yield self.ask(found["page"] + 1)
