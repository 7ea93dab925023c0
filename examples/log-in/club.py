import os
from collections.abc import Iterator

from gossamer import Login, Request, Response, Spider


class Club(Spider):
    name = "club"
    start_urls = ["http://127.0.0.1:8085/orders"]
    login_url = "http://127.0.0.1:8085/login"

    async def log_in(self, login: Login) -> None:
        page = await login.get(self.login_url)
        await login.submit(page, {"user": "me@example.org", "password": os.environ["CLUB_PASSWORD"]})

    def is_logged_in(self, response: Response) -> bool:
        return bool(response.css("a.logout"))

    def parse(self, response: Response) -> Iterator[Request]:
        yield from response.follow_all(css=".orders a", callback=self.parse_order)

    def parse_order(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"order": response.css("h1::text").get(), "total": response.css(".total::text").get()}
