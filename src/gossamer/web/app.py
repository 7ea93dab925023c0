"""The application: every file of ``routes/`` under ``/api/v1``, the page, and the gate of both."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec
from fastapi import Depends, FastAPI, Request, Response

from gossamer.core.access import Role
from gossamer.version import __version__
from gossamer.web import routes
from gossamer.web.body_limit import BodyLimit
from gossamer.web.errors import add_error_handlers, error_response
from gossamer.web.headers import HeaderGuard
from gossamer.web.metrics import add_metrics
from gossamer.web.monitors import MonitorPool
from gossamer.web.pages import add_pages, load_files
from gossamer.web.parts import WebParts, call_of, require_role
from gossamer.web.route_group import RouteGroup
from gossamer.web.schemas import describe_api
from gossamer.web.topics import ask_within

API = "/api/v1"
ABOUT = (
    "The data and actions of the dashboard and the command line. Times are seconds since the epoch, "
    "durations end in `_s`, sizes in `_bytes`. A list with more rows has a cursor. An error is reported as "
    "`{error: {what, why, way}}`. A token is sent as `Authorization: Bearer ...`."
)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def make_app(parts: WebParts) -> FastAPI:
    """Return the dashboard and the API over these parts."""
    app = FastAPI(
        title="Gossamer",
        version=__version__,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.parts = parts
    groups = load_groups()
    app.state.exporting = set()
    app.state.monitors = MonitorPool(partial(ask_within, app, API))
    app.state.topics = {name: rule for group in groups for name, rule in group.topics.items()}
    for group in groups:
        app.include_router(group.router, prefix=API)
    _add_document(app, [record for group in groups for record in group.records])
    _add_health(app, parts)
    add_metrics(app, parts)
    add_error_handlers(app)
    add_pages(app, load_files())
    app.add_middleware(BodyLimit)
    app.add_middleware(HeaderGuard)
    return app


def load_groups() -> list[RouteGroup]:
    """Return the routes of every file, by the files' names."""
    names = sorted(module.name for module in iter_modules(routes.__path__))
    return [import_module(f"{routes.__name__}.{name}").ROUTES for name in names]


def _add_document(app: FastAPI, records: list[type[msgspec.Struct]]) -> None:
    """Add the OpenAPI document, and the answer to unknown addresses."""
    made: list[dict[str, Any]] = []

    async def describe(_request: Request) -> Response:
        if not made:
            made.append(describe_api(app, records))
        return Response(msgspec.json.encode(made[0]), media_type="application/json")

    async def refuse(request: Request) -> Response:
        return error_response(
            404,
            "There is nothing here.",
            f"{request.scope['path'][:200]} is not an address of the API",
            f"{API}/openapi.json lists all of them.",
        )

    readers = [Depends(require_role(Role.READ))]
    app.add_api_route(f"{API}/openapi.json", describe, dependencies=readers, include_in_schema=False)
    app.add_api_route(
        "/api/{path:path}", refuse, methods=METHODS, dependencies=readers, include_in_schema=False
    )


def _add_health(app: FastAPI, parts: WebParts) -> None:
    """Whether this process gets on, and whether its servers answer. Needs no token: it tells of no crawl.

    Why a server does not answer may name other machines: only this one reads that.
    """

    def answer(request: Request, *, is_work_asked: bool) -> Response:
        is_detailed = parts.gate.is_from_here(call_of(request))
        failing = parts.health.find_failures(is_work_asked=is_work_asked, is_detailed=is_detailed)
        found = {"ok": False, "failing": failing} if failing else {"ok": True}
        return Response(msgspec.json.encode(found), 503 if failing else 200, media_type="application/json")

    async def tell_life(request: Request) -> Response:
        return answer(request, is_work_asked=False)

    async def tell_readiness(request: Request) -> Response:
        return answer(request, is_work_asked=True)

    app.add_api_route("/healthz", tell_life, include_in_schema=False)
    app.add_api_route("/readyz", tell_readiness, include_in_schema=False)
