"""The shop that is shipped, with pages that mean harm, and one that is refused until it is mended."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from gossamer.testing.shop import Shop
from gossamer.testing.site import SiteResponse
from kit.dashboard.canned_answers import HOSTILE

REFUSED = "/refused?name=<script>alert(1)</script>"


class HostileShop:
    """A site: the catalogue leads to all of it."""

    def __init__(self, products: int) -> None:
        self.shop = Shop(products, related=0)
        self.is_mended = False

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path.startswith("/refused"):
            return page("Mended", "") if self.is_mended else SiteResponse(400, b"no")
        if path.startswith("/evil/"):
            return page(HOSTILE[int(path.split("/")[2]) % len(HOSTILE)], "")
        if path in ("", "/"):
            evil = [f"/evil/{number}/{quote(title)}" for number, title in enumerate(HOSTILE)]
            links = [f'<a href="{escape(link)}">x</a>' for link in (*evil, REFUSED, "/catalog")]
            return page("Start", "".join(links))
        return self.shop(path, headers)


def page(title: str, body: str) -> SiteResponse:
    text = f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>{body}"
    return SiteResponse(200, text.encode("utf-8", "replace"))
