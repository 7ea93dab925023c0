"""Pages with references that only a browser can read, or that a crawler must not follow.

The pages to find lie below ``/good``, those to ignore below ``/wrong``.
"""

from __future__ import annotations

from gossamer.testing.misbehaviour import PAGE, RouteVisit, route

HREFS: dict[bytes, str] = {
    b"  /good/31 blanks\t ": "/good/31%20blanks",
    b"/good/31-\ttab\r\nline": "/good/31-tabline",
    rb"\good\31-backslash": "/good/31-backslash",
    b"/good/31-byte-\xff": "/good/31-byte-%EF%BF%BD",
    b"/good/31-caf\xc3\xa9": "/good/31-caf%C3%A9",
    b"/good/31-nul-\0": "/good/31-nul-%EF%BF%BD",
    b"http:/good/31-scheme": "/good/31-scheme",
    b"/good/31-&quot;quoted&#x27;": "/good/31-%22quoted'",
    b"/good/31-&#xd800;": "/good/31-%EF%BF%BD",
    b"?31=<a b>": "/odd_hrefs?31=%3Ca%20b%3E",
    b"/good/31-&amp;copy=1&copy=2": "/good/31-&copy=1&copy=2",
}
"""References as a page writes them, and the path that a browser asks for."""


@route(
    "odd_hrefs", "References with blanks, line ends, backslashes and bytes that are not text.", 200, row=31
)
async def _odd_hrefs(visit: RouteVisit) -> None:
    links = b"".join(b'<a href="%s">x</a>' % href for href in HREFS)
    await visit.send_response(b"<!doctype html><meta charset=utf-8><title>Odd</title>" + links)


def spellings_of(address: str) -> list[str]:
    """An IPv4 address as browsers may find it in a link: they all lead to the same place."""
    parts = [int(part) for part in address.split(".")]
    number = int.from_bytes(bytes(parts), "big")
    wide = "".join(chr(ord(char) + 0xFEE0) if char.isdigit() else char for char in address)
    return [
        address,
        f"{address}.",
        str(number),
        f"0x{number:x}",
        f"0{number:o}",
        ".".join(f"0X{part:02X}" for part in parts),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        "".join(f"%{ord(char):02x}" for char in address),
        wide,
        wide.replace(".", "\u3002"),
    ]


NO_HOSTS = (
    *("http://xn--a/", "http://xn--/", "http://" + "a." * 130 + "example/", "http://1.2.3.4.5/"),
    *("http://0x100000000/", "http://256.1.1.1/", "http://a b/", "http://[::1%25lo]/", "http://[::1/"),
    *("http://ex<ample/", "http://a%2fb/", "http://%00/", "http://a..b../", "http://./", "http:////"),
    *("http://127.0.0.1:99999/", "http://127.0.0.1:port/", "https://", "http://\u00ad/", "http://a\uffffb/"),
)
"""Invalid hosts in URLs."""


@route("hosts", "The site's own address in every spelling, and hosts that are not hosts.", 200, row=32)
async def _hosts(visit: RouteVisit) -> None:
    host, _, port = visit.hit.headers.get("host", "").partition(":")
    same = [f"http://{spelling}:{port}/good/32-same" for spelling in spellings_of(host)]
    await visit.send_page("".join(f'<a href="{href}">x</a>' for href in (*same, *NO_HOSTS)))


@route("hidden_hosts", "The loopback address in spellings that hide it.", 200, row=32, ends=("success",))
async def _hidden_hosts(visit: RouteVisit) -> None:
    port = visit.hit.headers.get("host", "").partition(":")[2]
    hosts = (*spellings_of("127.255.0.1"), "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0", "0.0.0.0")  # noqa: S104
    links = (f'<a href="http://{host}:{port}/wrong/{place}">x</a>' for place, host in enumerate(hosts))
    await visit.send_page("".join(links))


PATHS = {
    "/good/33/a": "/good/33/a",
    "/good/33/./a": "/good/33/a",
    "/good/x/../33/a": "/good/33/a",
    "/good/x/%2e%2E/33/a": "/good/33/a",
    "/good/33/a#part": "/good/33/a",
    "/../../good/33/a": "/good/33/a",
    "/good/33%2Fa": "/good/33%2Fa",
    "/good/33%2fa": "/good/33%2fa",
    "/good/33/A": "/good/33/A",
    "/good/33//a": "/good/33//a",
    "/good/33/a/": "/good/33/a/",
    "/good/33/a?": "/good/33/a?",
    "/good/33/a;v=1": "/good/33/a;v=1",
    "/good/33/%00": "/good/33/%00",
    "/good/33/%zz": "/good/33/%zz",
    "/good/33/%25": "/good/33/%25",
    "/good/33/%2525": "/good/33/%2525",
    "/good/33/a?b=1&a=2": "/good/33/a?b=1&a=2",
    "/good/33/a?a=2&b=1": "/good/33/a?a=2&b=1",
    "/good/33/a?a=2&b=1&utm_source=x": "/good/33/a?a=2&b=1",
    "/good/33/a?q=a+b": "/good/33/a?q=a+b",
    "/good/33/a?q=a%20b": "/good/33/a?q=a%20b",
}
"""References, and the path that stands for them: equal only where the standard calls them equal."""


@route("paths", "Paths and queries that look alike.", 200, row=33)
async def _paths(visit: RouteVisit) -> None:
    await visit.send_page("".join(f'<a href="{href}">x</a>' for href in PATHS))


@route("giant_urls", "Links of 2 MB, of 10,000 segments, of 100,000 parameters.", 200, row=34)
async def _giant_urls(visit: RouteVisit) -> None:
    giants = ("/wrong/" + "x" * 2_000_000, "/wrong" + "/a" * 10_000, "/wrong?" + "a=b&" * 100_000)
    links = "".join(f'<a href="{href}">x</a>' for href in giants)
    await visit.send_response(PAGE + links.encode() + b'<a href="/good/34-end">the end</a>')
