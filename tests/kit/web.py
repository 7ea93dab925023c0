"""The dashboard's application over back ends of a test, and a client that asks it without a network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from gossamer.access.tokens import create_token
from gossamer.config.layers import load_settings
from gossamer.core.access import LoggedAction, Role
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict, VisitResult
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.testing.contracts.query_harness import make_attempt, make_page
from gossamer.testing.contracts.store_harness import make_item
from gossamer.web.app import make_app
from gossamer.web.serving import make_parts
from gossamer.wiring.backends import Backends, open_backends

HERE = "http://127.0.0.1:8787"
HOSTILE = "\u202e<script>alert(1)</script>\x00\x1b[31m" + "x" * 5000
EASY = FrontierRules(delay_s=0.0, per_host=1000)
COUNT = 120


class WebHarness:
    """An application, its back ends, and its client."""

    def __init__(self, app: Any, backends: Backends, client: httpx2.AsyncClient) -> None:
        self.app = app
        self.backends = backends
        self.client = client

    async def get(self, path: str, **options: Any) -> Any:
        """The document at a path below ``/api/v1``; the test fails where there is none."""
        answer = await self.client.get(f"/api/v1{path}", **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def make_token(self, name: str, role: Role = Role.READ) -> dict[str, str]:
        """A new token, as the header that brings it."""
        made = await create_token(self.backends.tokens, name, role, self.backends.clock.now())
        return {"Authorization": f"Bearer {made.secret}"}


@asynccontextmanager
async def open_web(
    folder: Any,
    *,
    is_local: bool = True,
    address: str = "127.0.0.1",
    clock: Any = None,
    start: Path | None = None,
    **given: Any,
) -> AsyncIterator[WebHarness]:
    """The application over a data directory, or over the places that ``given`` settings name.

    It is started in the folder ``start``, which may be a project.
    """
    loaded = load_settings(env={}, spider={"data": str(folder), **given}, start=start)
    backends = await open_backends(loaded.settings, create=True, limit_s=5.0)
    try:
        parts = make_parts(loaded, backends, is_local=is_local, clock=clock)
        app = make_app(parts)
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False, client=(address, 1234))
        async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
            yield WebHarness(app, backends, client)
    finally:
        await backends.close()


async def fill_shop(backends: Backends) -> Job:
    """A job with successes, dead letters and items, all of it written by strangers."""
    job = await backends.book.create("shop", "shop.py")
    frontier = backends.open_frontier(job)
    await backends.requests.create_frontier(job, EASY)
    requests = [
        Request(f"http://{'a' if n % 2 else 'b'}.example/{n}", meta={"text": HOSTILE}) for n in range(COUNT)
    ]
    await frontier.add(
        [Entry(request=r, fingerprint=n + 1, host=r.url.split("/")[2]) for n, r in enumerate(requests)]
    )
    leases = (await frontier.lease("http", 1000, 60.0)).leases
    results = []
    for number, lease in enumerate(sorted(leases, key=lambda lease: lease.entry.fingerprint)):
        verdict, reason = (Verdict.DEAD, "server") if number < 110 else (Verdict.SUCCESS, "")
        now = backends.clock.now()
        tried = make_attempt(lease, verdict, reason, at=now, status=503 if reason else 200)
        tried = type(tried)(**{**{f: getattr(tried, f) for f in tried.__struct_fields__}, "detail": HOSTILE})
        item = make_item(
            f"k{number}", json.dumps({"n": number, "name": HOSTILE[:-4000], "deep": [HOSTILE]}).encode()
        )
        results.append(
            VisitResult(
                outcome=make_outcome(lease, verdict, now, reason=reason),
                attempts=(tried,),
                items=(item,),
                page=make_page(lease, now),
            )
        )
    await backends.store.write(job, results)
    assert all(await frontier.settle([result.outcome for result in results]))
    for number in range(3):
        await backends.actions.add_action(
            LoggedAction(at=float(number), token="ann", kind="pause", job=job.id, what=HOSTILE)
        )
    return job


async def make_job(web: WebHarness) -> tuple[Job, Any]:
    """A job of which three requests wait."""
    job = await web.backends.book.create("shop", "http://a.example/")
    await web.backends.requests.create_frontier(job, FrontierRules())
    frontier = web.backends.open_frontier(job)
    await frontier.add([make_entry(number) for number in range(3)])
    return job, frontier


async def do(web: WebHarness, path: str, status: int = 200, **body: Any) -> Any:
    """Return the result of an order to the API."""
    answer = await web.client.post(f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def bury(frontier: Any, clock: Any) -> Any:
    """Let all requests that may start end as dead letters."""
    leases = (await frontier.lease("http", 9, 60.0)).leases
    return await frontier.settle([make_outcome(lease, Verdict.DEAD, clock.now()) for lease in leases])
