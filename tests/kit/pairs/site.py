"""A small site with every kind of page that Gossamer knows, and the truth about it.

Every page that should be found is linked from ``/``, through lists, redirects, a sitemap or an API. The site
is deterministic: which pages fail, and how often, does not depend on who asks. It remembers how often each
path was asked for, which forms were sent, and nothing else.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from urllib.parse import parse_qs, urlsplit

from gossamer.testing.answers import SiteResponse, compress_answers

PRODUCTS, PER_LIST, MEMBERS, GUARDED, PICTURES, MANUALS = 24, 6, 4, 4, 8, 3
HIDDEN = range(PRODUCTS, PRODUCTS + 3)
"""Products that only the sitemap names."""
FROM_API = range(PRODUCTS + 3, PRODUCTS + 9)
"""Products that only the API names, two on each of its pages."""
SHAKY = {"/product/5": "500", "/product/9": "reset", "/product/14": "half", "/product/17": "503"}
"""Pages that fail twice, and then answer."""
DEAD = {"/dead/500": "500", "/dead/reset": "reset", "/dead/403": "403", "/dead/401": "401"}
"""Pages that never answer well."""
MOVED = {
    "/moved/known": "/product/3",
    "/moved/new": "/only/redirected",
    "/moved/twice": "/moved/new2",
    "/moved/new2": "/only/twice",
    "/moved/file": "/img/moved.png",
    "/moved/loop": "/moved/loop2",
    "/moved/loop2": "/moved/loop",
    "/moved/away": "http://elsewhere.example/",
    "/moved/members": "/members/1",
}
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
_WORDS = (
    "solid wood with a soft finish that ages well and a frame made by hand in small numbers for rooms that "
    "are lived in every day of the year whatever the weather brings to the window and the light at noon "
)
ROBOTS = "User-agent: *\nDisallow: /private\n"


class EveryPage:
    """The site's function of path and headers. A new one for each crawl: some pages count who has asked."""

    def __init__(self) -> None:
        self.answer = compress_answers(self._answer)
        self.forms: list[dict[str, str]] = []  # log-ins that were sent
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        with self._lock:
            return self.answer(path, headers)

    def _answer(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        url = urlsplit(path)
        self._asked[url.path] += 1
        if url.path in SHAKY and self._asked[url.path] <= 2:
            return _failure(SHAKY[url.path])
        if url.path in DEAD:
            return _failure(DEAD[url.path])
        if url.path in MOVED:
            return SiteResponse(301 if "twice" in path else 302, headers=(("Location", MOVED[url.path]),))
        folder, _, name = url.path.strip("/").partition("/")
        pages: dict[str, Callable[[str, Mapping[str, str]], SiteResponse]] = {
            "": _home,
            "list": _listing,
            "product": _product,
            "api": _api,
            "img": lambda name, _: SiteResponse(200, picture(name), "image/png"),
            "manual": lambda name, _: SiteResponse(200, manual(name), "application/pdf"),
            "gone": lambda name, _: SiteResponse(int(name)),
            "copy": _copy,
            "near": _near,
            "only": lambda name, _: page(f"Only {name}"),
            "slow": lambda name, _: page(f"Slow {name}", delay_s=0.3),
            "nofollow": lambda name, _: page(f"Nofollow {name}"),
            "private": lambda name, _: page(f"Private {name}"),
            "marked": lambda _, __: page("Marked", "<a class=page href=/nofollow/2>2</a>", robots="nofollow"),
            "cookie": _cookie,
            "search": _search,
            "found": _search,
            "guarded": _guarded,
            "members": _members,
            "login": lambda _, __: _log_in_form(),
            "session": self._check_form,
            "latin": lambda _, __: SiteResponse(
                200, _html("Café crème", "").encode("latin-1"), "text/html; charset=iso-8859-1"
            ),
        }
        fixed = {"/robots.txt": (ROBOTS, "text/plain"), "/sitemap.xml": (_sitemap(), "application/xml")}
        if url.path in fixed:
            text, kind = fixed[url.path]
            return SiteResponse(200, text.encode(), kind)
        answer = pages.get(folder, lambda _, __: SiteResponse(404))
        return _conditional(answer(f"{name}?{url.query}" if url.query else name, headers), headers)

    def _check_form(self, _: str, headers: Mapping[str, str]) -> SiteResponse:
        sent = {name: values[-1] for name, values in parse_qs(headers.get(":body", "")).items()}
        self.forms.append(sent)
        if (sent.get("token"), sent.get("user"), sent.get("password")) != ("t0ken", "me", "tea4two"):
            return _log_in_form()
        sid = ("Set-Cookie", "sid=member; Path=/; HttpOnly")
        return SiteResponse(303, headers=(("Location", "/members/"), sid))


def picture(name: str) -> bytes:
    """The bytes of a picture."""
    return _PNG + name.encode()


def manual(name: str) -> bytes:
    """The bytes of a manual."""
    return b"%PDF-1.4\n% " + name.encode()


def page(
    title: str, body: str = "", *, delay_s: float = 0.0, robots: str = "", status: int = 200
) -> SiteResponse:
    """An HTML page."""
    meta = f"<meta name=robots content={robots}>" if robots else ""
    return SiteResponse(status, _html(title, body, meta).encode(), delay_s=delay_s)


def _html(title: str, body: str, head: str = "") -> str:
    head = f"<head><title>{title}</title>{head}</head>"
    return f"<!doctype html><html>{head}<body><h1>{title}</h1>{body}</body></html>"


def _links(kind: str, *paths: str, more: str = "") -> str:
    return "".join(f"<li><a class={kind} href='{path}' {more}>{path}</a></li>\n" for path in paths)


def _home(_: str, __: Mapping[str, str]) -> SiteResponse:
    body = (
        _links(
            "page",
            "/list/1",
            "/marked",
            "/latin",
            "/cookie/set",
            "/search",
            "/slow/1",
            "/moved/new",
            "/moved/twice",
        )
        + _links("page", "/gone/404", "/gone/410", "/private/1", "/missing", "/copy/1", "/near/1")
        + _links("page", "/nofollow/1", more="rel=nofollow")
        + _links("product", "/moved/known", *(path for path in SHAKY))
        + _links("letter", *DEAD, "/moved/loop", "/moved/away", "/product/broken")
        + _links("letter", *(f"/guarded/{number}" for number in range(1, GUARDED + 1)))
        + _links("member", "/members/", "/moved/members")
        + _links("sitemap", "/sitemap.xml")
        + _links("api", "/api/products?page=1")
    )
    return page("Everything", body)


def _listing(name: str, _: Mapping[str, str]) -> SiteResponse:
    number = int(name)
    first = (number - 1) * PER_LIST
    body = _links("product", *(f"/product/{n}" for n in range(first, first + PER_LIST)))
    if first + PER_LIST < PRODUCTS:
        body += _links("page", f"/list/{number + 1}")
    return page(f"List {number}", body)


def _product(name: str, _: Mapping[str, str]) -> SiteResponse:
    if name == "broken":  # no price: the callback fails
        return page("Broken", "<article data-sku=broken></article>")
    number = int(name)
    if number not in range(FROM_API.stop):
        return SiteResponse(404)
    related = _links("product", f"/product/{(number + 1) % PRODUCTS}", f"/product/{(number + 7) % PRODUCTS}")
    body = (
        f"<article data-sku=P{number}><p class=price>{number}.50</p><img src=/img/{number % PICTURES}.png>"
        f"<a class=manual href=/manual/{number % MANUALS}.pdf>Manual</a></article>"
        f"{_WORDS * 2}{number * 977}{related}"
    )
    return page(f"Product No. {number}", body)


def _api(name: str, _: Mapping[str, str]) -> SiteResponse:
    number = int(name.partition("page=")[2] or 1)
    first = FROM_API.start + 2 * (number - 1)
    paths = [f"/product/{n}" for n in range(first, min(first + 2, FROM_API.stop))]
    following = f"/api/products?page={number + 1}" if first + 2 < FROM_API.stop else None
    return SiteResponse(200, json.dumps({"products": paths, "next": following}).encode(), "application/json")


def _copy(name: str, _: Mapping[str, str]) -> SiteResponse:
    return page("Copy", _WORDS + _links("page", "/copy/2", "/copy/3", "/copy/4"))


def _near(name: str, _: Mapping[str, str]) -> SiteResponse:
    return page("Near", f"{_WORDS * 3} number {name}" + _links("page", "/near/2", "/near/3", "/near/4"))


def _cookie(name: str, headers: Mapping[str, str]) -> SiteResponse:
    if name == "set":
        cookies = (("Set-Cookie", "taste=chocolate; Path=/"), ("Set-Cookie", "size=large; Path=/cookie"))
        return SiteResponse(302, headers=(("Location", "/cookie/tasted"), *cookies))
    known = sorted(part.strip() for part in headers.get("cookie", "").split(";") if "sid" not in part)
    return page("Cookie " + " ".join(known)) if "taste=chocolate" in known else page("No cookie", status=403)


def _search(_: str, headers: Mapping[str, str]) -> SiteResponse:
    sent = parse_qs(headers.get(":body", ""))
    if not sent:
        return page(
            "Search",
            "<form class=search action=/found method=post><input name=q><input name=k value=v></form>",
        )
    return page("Found " + " ".join(f"{key}={value[-1]}" for key, value in sorted(sent.items())))


def _guarded(name: str, headers: Mapping[str, str]) -> SiteResponse:
    if "gossamer" in headers.get("user-agent", "").lower():
        return page("Access denied", "<p>Your request was blocked: unusual traffic.</p>", status=403)
    return page(f"Guarded {name}")


def _members(name: str, headers: Mapping[str, str]) -> SiteResponse:
    if "sid=member" not in headers.get("cookie", ""):
        return SiteResponse(302, headers=(("Location", f"/login?next=/members/{name}"),))
    bye = "<a class=logout href=/logout rel=nofollow>Log out</a>"
    if not name:
        return page("Members", bye + _links("member", *(f"/members/{n}" for n in range(1, MEMBERS + 1))))
    return page(f"Member {name}", bye)


def _log_in_form() -> SiteResponse:
    form = (
        "<form class=login action=/session method=post><input type=hidden name=token value=t0ken>"
        "<input name=user><input name=password type=password><button>Log in</button></form>"
    )
    return page("Log in", form)


def _sitemap() -> str:
    entries = "".join(f"<url><loc>/product/{number}</loc></url>" for number in HIDDEN)
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    )


def _failure(kind: str) -> SiteResponse:
    if kind == "reset" or kind == "half":
        return SiteResponse(200, b"x" * 5000, fail=kind)
    return page("Sorry", "<p>Not now.</p>", status=int(kind))


def _conditional(answer: SiteResponse, headers: Mapping[str, str]) -> SiteResponse:
    """Every other page has an ETag, an honest one."""
    digest = blake2b(answer.body, digest_size=8).hexdigest()
    if answer.status != 200 or answer.fail or int(digest, 16) % 2:
        return answer
    tag = ("ETag", f'"{digest}"')
    if headers.get("if-none-match") == tag[1]:
        return SiteResponse(304, headers=(tag,))
    return SiteResponse(
        200, answer.body, answer.content_type, (*answer.headers, tag), answer.delay_s, answer.fail
    )
