"""Redirects that lead nowhere, in circles, or to forbidden places."""

from __future__ import annotations

from gossamer.core.errors import Fault
from gossamer.testing.misbehaving.large import gzip_of_zeros
from gossamer.testing.misbehaviour import PAGE, RouteVisit, route


@route("redirect_loop", "A redirect to itself.", 302, row=10, ends=Fault.REDIRECT_LIMIT)
async def _redirect_loop(visit: RouteVisit) -> None:
    await visit.send_response(status="302 Found", headers=f"Location: {visit.hit.path}\r\n")


@route(
    "redirect_chain",
    "A redirect to the next of endlessly many.",
    302,
    row=10,
    ends=("redirect", "redirect_limit"),
)
async def _redirect_chain(visit: RouteVisit) -> None:
    number = visit.hit.path.rpartition("/")[2]
    step = int(number) + 1 if number.isdigit() else 1
    await visit.send_response(status="302 Found", headers=f"Location: /redirect_chain/{step}\r\n")


@route(
    "redirect_bad_location", "A redirect whose Location is not a URL.", 302, row=13, ends=Fault.BAD_REDIRECT
)
async def _redirect_bad_location(visit: RouteVisit) -> None:
    await visit.send_response(status="302 Found", headers="Location: http:///\xff\xfe:x[\r\n")


@route("redirect_no_location", "A redirect without a Location.", 302, row=13, ends=Fault.BAD_REDIRECT)
async def _redirect_no_location(visit: RouteVisit) -> None:
    await visit.send_response(PAGE, status="302 Found")


@route("redirect_other_host", "A redirect to the same port of localhost.", 302, row=11)
async def _redirect_other_host(visit: RouteVisit) -> None:
    target = visit.site.url("echo", host="localhost")
    await visit.send_response(status="302 Found", headers=f"Location: {target}\r\n")


@route(
    "redirect_private",
    "A redirect to the address of a cloud's metadata service.",
    302,
    row=11,
)
async def _redirect_private(visit: RouteVisit) -> None:
    await visit.send_response(status="302 Found", headers="Location: http://169.254.169.254/latest/\r\n")


@route(
    "redirect_file", "A redirect to a file of the crawler's machine.", 302, row=13, ends=Fault.BAD_REDIRECT
)
async def _redirect_file(visit: RouteVisit) -> None:
    await visit.send_response(status="302 Found", headers="Location: file:///etc/passwd\r\n")


@route(
    "redirect_bomb", "A redirect whose body is a bomb: the redirect counts, the body does not.", 302, row=8
)
async def _redirect_bomb(visit: RouteVisit) -> None:
    headers = "Location: /good\r\nContent-Encoding: gzip\r\n"
    await visit.send_response(gzip_of_zeros(), status="302 Found", headers=headers)


@route(
    "redirect_cookie",
    "A redirect to itself with a new cookie each time.",
    302,
    row=10,
    ends=Fault.REDIRECT_LIMIT,
)
async def _redirect_cookie(visit: RouteVisit) -> None:
    count = len(visit.site.log)
    await visit.send_redirect(visit.hit.path, headers=f"Set-Cookie: visit{count}={count}; Path=/\r\n")


@route(
    "redirect_ring",
    "A redirect through three pages, the last of which leads to the first.",
    302,
    row=10,
    ends=("redirect", "redirect_limit"),
)
async def _redirect_ring(visit: RouteVisit) -> None:
    steps = {"": "a", "a": "b", "b": ""}
    await visit.send_redirect(f"/redirect_ring/{steps.get(visit.path_below, '')}".rstrip("/"))


@route(
    "redirect_as",
    "A redirect with the status named below it, as in ``/redirect_as/307``, to ``/echo``.",
    302,
    row=14,
)
async def _redirect_as(visit: RouteVisit) -> None:
    await visit.send_redirect("/echo", status=f"{visit.path_below or 302} Elsewhere")


@route(
    "redirect_abroad",
    "A redirect by ``/STATUS/HOST:PORT`` below it to ``/echo`` there, in the clear.",
    302,
    row=12,
)
async def _redirect_abroad(visit: RouteVisit) -> None:
    status, _, place = visit.path_below.partition("/")
    await visit.send_redirect(
        f"http://{place or visit.hit.headers['host']}/echo", status=f"{status or 302} Elsewhere"
    )


LOCATIONS = {
    "relative": "../good/relative",
    "fragment": "/good/fragment#part",
    "blanks": "   /good/blanks  ",
    "latin": "/good/caf\xe9",
    "utf8": "/good/caf\xc3\xa9",
    "backslashes": "\\good\\backslashes",
    "no_scheme": "{site}/good/no_scheme",
}
"""Where browsers go all the same, by the name below ``/redirect_odd``."""

BAD_LOCATIONS = {
    "slashes": "//",
    "bracket": "http://[",
    "port": "http://127.0.0.1:99999/",
    "script": "javascript:alert(1)",
    "mail": "mailto:a@b.example",
    "long": "/" + "x" * 20_000,
    "space": "http://a b/",
}


@route(
    "redirect_odd",
    "Redirects to odd places that browsers find, by the name below the route; two of them to the same one.",
    302,
    row=13,
    ends=("redirect", "known_target"),
    variants=tuple(LOCATIONS),
)
async def _redirect_odd(visit: RouteVisit) -> None:
    authority = "//" + visit.hit.headers.get("host", "")
    await visit.send_redirect(LOCATIONS[visit.path_below or "relative"].replace("{site}", authority))


@route(
    "redirect_nowhere",
    "Redirects to places that do not exist, by the name below the route.",
    302,
    row=13,
    ends=Fault.BAD_REDIRECT,
    variants=tuple(BAD_LOCATIONS),
)
async def _redirect_nowhere(visit: RouteVisit) -> None:
    await visit.send_redirect(BAD_LOCATIONS[visit.path_below or "slashes"])


@route("redirect_megabyte", "A Location of a megabyte.", Fault.TOO_LARGE, Fault.PROTOCOL, row=13)
async def _redirect_megabyte(visit: RouteVisit) -> None:
    await visit.send_redirect("/" + "x" * 1_000_000)


@route("redirect_empty_location", "A redirect with an empty Location.", 302, row=13, ends=Fault.BAD_REDIRECT)
async def _redirect_empty_location(visit: RouteVisit) -> None:
    await visit.send_redirect("")


@route("redirect_stalled", "A redirect whose body never ends.", 302, row=13, ends="redirect")
async def _redirect_stalled(visit: RouteVisit) -> None:
    await visit.send_bytes(
        b"HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 1000\r\n\r\n" + b"x" * 100
    )
    await visit.stall()
