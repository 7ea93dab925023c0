"""``/metrics`` of the dashboard: all crawls of its places, for Prometheus."""

from __future__ import annotations

import asyncio

from fastapi import Depends, FastAPI, Request, Response
from prometheus_client.exposition import choose_encoder

from gossamer.core.access import Role
from gossamer.observe.exposition import make_registry
from gossamer.queries.metrics import MetricsReader
from gossamer.web.answers import LIMIT_S
from gossamer.web.parts import WebParts, require_role


def add_metrics(app: FastAPI, parts: WebParts) -> None:
    """Add the page; it needs the role ``read``."""
    reader = MetricsReader(parts.settings, parts.backends)

    async def show_metrics(request: Request) -> Response:
        async with asyncio.timeout(LIMIT_S):
            samples = await reader.read_samples()
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        body: bytes = encode(make_registry(lambda: samples))
        return Response(body, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    readers = [Depends(require_role(Role.READ))]
    app.add_api_route("/metrics", show_metrics, dependencies=readers, include_in_schema=False)
