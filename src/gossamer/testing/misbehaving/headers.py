"""Headers, statuses and cookies that no server should send."""

from __future__ import annotations

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import PAGE, RouteVisit, route

TOO_LONG = (Fault.TOO_LARGE, Fault.PROTOCOL, Fault.TIMEOUT_HEADERS)
"""Faults of a header without end: some fetchers cannot tell why it was refused."""


@route("retry_after", "429: come back in 120 seconds.", 429, row=20, ends=Fault.THROTTLED)
async def _retry_after(visit: RouteVisit) -> None:
    await visit.send_response(status="429 Too Many Requests", headers="Retry-After: 120\r\n")


@route("unavailable", "503 without a hint.", 503, row=20)
async def _unavailable(visit: RouteVisit) -> None:
    await visit.send_response(status="503 Service Unavailable")


@route("http_999", "A status that no standard defines.", 999, row=19)
async def _http_999(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, status="999 Request denied")


@route("many_cookies", "10,000 cookies at once.", 200, row=22)
async def _many_cookies(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, headers="".join(f"Set-Cookie: c{n}=v\r\n" for n in range(10_000)))


@route(
    "some_cookies",
    "A good cookie, one for another site, one for a suffix and a false ``__Host-``.",
    200,
    row=22,
)
async def _some_cookies(visit: RouteVisit) -> None:
    lines = ("good=1; Path=/", "evil=1; Domain=example.org", "suffix=1; Domain=com", "__Host-x=1; Path=/")
    await visit.send_response(PAGE, headers="".join(f"Set-Cookie: {line}\r\n" for line in lines))


@route("giant_cookie", "One cookie of a megabyte.", Fault.TOO_LARGE, Fault.PROTOCOL, row=22)
async def _giant_cookie(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, headers=f"Set-Cookie: a={'x' * 1_000_000}\r\n")


@route("header_bomb", "Header after header, 10 MB of them.", *TOO_LONG, row=6)
async def _header_bomb(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\n")
    for _ in range(1000):
        await visit.send_bytes(b"X-Bomb: " + b"x" * 10_000 + b"\r\n")
    await visit.send_bytes(b"Content-Length: 0\r\n\r\n")


@route(
    "odd_headers", "A folded header, one without a colon, raw UTF-8 and Latin-1.", 200, Fault.PROTOCOL, row=6
)
async def _odd_headers(visit: RouteVisit) -> None:
    headers = b"X-Utf8: caf\xc3\xa9\r\nX-Latin: caf\xe9\r\nX-Fold: a\r\n b\r\nno colon\r\n"
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + headers + b"\r\nok")


@route("many_headers", "100,000 headers.", Fault.TOO_LARGE, Fault.PROTOCOL, row=6)
async def _many_headers(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\n")
    for start in range(0, 100_000, 1000):
        await visit.send_bytes(b"".join(b"X-%d: a\r\n" % number for number in range(start, start + 1000)))
    await visit.send_bytes(b"Content-Length: 0\r\n\r\n")


@route("giant_header", "One header of 10 MB.", Fault.TOO_LARGE, Fault.PROTOCOL, row=6)
async def _giant_header(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nX-Giant: ")
    for _ in range(100):
        await visit.send_bytes(b"x" * 100_000)
    await visit.send_bytes(b"\r\nContent-Length: 0\r\n\r\n")


@route("endless_status_line", "A status line that never ends.", *TOO_LONG, row=6)
async def _endless_status_line(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 ")
    while True:
        await visit.send_bytes(b"O" * 65536)


@route("nul_header", "A header with a NUL in it.", 200, Fault.PROTOCOL, row=6)
async def _nul_header(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\nContent-Length: 2\r\n\r\nok")


@route("colonless_header", "A line without a colon among the headers.", 200, Fault.PROTOCOL, row=6)
async def _colonless_header(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 2\r\n\r\nok")


@route(
    "folded_header", "A header folded over two lines, as was allowed until 2014.", 200, Fault.PROTOCOL, row=6
)
async def _folded_header(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nX-Fold: a\r\n b\r\nContent-Length: 2\r\n\r\nok")


@route("foreign_header", "Headers in UTF-8 and in Latin-1.", 200, row=6)
async def _foreign_header(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, headers="X-Utf8: caf\xc3\xa9\r\nX-Latin: caf\xe9\r\n")


RETRY_AFTER = {
    "seconds": "120",
    "date": "Wed, 21 Oct 2099 07:28:00 GMT",
    "years": "315360000",
    "negative": "-5",
    "past": "Wed, 21 Oct 2015 07:28:00 GMT",
    "junk": "soon",
    "digits": "9" * 400,
}


@route(
    "retry_after_as",
    "429 with a Retry-After of the kind named below the route.",
    429,
    row=20,
    ends=Fault.THROTTLED,
    variants=tuple(RETRY_AFTER),
)
async def _retry_after_as(visit: RouteVisit) -> None:
    wait = RETRY_AFTER[visit.path_below or "seconds"]
    await visit.send_response(status="429 Too Many Requests", headers=f"Retry-After: {wait}\r\n")


@route(
    "busy_twice",
    "503 with a Retry-After of 0 to the first two requests, then a page.",
    200,
    503,
    row=20,
    ends="success",
)
async def _busy_twice(visit: RouteVisit) -> None:
    if sum(hit.name == visit.hit.name for hit in visit.site.log) > 2:
        await visit.send_response(PAGE)
        return
    await visit.send_response(status="503 Service Unavailable", headers="Retry-After: 0\r\n")


@route("login_wall", "200, and a form for name and password instead of the page.", 200, row=21)
async def _login_wall(visit: RouteVisit) -> None:
    await visit.send_page("<h1>Sign in</h1><form method=post><input name=user><input type=password></form>")


@route("captcha", "200, and a test for humans instead of the page.", 200, row=21)
async def _captcha(visit: RouteVisit) -> None:
    await visit.send_page("<h1>Are you human?</h1><div class=g-recaptcha></div>")


@route("soft_404", "200, and a text that says that the page does not exist.", 200, row=21)
async def _soft_404(visit: RouteVisit) -> None:
    await visit.send_page("<h1>Page not found</h1>")


@route("jarful_of_cookies", "As many cookies as fit into a header that is accepted.", 200, row=22)
async def _jarful_of_cookies(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, headers="".join(f"Set-Cookie: c{n}=v; Path=/\r\n" for n in range(250)))


@route("nameless_cookie", "A cookie without a name, and one that hides its name in its value.", 200, row=22)
async def _nameless_cookie(visit: RouteVisit) -> None:
    lines = ("no name", "=__Secure-hidden=1")
    await visit.send_response(PAGE, headers="".join(f"Set-Cookie: {line}; Path=/\r\n" for line in lines))
