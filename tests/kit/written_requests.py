"""A spider that makes all kinds of requests, and the site that gets them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.testing.site import SiteResponse

BASIC = "Basic bWU6czNjcmV0LXdvcmQ="
"""The credentials of ``me`` with :data:`SECRET`."""
SECRET = "s3cret-word"
CALLS = 12
SPIDER = """
from gossamer import Request, Spider


class Written(Spider):
    name = "written"
    allowed_domains = ["127.0.0.1", "localhost"]

    async def start(self):
        for number in range({calls}):
            yield Request(
                "{url}/call", self.parse_call, json={{"n": number}}, auth=("me", "{secret}"), timeout=20,
                cookies={{"token": "{secret}"}}, headers={{"X-Call": str(number), "Accept-Language": None}},
                max_retries=1, max_size=5_000,
            )
        yield Request("{url}/away", auth=("me", "{secret}"), cookies={{"token": "{secret}"}})
        yield Request("{url}/later", form={{"a": ["1", "x y"]}}, delay={delay}, auth="{secret}")

    def parse_call(self, response):
        yield {{"n": response.json()["n"]}}

    def parse(self, response):
        yield {{"url": response.url}}
"""


@dataclass
class CalledSite:
    """It answers a call with the data it received, and sends ``/away`` to another host."""

    elsewhere: str = ""
    delay_s: float = 0.0
    is_broken: bool = False
    calls: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)
    later: list[tuple[float, Mapping[str, str]]] = field(default_factory=list)

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path == "/call":
            number = json.loads(headers[":body"])["n"]
            self.calls.append((number, headers))
            body = json.dumps({"n": number}).encode()
            status = 500 if self.is_broken else 200
            return SiteResponse(status, body, "application/json", delay_s=self.delay_s)
        if path == "/away":
            return SiteResponse(302, headers=(("Location", f"{self.elsewhere}/landed"),))
        if path == "/later":
            self.later.append((time.time(), headers))
        return SiteResponse(404 if path == "/robots.txt" else 200, b"<html>fine</html>")

    def all_calls_were_whole(self) -> None:
        """Each was made, with all that it says."""
        assert {number for number, _ in self.calls} == {*range(CALLS)}
        for number, headers in self.calls:
            assert (headers["authorization"], headers["cookie"]) == (BASIC, f"token={SECRET}")
            assert (headers["content-type"], headers["x-call"]) == ("application/json", str(number))
            assert "accept-language" not in headers


def write_spider(folder: Path, url: str, *, delay: float = 0.0) -> Path:
    """The spider's file."""
    file = folder / "written.py"
    file.write_text(SPIDER.format(url=url, calls=CALLS, secret=SECRET, delay=delay))
    return file
