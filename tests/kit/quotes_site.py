"""A site of made-up sayings, built as practice sites for scraping are: pages of quotes, authors, a log-in."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs, unquote

from gossamer.testing.answers import SiteResponse

PER_PAGE = 10
AUTHORS = ("Ada Weaver", "Boris Loom", "Chi Thread", "Dörte Nadel")
MONTHS = ("January", "March", "June", "October")
TAGS = ("patience", "work", "silk", "web")
USER, PASSWORD, TOKEN = "weaver", "spinning-wheel", "csrf-0451"
SESSION = "session=member-1"
NOT_FOUND = SiteResponse(404, b"<!doctype html><title>Not found</title>")


class QuotesSite:
    """A site of this many quotes, ten to a page."""

    def __init__(self, quotes: int = 95) -> None:
        self.quotes = quotes

    @property
    def pages(self) -> int:
        """Pages of quotes."""
        return -(-self.quotes // PER_PAGE)

    def truth(self) -> list[dict[str, object]]:
        """Every quote."""
        return [_quote(number) for number in range(self.quotes)]

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """The answer to one request."""
        path = path.partition("?")[0]
        if path == "/login":
            return _log_in(headers)
        if path == "/members":
            if SESSION not in headers.get("cookie", ""):
                return SiteResponse(302, headers=(("Location", "/login"),))
            return _page("Members", '<a class="logout" href="/logout">Log out</a><p class="secret">silk</p>')
        if path.startswith("/author/"):
            return _author(path.removeprefix("/author/").strip("/"))
        number = path.removeprefix("/page/").strip("/") if path != "/" else "1"
        if not number.isdecimal() or not 1 <= int(number) <= self.pages:
            return NOT_FOUND
        return self._list(int(number))

    def _list(self, page: int) -> SiteResponse:
        first = (page - 1) * PER_PAGE
        blocks = "".join(_block(number) for number in range(first, min(first + PER_PAGE, self.quotes)))
        steps = f'<li class="next"><a href="/page/{page + 1}/">Next</a></li>' if page < self.pages else ""
        return _page("Quotes", f'<div class="col">{blocks}</div><nav><ul class="pager">{steps}</ul></nav>')


def _quote(number: int) -> dict[str, object]:
    tags = [tag for place, tag in enumerate(TAGS) if number >> place & 1]
    return {
        "text": f"\u201cThe {number}. thread holds the others & \u2019tis fine.\u201d",
        "author": AUTHORS[number % len(AUTHORS)],
        "tags": tags,
    }


def _block(number: int) -> str:
    quote = _quote(number)
    tags = "".join(f'<a class="tag" href="/tag/{tag}/">{tag}</a>\n' for tag in quote["tags"])  # type: ignore[attr-defined]
    slug = str(quote["author"]).replace(" ", "-")
    return (
        f'<div class="quote"><span class="text">{escape(str(quote["text"]))}</span>\n'
        f'<span>by <small class="author">{quote["author"]}</small> '
        f'<a href="/author/{slug}">(about)</a></span>\n'
        f'<div class="tags">Tags: {tags}</div></div>\n'
    )


def _author(slug: str) -> SiteResponse:
    name = unquote(slug).replace("-", " ")
    if name not in AUTHORS:
        return NOT_FOUND
    number = AUTHORS.index(name)
    return _page(
        name,
        f'<div class="author-details"><h3 class="author-title">{name}\n  </h3>'
        f'<p>Born: <span class="born">{MONTHS[number]} {number + 1:02d}, {1879 + number}</span></p>'
        f'<div class="description">\n  Spins   since {1900 + number}.\n</div></div>',
    )


def _log_in(headers: Mapping[str, str]) -> SiteResponse:
    given = {name: values[0] for name, values in parse_qs(headers.get(":body", "")).items()}
    if given == {"csrf": TOKEN, "username": USER, "password": PASSWORD}:
        return SiteResponse(302, headers=(("Location", "/members"), ("Set-Cookie", f"{SESSION}; Path=/")))
    return _page(
        "Log in",
        '<form id="search" action="/search"><input name="q"></form>'
        f'<form action="/login" method="post"><input type="hidden" name="csrf" value="{TOKEN}">'
        '<input name="username"><input type="password" name="password"></form>',
    )


def _page(title: str, body: str) -> SiteResponse:
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title></head><body><h1><a href='/'>Quotes</a></h1>{body}</body></html>"
    )
    return SiteResponse(body=text.encode())
