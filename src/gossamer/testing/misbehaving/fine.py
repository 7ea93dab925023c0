"""Correct behaviour that a fetcher must handle."""

from __future__ import annotations

import gzip
import zlib

from gossamer.testing.misbehaviour import OPEN, PAGE, ROUTES, RouteVisit, route

GOOD_PAGES = 20


@route("good", "A page with nothing wrong.", 200)
async def _good(visit: RouteVisit) -> None:
    await visit.send_response(PAGE)


@route("echo", "The request's method, path, headers and body as lines of text.", 200)
async def _echo(visit: RouteVisit) -> None:
    hit = visit.hit
    lines = [f"{hit.method} {hit.path}", *(f"{name}: {value}" for name, value in hit.headers.items())]
    await visit.send_response("\n".join(lines).encode("latin-1") + b"\n\n" + hit.body, kind="text/plain")


@route("gzipped", "A page sent with gzip.", 200)
async def _gzipped(visit: RouteVisit) -> None:
    await visit.send_response(gzip.compress(PAGE), headers="Content-Encoding: gzip\r\n")


@route("raw_deflate", "A page sent with deflate, without the zlib wrapper that belongs around it.", 200)
async def _raw_deflate(visit: RouteVisit) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    await visit.send_response(packer.compress(PAGE) + packer.flush(), headers="Content-Encoding: deflate\r\n")


@route("chunked", "A page in chunks, with an extension and a trailer.", 200)
async def _chunked(visit: RouteVisit) -> None:
    visit.keep_alive = True
    head = OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send_bytes(head.encode() + b"%x;a=b\r\n%s\r\n0\r\nX-End: yes\r\n\r\n" % (len(PAGE), PAGE))


@route("until_close", "A page without a length that ends with the connection, in HTTP/1.0.", 200)
async def _until_close(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE)


@route("no_content", "204 without a body.", 204)
async def _no_content(visit: RouteVisit) -> None:
    visit.keep_alive = True
    await visit.send_bytes(b"HTTP/1.1 204 No Content\r\n\r\n")


@route("bare_head", "An answer to HEAD that does not say how long the page is.", 200)
async def _bare_head(visit: RouteVisit) -> None:
    if visit.hit.method != "HEAD":
        await visit.send_response(PAGE)
        return
    visit.keep_alive = True
    await visit.send_header()


@route("hub", "Below it, by its name, any route among 20 good pages: ``/hub/gzip_bomb``.", 200)
async def _hub(visit: RouteVisit) -> None:
    links = [f"/good/{number}" for number in range(GOOD_PAGES)]
    bad = ROUTES[visit.path_below].paths if visit.path_below in ROUTES else ["good"]
    links[GOOD_PAGES // 2 : GOOD_PAGES // 2] = [f"/{path}" for path in bad]
    await visit.send_page("".join(f'<p><a href="{link}">{link}</a>' for link in links))
