"""The dashboard's application over back ends of a test, and a client that asks it without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from gossamer.access.tokens import create_token
from gossamer.config.layers import load_settings
from gossamer.core.access import Role
from gossamer.web.app import make_app
from gossamer.web.serving import make_parts
from gossamer.wiring.backends import Backends, open_backends

HERE = "http://127.0.0.1:8787"


class WebHarness:
    """An application, its back ends, and whoever asks."""

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
        made = await create_token(self.backends, name, role)
        return {"Authorization": f"Bearer {made.secret}"}


@asynccontextmanager
async def open_web(
    folder: Any, *, is_local: bool = True, address: str = "127.0.0.1", clock: Any = None, **given: Any
) -> AsyncIterator[WebHarness]:
    """The application over a data directory, or over the places that ``given`` settings name."""
    loaded = load_settings(env={}, spider={"data": str(folder), **given})
    backends = await open_backends(loaded.settings, create=True, limit_s=5.0)
    try:
        parts = make_parts(loaded, backends, is_local=is_local, clock=clock)
        app = make_app(parts)
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False, client=(address, 1234))
        async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
            yield WebHarness(app, backends, client)
    finally:
        await backends.close()
