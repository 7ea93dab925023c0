"""A site whose pages are made by scripts in the browser: plain clients see empty pages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from gossamer.testing.site import SiteResponse

FEED_ITEMS, FEED_PAGE = 37, 10

_SHOP = """<!doctype html><title>Shop</title><div id=root></div><script>
setTimeout(async () => {
  const found = await (await fetch('/api/products?page=1')).json();
  document.getElementById('root').innerHTML =
    found.products.map(p => `<p class=product>${p.name} <b class=price>${p.price}</b></p>`).join('') +
    '<button id=more>more</button><a id=link href="/next">next</a>';
  document.getElementById('more').onclick = () =>
    document.getElementById('root').insertAdjacentHTML('beforeend', '<p class=product>One more</p>');
}, 150);
</script>"""
_FEED = """<!doctype html><title>Feed</title><style>{style}</style>
<div id=box><ul id=list></ul></div><script>
let next = 0, busy = false;
const box = {box};
async function load() {{
  if (busy || next === null) return;
  busy = true;
  const found = await (await fetch('/api/feed?from=' + next)).json();
  const list = document.getElementById('list');
  for (const name of found.items) list.insertAdjacentHTML('beforeend', '<li>' + name);
  next = found.next;
  busy = false;
}}
box.addEventListener('scroll', () => {{
  const el = box === window ? document.scrollingElement : box;
  if (el.scrollTop + el.clientHeight > el.scrollHeight - 200) load();
}});
load();
</script>"""
_FORM = """<!doctype html><title>Search</title><form action=/found><input id=q name=q value=old>
<input id=c type=checkbox name=c><button>Go</button></form>
<form action=/sent method=post><button id=post>Post</button></form><script>
window.keys = []; window.moves = [];
const field = document.getElementById('q');
field.addEventListener('keydown', e => keys.push([e.key, performance.now(), e.isTrusted]));
field.addEventListener('keyup', e => keys.push(['up', performance.now(), e.isTrusted]));
addEventListener('mousemove', e => moves.push([e.clientX, e.clientY, performance.now()]));
</script>"""
_ENDLESS = """<!doctype html><title>Endless</title><div id=list></div><script>
addEventListener('scroll', () => {
  document.getElementById('list').insertAdjacentHTML('beforeend', '<p style="height:500px">more</p>');
});
document.getElementById('list').innerHTML = '<p style="height:3000px">much</p>';
</script>"""


class ScriptedSite:
    """``/shop``, ``/feed`` and ``/boxed`` (lists that grow), ``/form``, ``/endless``, ``/refused``."""

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        url = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        pages = {
            "/shop": _SHOP,
            "/feed": _FEED.format(style="li { height: 100px }", box="window"),
            "/boxed": _FEED.format(
                style="li { height: 60px } #box { height: 200px; overflow: auto }",
                box="document.getElementById('box')",
            ),
            "/form": _FORM,
            "/endless": _ENDLESS,
            "/hangs": "<!doctype html><h1>Here</h1><iframe src=/slow.css></iframe>",
            "/next": "<!doctype html><title>Next</title><h1>Next</h1>",
            "/found": f"<!doctype html><title>Found</title><h1>Found {asked.get('q')}</h1>",
        }
        if url.path == "/sent":
            return SiteResponse(303, headers=(("Location", "/next"),))
        if url.path == "/slow.css":
            return SiteResponse(200, b"", "text/css", delay_s=30)
        if url.path in pages:
            return SiteResponse(200, pages[url.path].encode())
        if url.path == "/refused":
            return SiteResponse(403, b"<!doctype html><title>No</title><h1>Not for you</h1>")
        if url.path == "/api/products":
            products = [{"name": f"Lamp {n}", "price": f"{n}.50"} for n in range(1, 4)]
            return _as_json({"page": asked["page"], "products": products})
        if url.path == "/api/feed":
            start = int(asked["from"])
            end = min(start + FEED_PAGE, FEED_ITEMS)
            items = [f"item {n}" for n in range(start, end)]
            return _as_json({"items": items, "next": end if end < FEED_ITEMS else None})
        if url.path == "/api/large":
            return _as_json({"text": "x" * 100_000})
        return SiteResponse(404, b"<!doctype html><title>Not found</title>")


def _as_json(value: object) -> SiteResponse:
    return SiteResponse(200, json.dumps(value).encode(), "application/json")
