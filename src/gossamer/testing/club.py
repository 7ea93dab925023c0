"""A club for tests and guides: a log-in with a token, pages for members, files, an API, signed requests.

``python -m gossamer.testing.club --port 8085`` serves it. A member is ``me@example.org`` with the password
``tea4two``. ``/shop`` has products, each with a picture and a manual. ``/search`` answers JSON to a ``POST``
with the bearer token ``s3cret-token``, page by page. ``/signed/1`` needs a signature and, depending on its
host, the token (127.0.0.1) or Basic credentials (localhost).
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_until_interrupted

USER, PASSWORD = "me@example.org", "tea4two"
TOKEN, KEY = "s3cret-token", "club-key"
"""The bearer token, and the key of signatures: HMAC-SHA256 of the URL, in hexadecimal, as ``X-Signature``."""
ORDERS, PRODUCTS, RESULTS, SIGNED = 5, 4, 3, 3
"""The number of pages of each kind."""

_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
_NOT_FOUND = SiteResponse(404, b"<!doctype html><title>Not found</title><h1>No such page</h1>\n")


def answer_request(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Return the club's answer; the club keeps no state, because its cookies identify the member."""
    path = path.partition("?")[0]
    folder, _, name = path.strip("/").partition("/")
    pages: dict[str, Callable[[], SiteResponse]] = {
        "": lambda: _html_page("The Club", "<a href='/orders'>Orders</a> <a href='/shop'>Shop</a>"),
        "login": lambda: _login_page(""),
        "session": lambda: _check_login(headers),
        "orders": lambda: _orders_page(name, headers),
        "shop": _shop_page,
        "img": lambda: SiteResponse(body=_PNG + name.encode(), content_type="image/png"),
        "manuals": lambda: SiteResponse(body=b"%PDF-1.4\n% " + name.encode(), content_type="application/pdf"),
        "search": lambda: _search_page(headers),
        "signed": lambda: _signed_page(path, name, headers),
    }
    return pages.get(folder, lambda: _NOT_FOUND)()


def sign_url(url: str) -> str:
    """Return the signature that the club requires for a URL."""
    return hmac.new(KEY.encode(), url.encode(), hashlib.sha256).hexdigest()


def _html_page(title: str, body: str, status: int = 200, *, cookie: str = "") -> SiteResponse:
    page = f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n{body}\n"
    return SiteResponse(
        status, page.encode(), headers=(("Set-Cookie", f"{cookie}; Path=/"),) if cookie else ()
    )


def _login_page(message: str) -> SiteResponse:
    body = (
        f"<p>{message}</p><form action=/search><input name=q></form>\n"
        "<form id=signin action=/session method=post>"
        f"<input type=hidden name=csrf value={_sign_text('visitor')}>"
        "<input name=user><input name=password type=password><button>Log in</button></form>"
    )
    return _html_page("Log in", body, cookie="visitor=1")


def _check_login(headers: Mapping[str, str]) -> SiteResponse:
    sent = {name: values[-1] for name, values in parse_qs(headers.get(":body", "")).items()}
    if "visitor=1" not in headers.get("cookie", "") or sent.get("csrf") != _sign_text("visitor"):
        return _html_page("No token", "", 403)
    if (sent.get("user"), sent.get("password")) != (USER, PASSWORD):
        return _login_page("wrong password")
    cookie = ("Set-Cookie", f"member={_sign_text('member')}; Path=/; HttpOnly")
    return SiteResponse(303, headers=(("Location", "/orders"), cookie))


def _orders_page(name: str, headers: Mapping[str, str]) -> SiteResponse:
    if f"member={_sign_text('member')}" not in headers.get("cookie", ""):
        return SiteResponse(302, headers=(("Location", "/login"),))
    bye = "<a class=logout href=/logout rel=nofollow>Log out</a>"
    if name in map(str, range(1, ORDERS + 1)):
        return _html_page(f"Order {name}", f"<p class=total>{int(name) * 10}.00</p>{bye}")
    links = "".join(f"<li><a href=/orders/{number}>{number}</a>" for number in range(1, ORDERS + 1))
    return _html_page("Orders", f"<ul class=orders>{links}</ul>{bye}") if not name else _NOT_FOUND


def _shop_page() -> SiteResponse:
    parts = "\n".join(
        f"<div class=product><h2>Product {number}</h2><img src=/img/{number}.png>"
        f"<a class=manual href=/manuals/{number}.pdf>Manual {number}</a></div>"
        for number in range(1, PRODUCTS + 1)
    )
    return _html_page("Shop", parts)


def _search_page(headers: Mapping[str, str]) -> SiteResponse:
    if headers.get("authorization") != f"Bearer {TOKEN}":
        return _html_page("Who are you?", "", 401)
    try:
        page = json.loads(headers.get(":body", ""))["page"]
    except (ValueError, LookupError, TypeError):
        return _html_page("No page", "", 400)
    names = [f"{word} {page}" for word in ("lamp", "rug", "vase")] if page in range(1, RESULTS + 1) else []
    return SiteResponse(200, json.dumps({"page": page, "names": names}).encode(), "application/json")


def _signed_page(path: str, name: str, headers: Mapping[str, str]) -> SiteResponse:
    host = headers.get("host", "")
    basic = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    wanted = f"Basic {basic}" if host.startswith("localhost") else f"Bearer {TOKEN}"
    if headers.get("authorization") != wanted:
        return _html_page("Who are you?", "", 401)
    if headers.get("x-signature") != sign_url(f"http://{host}{path}"):
        return _html_page("Wrong signature", "", 403)
    if name not in map(str, range(1, SIGNED + 1)):
        return _NOT_FOUND
    link = f"<a class=next href=/signed/{int(name) + 1}>Next</a>" if int(name) < SIGNED else ""
    return _html_page(f"Page {name} of {host.partition(':')[0]}", link)


def _sign_text(text: str) -> str:
    return sign_url(text)[:16]


def main(arguments: list[str] | None = None) -> None:
    """Serve the club until interrupted; the first line on stdout is its URL."""
    parser = argparse.ArgumentParser(
        prog="python -m gossamer.testing.club", description="Serve a club with a log-in."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    serve_until_interrupted(answer_request, parser.parse_args(arguments).port)


if __name__ == "__main__":
    main()
