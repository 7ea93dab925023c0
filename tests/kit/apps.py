"""Small applications in one file each, as a browser has to show them: one table, served below their names.

Each shows elements ``.item`` with the texts ``NAME 0`` to ``NAME (count - 1)``, if it is used as its row
says; ``a.on`` leads from one of its pages to the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from gossamer import Browsing, Click, Press, Scroll, Type, Wait
from gossamer.testing.answers import SiteResponse


class App(NamedTuple):
    """One application. ``body`` goes below the common head; ``start`` is relative to its folder."""

    body: str
    count: int = 3
    browsing: Browsing | None = None
    start: str = ""
    pages: Mapping[str, str] = {}  # further ones, by their names


_HEAD = """<!doctype html><meta charset=utf-8><title>{name}</title>
<style>html, body {{ margin: 0 }} .item {{ height: 120px; margin: 0 }}
#box {{ height: 100vh; overflow: auto }}</style>
<script>
const html = n => '<p class=item>{name} ' + n + '</p>';
const items = (from, to) => Array.from({{length: to - from}}, (_, n) => html(from + n)).join('');
const add = (place, from, to) => place.insertAdjacentHTML('beforeend', items(from, to));
const later = work => setTimeout(work, 60);
const open_root = (node, html) => {{
    const root = node.attachShadow({{mode: 'open'}}); root.innerHTML = html; return root }};
</script>
"""
_ENDLESS = """<div id=box><div id=list></div><div id=end style='height: 1px'></div></div><script>
let n = 0;
const more = () => { if (n < 25) { add(list, n, n + 5); n += 5 } };
add(list, 0, 10); n = 10;
const near = at => at.scrollTop + at.clientHeight > at.scrollHeight - 60;
%s
</script>"""
_FLOW = "<style>#box { height: auto; overflow: visible }</style>"
_TO_END = Browsing(actions=[Scroll(until_still=True, still_s=1.5)])
_ROUTES = """<div id=view></div><script>
const show = () => { const n = +(location.hash.match(/[0-9]+/) || [0])[0];
    view.innerHTML = html(n) + (n < 2 ? `<a class=on href="#%s${n + 1}">on</a>` : '') };
addEventListener('hashchange', show); show();
</script>"""
_PUSH = """<div id=view></div><script>
const show = n => view.innerHTML = html(n) + (n < 2 ? `<a class=on href="${n + 1}">on</a>` : '');
show(+(location.pathname.match(/([0-9]+)$/) || [0])[0]);
</script>"""

APPS: dict[str, App] = {
    "hash-routes": App(_ROUTES % "/page/", start="#/page/0"),
    "hashbang-routes": App(_ROUTES % "!", start="#!0"),
    "push-routes": App(_PUSH, start="0", pages=dict.fromkeys("012", _PUSH)),
    "push-on-click": App(
        "<div id=view></div><button id=go>go</button><script>go.onclick = () => {"
        "history.pushState({}, '', 'deep/er'); add(view, 0, 2);"
        "view.insertAdjacentHTML('beforeend', '<a class=on href=rel>on</a>') }</script>",
        browsing=Browsing(actions=[Click("#go")]),
        pages={"deep/rel": "<script>document.write(html(2))</script>"},
    ),
    "replaced-address": App(
        "<div id=view></div><a class=on href=rel>on</a>"
        "<script>history.replaceState({}, '', 'real/'); add(view, 0, 2)</script>",
        start="?from=mail",
        pages={"real/rel": "<script>document.write(html(2))</script>"},
    ),
    "shadow-components": App(
        "<x-list></x-list><script>customElements.define('x-item', class extends HTMLElement {"
        "connectedCallback() { open_root(this, html(this.getAttribute('n'))) } });"
        "customElements.define('x-list', class extends HTMLElement { connectedCallback() { later(() =>"
        "open_root(this, '<x-item n=0></x-item><x-item n=1></x-item><x-item n=2></x-item>')) } })</script>",
        browsing=Browsing(wait_for=".item"),
    ),
    "slots": App(
        "<div id=card></div><script>add(card, 0, 3);"
        "open_root(card, '<section><h1>Offers</h1><slot></slot></section>')</script>"
    ),
    "declarative-roots": App(
        "<div><template shadowrootmode=open><p class=item>declarative-roots 0</p><div>"
        "<template shadowrootmode=open><p class=item>declarative-roots 1</p></template></div>"
        "<p class=item>declarative-roots 2</p></template></div>"
    ),
    "scroll-of-window": App(
        _FLOW + _ENDLESS % "addEventListener('scroll', () => near(document.scrollingElement) && later(more))",
        count=25,
        browsing=_TO_END,
    ),
    "scroll-by-sight": App(
        _FLOW
        + _ENDLESS % "new IntersectionObserver(all => all[0].isIntersecting && later(more)).observe(end)",
        count=25,
        browsing=_TO_END,
    ),
    "scroll-of-box": App(
        _ENDLESS % "box.addEventListener('scroll', () => near(box) && later(more))",
        count=25,
        browsing=_TO_END,
    ),
    "scroll-of-body": App(
        "<style>html { height: 100%; overflow: hidden } body { height: 100%; overflow: auto }</style>"
        + _FLOW
        + _ENDLESS % "document.body.addEventListener('scroll', () => near(document.body) && later(more))",
        count=25,
        browsing=_TO_END,
    ),
    "scroll-in-shadow": App(
        "<div id=host></div><script>const root = open_root(host, '<style>p { height: 120px }"
        "#in { height: 100vh; overflow: auto }</style><div id=in></div>'), pane = root.getElementById('in');"
        "let n = 0; const more = () => { if (n < 25) { add(pane, n, n + 5); n += 5 } }; more(); more();"
        "const left = () => pane.scrollHeight - pane.scrollTop - pane.clientHeight;"
        "pane.onscroll = () => left() < 60 && later(more)</script>",
        count=25,
        browsing=_TO_END,
    ),
    "recycling-list": App(
        "<div id=box style='position: relative'><div id=rows style='height: 4800px'></div></div><script>"
        "const draw = () => { const first = Math.floor(box.scrollTop / 120); rows.innerHTML = '';"
        "for (let n = first; n < Math.min(first + 9, 40); n++) rows.insertAdjacentHTML('beforeend',"
        "`<div class=row style='position: absolute; top: ${n * 120}px'>${html(n)}</div>`) };"
        "box.onscroll = () => requestAnimationFrame(draw); draw()</script>",
        count=40,
        browsing=Browsing(actions=[Scroll(until_still=True, still_s=1.0, collect=".row")]),
    ),
    "more-button": App(
        "<div id=list></div><button id=more>more</button><script>let n = 1; add(list, 0, 1);"
        "more.onclick = () => { add(list, n, n + 1); if (++n === 3) more.remove() }</script>",
        browsing=Browsing(actions=[Click("#more"), Click("#more"), Click("#more", optional=True)]),
    ),
    "consent-gate": App(
        "<div id=gate>Cookies? <button id=accept>Accept</button></div><div id=view></div><script>"
        "accept.onclick = () => { gate.remove(); document.cookie = 'ok=1'; later(() => add(view, 0, 3)) }"
        "</script>",
        browsing=Browsing(actions=[Click("#accept", optional=True), Wait(".item")]),
    ),
    "log-in-in-storage": App(
        "<form id=form><input id=user><button>Log in</button></form><div id=view></div><script>"
        "if (localStorage.token) { form.remove(); add(view, 0, 3) }"
        "form.onsubmit = () => { localStorage.token = user.value; location.reload(); return false }</script>",
        browsing=Browsing(actions=[Type("#user", "ann"), Press("Enter"), Wait(".item")]),
    ),
    "service-worker": App(
        "<div id=view></div><script>const go = () => add(view, 0, 3);"
        "navigator.serviceWorker.register('sw.js').then(go, go)</script>",
        browsing=Browsing(wait_for=".item"),
    ),
    "frames": App(
        "<div id=view></div><iframe src=in></iframe><iframe id=own></iframe>"
        "<script>add(view, 0, 1); own.srcdoc = html(2)</script>",
        pages={"in": "<script>document.write(html(1))</script>"},
    ),
    "frameset": App(
        "<frameset rows='*,*'><frame src=0><frame src=12></frameset>",
        pages={
            "0": "<script>document.write(html(0))</script>",
            "12": "<script>document.write(items(1, 3))</script>",
        },
    ),
    "late-content": App(
        "<div id=view></div><script>setTimeout(() => add(view, 0, 3), 400)</script>",
        browsing=Browsing(wait_for=".item"),
    ),
    "fetched-content": App(
        "<div id=view></div><script>fetch('data').then(found => found.text()).then(text =>"
        "add(view, 0, +text.match(/count ([0-9]+)/)[1]))</script>",
        browsing=Browsing(wait_until="networkidle"),
        pages={"data": "count 3"},
    ),
    "search-form": App(
        "<input id=q><div id=view></div>"
        "<script>q.oninput = () => q.value === 'lamp' && add(view, 0, 3)</script>",
        browsing=Browsing(actions=[Type("#q", "lamp"), Wait(".item")]),
    ),
    "tabs": App(
        "<button>1</button><button>other</button><div id=view></div><script>add(view, 0, 1);"
        "document.querySelector('button + button').onclick = () => add(view, 1, 3)</script>",
        browsing=Browsing(actions=[Click("text=other")]),
    ),
    "parameters": App(
        "<div id=view></div><a class=on>on</a><script>"
        "const n = +new URLSearchParams(location.search).get('n'); add(view, n, n + 1);"
        "const to = document.querySelector('a.on');"
        "if (n < 2) to.href = '?n=' + (n + 1); else to.remove()</script>"
    ),
    "pages-on-click": App(
        "<div id=view></div><button id=next>next</button><script>let n = 0; const draw = () => {"
        "add(view, n, n + 1); history.pushState({}, '', '?page=' + n) }; draw();"
        "next.onclick = () => { n++; draw() }</script>",
        browsing=Browsing(actions=[Click("#next"), Click("#next")]),
    ),
    "closed-details": App(
        "<details><summary>more</summary><div id=view></div></details><script>"
        "document.querySelector('details').ontoggle = () => add(view, 0, 3)</script>",
        browsing=Browsing(actions=[Click("summary"), Wait(".item")]),
    ),
    "cloned-templates": App(
        "<template><p class=item></p></template><div id=view></div><script>for (let n = 0; n < 3; n++) {"
        "const made = document.querySelector('template').content.cloneNode(true);"
        "made.firstChild.textContent = document.title + ' ' + n; view.append(made) }</script>"
    ),
    "dismissed-dialog": App(
        "<div id=view></div><script>later(() => { confirm('Newsletter?'); add(view, 0, 3) })</script>",
        browsing=Browsing(wait_for=".item"),
    ),
    "pop-up": App(
        "<button id=open>details</button>"
        "<script>document.querySelector('#open').onclick = () => window.open('window')</script>",
        browsing=Browsing(actions=[Click("#open", popup=True), Wait(".item")]),
        pages={"window": "<script>document.write(items(0, 3))</script>"},
    ),
    "script-redirect": App(
        "<script>location.replace('there')</script>",
        pages={"there": "<script>document.write(items(0, 3))</script>"},
    ),
}
"""Applications by name: their parts and their use."""


def serve_app(path: str, _headers: Mapping[str, str]) -> SiteResponse:
    """The site of all applications, for :func:`gossamer.testing.site.serve_in_thread`."""
    name, _, rest = path.partition("?")[0].removeprefix("/").partition("/")
    app = APPS.get(name)
    body = None if app is None else app.pages.get(rest, app.body if not rest else None)
    if body is None:
        return SiteResponse(404)
    return SiteResponse(body=(_HEAD.format(name=name) + body).encode())


SPIDER = """
import json

import msgspec

from gossamer import Browsing, Request, Spider

APPS = json.loads(%r)


class Apps(Spider):
    name = "apps"

    async def start(self):
        for app, url, browsing in APPS:
            how = msgspec.convert(browsing, Browsing)
            yield Request(url, self.parse_app, browser=how, cb_kwargs={"app": app})

    def parse_app(self, response, app):
        for text in response.css(".item::text").getall():
            yield {"app": app, "text": text}
        yield from response.follow_all(
            css="a.on", callback=self.parse_app, fetch="browser", keep_fragment=True, cb_kwargs={"app": app}
        )
"""


def write_spider(site: str) -> str:
    """A spider, in a file of its own, that crawls all applications of a site."""
    rows = [
        (name, f"{site}/{name}/{app.start}", msgspec.to_builtins(app.browsing or Browsing()))
        for name, app in APPS.items()
    ]
    return SPIDER % json.dumps(rows)


def expected_items() -> set[tuple[str, str]]:
    """Return the items of all of them: the name and a text."""
    return {(name, f"{name} {n}") for name, app in APPS.items() for n in range(app.count)}
