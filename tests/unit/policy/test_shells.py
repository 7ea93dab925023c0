"""Which pages are shells of applications, and which are pages with little text."""

from __future__ import annotations

import pytest

from gossamer.core.results import FetchResult
from gossamer.policy.shells import find_shell

SCRIPTS = "<script src=/vendor.js></script><script>window.__STATE__ = {a: '<p>text</p>'}</script>"
SHELLS = {
    "React": "<body><noscript>You need to enable JavaScript to run this app.</noscript>"
    f"<div id=root></div>{SCRIPTS}",
    "Vue": "<body><noscript><strong>We're sorry but shop doesn't work properly without JavaScript enabled."
    f'</strong></noscript><div id="app"></div><!-- built files will be injected -->{SCRIPTS}',
    "Angular": f"<body><app-root></app-root>{SCRIPTS}",
    "Angular, while it loads": f"<body class='x'><app-root>Loading...</app-root>{SCRIPTS}",
    "Next": f'<body><div id="__next"></div>{SCRIPTS}',
    "Nuxt": f'<body><div id="__nuxt"><!----></div>{SCRIPTS}',
    "Gatsby": f'<body><div id="___gatsby"></div>{SCRIPTS}',
    "a spinner": f"<body><div class=page id=app><div class=spinner><span></span></div></div>{SCRIPTS}",
    "a large state": f"<body><div id=root></div><script>window.x = '{'<p>word</p>' * 9000}'</script>",
    "another root": f"<body><div id=main></div><noscript>Please turn on JavaScript.</noscript>{SCRIPTS}",
    "German": f"<body><div></div><noscript>Bitte aktivieren Sie JavaScript.</noscript>{SCRIPTS}",
    "Japanese": f"<body><div></div><noscript>JavaScriptを有効にしてください。</noscript>{SCRIPTS}",
    "Chinese": f"<body><div></div><noscript>请启用 JavaScript</noscript>{SCRIPTS}",
    "Russian": f"<body><div></div><noscript>Включите JavaScript в браузере.</noscript>{SCRIPTS}",
    "without a body tag": f"<title>Shop</title><div id=root></div>{SCRIPTS}",
    "in capitals": "<BODY><DIV ID='root'></DIV><SCRIPT SRC=/a.js></SCRIPT>",
    "a body in capitals behind a long head": f"<HEAD>{'<META name=a>' * 80}</HEAD>"
    f"<BODY><DIV ID=app></DIV>{SCRIPTS}",
    "no body tag behind a long head": f"<head>{'<meta name=a>' * 80}</head><div id=app></div>{SCRIPTS}",
    "a link to skip to the content": f"<body><a href=#main>Skip to content</a><div id=app></div>{SCRIPTS}",
    "a script that leaves": "<body><script>location.href = '/start'</script></body>",
    "nothing but scripts": f"<body>{SCRIPTS}</body>",
}
"""The last two are shells only where other pages of the host have content."""
TEXT = "Ordinary words of a page, more of them than any shell has. " * 5
PAGES = {
    "text": f"<body><p>{TEXT}</p>{SCRIPTS}",
    "text in the root": f"<body><div id=root><h1>Lamps</h1><p>{TEXT}</p></div>{SCRIPTS}",
    "text beside a root": f"<body><p>{TEXT}</p><div id=root></div>{SCRIPTS}",
    "text without scripts": f"<body><noscript>Enable JavaScript to comment.</noscript><p>{TEXT}{SCRIPTS}",
    "no scripts": "<body><div id=root></div>",
    "a picture": f"<body><img src=a.png>{SCRIPTS}",
    "a form": f"<body><form><input name=q></form><div id=app></div>{SCRIPTS}",
    "a frame": f"<body><iframe src=/x></iframe>{SCRIPTS}",
    "frames": f"<frameset><frame src=/a></frameset>{SCRIPTS}",
    "a drawing": f"<body><canvas></canvas><div id=app></div>{SCRIPTS}",
    "links": f"<body><div id=app></div>{'<a href=/x>go</a>' * 4}{SCRIPTS}",
    "a table": f"<body><table><tr><td>9</table>{SCRIPTS}",
    "a short message in the root": f"<body><div id=app><p>Thank you, it is ordered.</p></div>{SCRIPTS}",
    "a short message": f"<body><p>Thank you, we have received your order.</p>{SCRIPTS}",
    "a notice beside a chat": f"<body><h1>Sold out</h1><p>It is gone.</p><x-chat></x-chat>{SCRIPTS}",
    "a price beside a counter": f"<body><p>The price is 9 EUR for one lamp.</p>"
    f"<amp-analytics></amp-analytics>{SCRIPTS}",
    "an address above a widget": f"<body><h1>Contact</h1>Come to Main Street 4.<div id=app></div>{SCRIPTS}",
    "a lamp without comments": f"<body><h2>Lamp</h2><p>9 EUR, in stock.</p><noscript>"
    f"Enable JavaScript to comment.</noscript>{SCRIPTS}",
    "a few words without comments": "<body><p>A lamp of brass for 9 EUR, it is in stock and weighs 2 kg.</p>"
    f"<noscript>Enable JavaScript to comment.</noscript>{SCRIPTS}",
    "a short list": f"<body><ul><li>one</li><li>two</li></ul>{SCRIPTS}",
    "a number": f"<body><b>404 985</b>{SCRIPTS}",
    "one word": f"<body><p>Sold</p>{SCRIPTS}",
    "a drawn word": f"<body><svg><text>chart</text></svg>{SCRIPTS}",
    "a root that is written into the page": "<body><x-page><template shadowrootmode=open>"
    f"<p>{TEXT}</p></template></x-page>{SCRIPTS}",
    "many empty elements": f"<body>{'<p></p>' * 100}<div id=app></div>{SCRIPTS}",
    "empty": "<body></body>",
}


def look(body: str, *, is_heard: bool = True, status: int = 200, kind: str = "text/html") -> str:
    times = {"started_at": 0.0, "latency_s": 0.0, "elapsed_s": 0.0}
    data, headers = ("<!doctype html>" + body).encode(), (("content-type", kind),)
    fetched = FetchResult(
        url="http://a.example/", status=status, headers=headers, body=data, rung="http", **times
    )
    return find_shell(fetched, is_heard=is_heard)


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_is_recognised(name: str) -> None:
    assert look(SHELLS[name])
    assert bool(look(SHELLS[name], is_heard=False)) is (name not in [*SHELLS][-2:])
    assert not look(SHELLS[name], status=404)
    assert not look(SHELLS[name], kind="application/json")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_with_little_text_is_no_shell(name: str) -> None:
    assert look(PAGES[name]) == ""


@pytest.mark.parametrize("piece", ["<script>", "<!--", "<noscript>need ", "<a-b ", "<div id=root>", "<svg><"])
def test_a_page_that_never_closes_anything_costs_little(piece: str) -> None:
    look(f"<body>{SCRIPTS}" + piece * (1_500_000 // len(piece)))
