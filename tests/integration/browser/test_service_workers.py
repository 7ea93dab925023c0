"""Service workers are blocked as a browser blocks them whose user has said so, and pages continue."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable

import pytest
import pytest_asyncio

from gossamer.core.browsing import Browsing
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

REFUSED = {"chromium": "NotSupportedError", "firefox": "SecurityError"}
WORKERS = "navigator.serviceWorker"
ROWS = {
    "the promise rejects": (f"{WORKERS}.register('/sw.js').then(r => r.scope)", "REFUSED"),
    "with a scope": (f"{WORKERS}.register('/sw.js', {{scope: '/app/'}})", "REFUSED"),
    "a module": (f"{WORKERS}.register(new URL('/sw.js', location), {{type: 'module'}})", "REFUSED"),
    "a script that is not there": (f"{WORKERS}.register('missing.js')", "REFUSED"),
    "in a frame": (
        "(f => (document.body.append(f), f.contentWindow.navigator.serviceWorker.register('/sw.js')))"
        "(document.createElement('iframe'))",
        "REFUSED",
    ),
    "of another origin": (f"{WORKERS}.register('https://other.test/sw.js')", "SecurityError"),
    "no URL": (f"{WORKERS}.register('http://')", "TypeError"),
    "nothing": (f"{WORKERS}.register()", "TypeError"),
    "on something else": (f"{WORKERS}.register.call({{}}, '/sw.js')", "TypeError"),
    "a page that goes on": (f"{WORKERS}.register('/sw.js').catch(() => 0).then(() => 'shown')", "shown"),
    "ready after a refusal": (
        f"{WORKERS}.register('/sw.js').catch(() => 0).then(() => {WORKERS}.ready).then(r => r.scope)",
        "HERE",
    ),
    "ready alone": (f"{WORKERS}.ready.then(r => [r instanceof ServiceWorkerRegistration])", "true"),
    "ready twice": (f"[{WORKERS}.ready === {WORKERS}.ready]", "true"),
    "a message to the one that is ready": (
        f"{WORKERS}.ready.then(r => (r.addEventListener('updatefound', () => 0), r.active.postMessage(1),"
        " r.active.state))",
        "activated",
    ),
    "updated and unregistered": (
        f"{WORKERS}.ready.then(r => r.update().then(() => r.unregister())).then(() => 'done')",
        "done",
    ),
    "no subscription": (f"{WORKERS}.ready.then(r => r.pushManager.getSubscription()).then(String)", "null"),
    "may not push": (f"{WORKERS}.ready.then(r => r.pushManager.permissionState())", "denied"),
    "a refused subscription": (f"{WORKERS}.ready.then(r => r.pushManager.subscribe())", "NotAllowedError"),
    "a late task": (f"{WORKERS}.ready.then(r => r.sync && r.sync.register('x')).then(() => 'done')", "done"),
    "no notifications": (f"{WORKERS}.ready.then(r => r.getNotifications()).then(all => all.length)", "0"),
    "truly unregistered": (f"{WORKERS}.ready.then(r => r.unregister())", "true"),
    "no controller": (f"String({WORKERS}.controller)", "null"),
    "none registered": (f"{WORKERS}.getRegistrations().then(all => all.length)", "0"),
    "a feature that is there": ("['serviceWorker' in navigator]", "true"),
    "a name that is the browser's": (f"[{WORKERS}.register.name, {WORKERS}.register.length]", "register,1"),
    "made of what a browser's is": (f"[/native code/.test({WORKERS}.register)]", "true"),
    "no property of its own": (f"Object.keys({WORKERS}).length + 'own'", "0own"),
}
"""By kind: an expression of a page's script, and what it or the name of its error is at last."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chromium", "firefox"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(kind=request.param, timeout_s=20) as fetcher:
        yield fetcher


def page_of(expressions: Iterable[str]) -> str:
    """A page that says of each expression what comes of it, one after the other."""
    works = ", ".join(f"async () => await ({expression})" for expression in expressions)
    return f"""<ol id=all></ol><script>(async () => {{
        for (const work of [{works}]) {{
            const said = await work().catch(error => error.name);
            document.getElementById("all").append(Object.assign(document.createElement("li"), {{
                textContent: String(said)
            }}));
        }}
        document.body.append(Object.assign(document.createElement("p"), {{id: "done", textContent: "done"}}));
    }})()</script>"""


@pytest.mark.long
async def test_pages_meet_service_workers_as_where_they_are_blocked(fetcher: BrowserFetcher) -> None:
    page = answer(page_of(expression for expression, _ in ROWS.values()))
    async with Raw({"/": page, "/sw.js": answer("", kind="text/javascript")}) as site:
        shown = await fetcher.fetch(Request(f"{site.url}/", browser=Browsing(wait_for="#done")))
        assert shown.failure is None
        right = {"REFUSED": REFUSED[fetcher._options.kind], "HERE": f"{site.url}/"}
        said = re.findall("<li>(.*?)</li>", shown.body.decode())
        wanted = {name: right.get(words, words) for name, (_, words) in ROWS.items()}
        assert dict(zip(ROWS, said, strict=True)) == wanted
        assert not [head for head in site.heads if b"sw.js" in head], "no worker is fetched"
