"""Pages with misleading markup: base elements, refreshes, schemes that are not pages.

The pages to find lie below ``/good``, those to ignore below ``/wrong``.
"""

from __future__ import annotations

from gossamer.testing.misbehaviour import RouteVisit, route

BASES = {
    "other": ('<base href="{other}/good/">', "base-other"),
    "empty": ('<base href="">', "../good/base-empty"),
    "second": ('<base href="/good/"><base href="/wrong/">', "base-second"),
    "targeted": ('<base target=_blank><base href="/good/">', "base-targeted"),
    "script": ('<base href="javascript:alert(1)//">', "../good/base-script"),
    "data": ('<base href="data:text/html,/wrong/">', "../good/base-data"),
    "bracket": ('<base href="http://[">', "../good/base-bracket"),
    "late": ("", 'base-late">before</a><base href="/good/"><a href="base-late-too'),
}
"""The head and a link of each page, by its name below ``/base``."""


@route(
    "base", "Base elements of every kind, by the name below the route.", 200, row=28, variants=tuple(BASES)
)
async def _base(visit: RouteVisit) -> None:
    head, link = BASES[visit.path_below or "late"]
    other = visit.site.url(host=visit.site.hosts[-1]).rstrip("/")
    await visit.send_page(f'<a href="{link}">on</a>', head.replace("{other}", other))


REFRESHES = {
    "zero": "0;url=/good/refresh-zero",
    "quoted": "0 ; URL = '/good/refresh-quoted' and more",
    "relative": "1, ../good/refresh-relative",
    "late": "1000000000;url=/wrong/late",
    "self": "0",
    "named_self": "0;url=/refresh/named_self",
    "script": "0;url=javascript:alert(1)",
    "file": "0;url=file:///etc/passwd",
    "junk": "soon;url=/wrong/junk",
    "ring": "0;url=/refresh/back",
    "back": "0;url=/refresh/ring",
}
"""By the name below ``/refresh``: the content of a ``<meta http-equiv=refresh>``."""


@route(
    "refresh",
    "Meta refreshes of every kind, by the name below the route.",
    200,
    row=29,
    variants=tuple(name for name in REFRESHES if name != "back"),
    ends=("redirect", "success", "redirect_limit"),
)
async def _refresh(visit: RouteVisit) -> None:
    content = REFRESHES[visit.path_below or "self"]
    await visit.send_page("<p>Wait.</p>", f'<meta http-equiv="Refresh" content="{content}">')


@route("refresh_unseen", "A refresh for clients that run no scripts.", 200, row=29)
async def _refresh_unseen(visit: RouteVisit) -> None:
    inner = '<meta http-equiv=refresh content="0;url=/wrong/noscript">'
    await visit.send_page("<p>Here it is.</p>", f"<noscript>{inner}</noscript>")


SCHEMES = (
    *(
        "javascript:void(0)",
        "JavaScript:alert(1)",
        " java\tscript:alert(2)",
        "data:text/html,<a href=/wrong/>",
    ),
    *("mailto:a@b.example", "tel:+123456", "sms:+123456", "blob:http://a.example/0-1", "about:blank"),
    *("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/1", "view-source:http://127.0.0.1/"),
    *("ws://127.0.0.1/x", "wss://127.0.0.1/x", "never-heard-of:it", "magnet:?xt=urn:btih:0"),
)
"""References that are not pages."""


@route("schemes", "Links of every scheme but the web's, thousands of them.", 200, row=30)
async def _schemes(visit: RouteVisit) -> None:
    links = "".join(f'<a href="{href}">x</a>' for href in SCHEMES) * SCHEMES_REPEATED
    await visit.send_page(f'{links}<a href="/good/schemes">the end</a>')


SCHEMES_REPEATED = 200
