"""The hosts that the examples crawl: quotes.example, shop.example, api.example."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs, urlsplit

from kit.quotes_site import QuotesSite
from kit.side_by_side.site import Answer, make_image

_HTML = "text/html; charset=utf-8"
_PRODUCTS = 8
_FORMS = """
<form action="/tell"><input name="q" value="silk"><input type="checkbox" name="c" value="1" checked>
<input type="submit"></form>
<form action="/tell?form=2" method="post"><input name="q" value="silk">
<input type="hidden" name="none" value="x"> <textarea name="t">text</textarea>
<select name="s"><option>a</option><option value="b" selected>b</option></select>
</form>
<form name="named" action="/tell"><button name="go" value="first">1</button>
<button name="go" value="second">2</button></form>
<form id="byid" action="/tell" method="post"><input type="radio" name="r" value="1">
<input type="radio" name="r" value="2" checked> <input name="deep"><input disabled name="off" value="1">
<input type="image" name="i"></form>
"""
_LINKS = """
<a href="/one?b=2&amp;a=1#part">one</a> <a href="two.html">two <b>bold</b></a>
<a href="/one?b=2&amp;a=1">again</a>
<a href="http://elsewhere.example/three" rel="nofollow">three</a> <a href="archive.zip">four</a>
<a href="javascript:void(0)">six</a> <a href="mailto:a@b.example">seven</a> <area href=" /eight ">
<a href="pic.jpg">five</a> <img src="/nine.png"> <a>ten</a> <a href="">eleven</a>
"""
_PER_LIST = 3


class ExampleSite:
    """Answers for all three."""

    def __init__(self) -> None:
        self._quotes = QuotesSite(25)

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one request."""
        parts = urlsplit(url)
        if parts.path == "/robots.txt":
            return Answer(200, "text/plain", b"User-agent: *\nSitemap: http://shop.example/sitemap.xml\n")
        if parts.netloc == "quotes.example":
            found = self._quotes(parts.path, {**headers, ":body": body.decode()})
            return Answer(found.status, found.content_type, found.body, dict(found.headers))
        answer = _answer_api if parts.netloc == "api.example" else _answer_shop
        return answer(parts.path, parse_qs(parts.query, keep_blank_values=True), headers, body)


def _answer_api(path: str, query: dict[str, list[str]], headers: Mapping[str, str], body: bytes) -> Answer:
    if path == "/quotes":
        page = int(query["page"][0])
        quotes = [{"text": f"thread {page}-{n}", "author": {"name": f"weaver {n}"}} for n in range(3)]
        return _json({"quotes": quotes, "page": page, "has_next": page < 4})
    if path == "/echo/again" and "again" not in query:
        return Answer(200, _HTML, b"<p>try again</p>")
    told = {"agent": headers.get("user-agent"), "signed": headers.get("x-signed")}
    if path == "/echo":
        names = ("content-type", "x-own", "cookie")
        told = {"body": body.decode(), **{name: headers.get(name) for name in names}}
    return _json(told)


def _answer_shop(path: str, query: dict[str, list[str]], headers: Mapping[str, str], body: bytes) -> Answer:
    kind, _, rest = path.strip("/").partition("/")
    number = int(rest) if rest.isdigit() else 0
    match kind:
        case "":
            links = "".join(f'<a href="/list/{n}">list {n}</a>' for n in range(1, 5))
            return _page("Shop", links + '<a href="http://elsewhere.example/product/99">elsewhere</a>')
        case "list":
            return _page(f"List {number}", "".join(_link(n) for n in _numbers_on(number)))
        case "product":
            return _page(f" silk  no {number} ", _describe(number))
        case "stock":
            return _json({"stock": int(rest[-1]) * 10}) if int(rest[-1]) % 2 else Answer(404)
        case "count":
            return _page(f"{number}", "")
        case "status":
            return Answer(number, _HTML, b"<h1>as asked</h1>")
        case "moved":
            return Answer(302, _HTML, b"", {"Location": "/list/1"})
        case "visit":
            return Answer(200, _HTML, b"<h1>welcome</h1>", {"Set-Cookie": f"who={query['who'][0]}; Path=/"})
        case "visitor":
            return _page(headers.get("cookie", "nobody"), "")
        case "sheet.pdf":
            return Answer(200, "application/pdf", b"sheet")
        case "image.png":
            return Answer(200, "image/png", make_image(7))
        case "feed.xml":
            row = '<product id="{0}"><name>silk {0}</name><tag>a</tag><tag>b</tag></product>'
            rows = "".join(row.format(number) for number in range(4))
            return Answer(200, "application/xml", f'<?xml version="1.0"?><shop>{rows}</shop>'.encode())
        case "prices.csv":
            return Answer(200, "text/csv", b"1;silk;2.50\n2;'wool; red';3\n3;linen;\n")
        case "hop":
            return Answer(number, headers={"Location": f"/tell?hopped={number}"})
        case "away":
            return Answer(302, headers={"Location": "http://elsewhere.example/tell"})
        case "round":
            return Answer(302, headers={"Location": f"/round/{number + 1}"})
        case "refreshed":
            head = '<meta http-equiv="refresh" content="0; url=/tell?refreshed=1">'
            return Answer(body=f"<html><head>{head}</head></html>".encode())
        case "forms":
            return _page("Forms", _FORMS)
        case "tell":
            told = {
                "query": query,
                "body": body.decode(),
                "own": headers.get("x-own"),
                "cookie": headers.get("cookie"),
            }
            return _page("Told", f"<pre>{escape(json.dumps(told, sort_keys=True))}</pre>")
        case "coded":
            head = f'<meta charset="{rest}">' if rest == "gb2312" else ""
            kind = "text/html" if head else f"text/html; charset={rest}"
            text = "\u4e1d\u7ef8" if head else "\u0448\u0451\u043b\u043a"
            return Answer(200, kind, f"<html>{head}<h1>{text}</h1></html>".encode(rest))
        case "links":
            return _page("Links", _LINKS)
        case "atom.xml":
            rows = "".join(f'<entry><title>silk {n}</title><link href="/{n}"/></entry>' for n in range(3))
            body = f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">{rows}</feed>'
            return Answer(200, "application/atom+xml", body.encode())
        case "sitemaps.xml.gz":
            return Answer(200, "application/gzip", gzip.compress(_index().encode()))
        case "sitemap.xml":
            return Answer(200, "application/xml", _sitemap().encode())
    return Answer(404, _HTML, b"")


def _numbers_on(page: int) -> range:
    return range(page * _PER_LIST - 2, min(page * _PER_LIST + 2, _PRODUCTS + 1))  # neighbours share one


def _link(number: int) -> str:
    price = f"<b>{number}.5</b>" if number % 3 else ""
    name = f"<i>silk {number}</i>"
    return f'<a class="product" href="/product/{number}" data-net="{number % 2}">{name}{price}</a>\n'


def _describe(number: int) -> str:
    tags = "".join(f"<li>{tag}</li>" for tag in ("red", "old", "blue"))
    return (
        f'<p class="price"> € {number}.25 </p><ul class="tags">{tags}</ul>'
        '<a class="sheet" href="/sheet.pdf">sheet</a><img src="/image.png">'
    )


def _sitemap() -> str:
    rows = {"/product/1": "2024-01-01", "/product/2": "2019-01-01", "/list/2": "2021-05-05", "/other": "2022"}
    urls = "".join(
        f"<url><loc>http://shop.example{p}</loc><lastmod>{at}</lastmod></url>" for p, at in rows.items()
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def _index() -> str:
    parts = "".join(
        f"<sitemap><loc>http://shop.example/{name}</loc></sitemap>" for name in ("sitemap.xml", "others.xml")
    )
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{parts}</sitemapindex>'


def _page(title: str, body: str) -> Answer:
    return Answer(200, _HTML, f"<!doctype html><html><body><h1>{title}</h1>{body}</body></html>".encode())


def _json(value: object) -> Answer:
    return Answer(200, "application/json", json.dumps(value).encode())
