"""The shop that is shipped, with pages that mean harm, and some that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from gossamer.testing.shop import Shop
from gossamer.testing.site import SiteResponse
from kit.dashboard.canned_answers import HOSTILE

REFUSED = ("/refused?name=<script>alert(1)</script>", '/refused?name="><img src=x onerror=alert(2)>')
MENDED = "/mended?name=<script>alert(3)</script>"
"""Where a refused page should have led."""


class HostileShop:
    """A site whose first page leads to all of it, refused pages first."""

    def __init__(self, products: int) -> None:
        self.shop = Shop(products, related=0, page_bytes=2_000)

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path.startswith("/refused"):
            return SiteResponse(400, HOSTILE[0].encode())
        if path.startswith("/mended"):
            return page("Mended", "")
        if path.startswith("/evil/"):
            return page(HOSTILE[int(path.split("/")[2]) % len(HOSTILE)], HOSTILE[0])
        if path in ("", "/"):
            evil = [f"/evil/{number}/{quote(title)}" for number, title in enumerate(HOSTILE)]
            links = [f'<a href="{escape(link)}">x</a>' for link in (*REFUSED, *evil, "/catalog")]
            return page("Start", "".join(links))
        return self.shop(path, headers)


def page(title: str, body: str) -> SiteResponse:
    text = f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>{body}"
    return SiteResponse(200, text.encode("utf-8", "replace"))
