"""The page of the dashboard: the files of ``static/``, and one page for all addresses."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Request, Response

from gossamer.core.record import Record
from gossamer.web.answers import etag_of

PLACES = (
    *("/", "/workers", "/proxies", "/page", "/new", "/sign-in"),
    *("/jobs/{job}", "/jobs/{job}/{view}"),
)
"""The addresses of the dashboard. All serve the same page, which reads its address."""
VIEWS = ("hosts", "errors", "dead", "items", "attempts", "settings")
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "webmanifest": "application/manifest+json",
}
"""Media types by suffix; other files are not served."""
INDEX = "index.html"


class StaticFile(Record, frozen=True):
    """A file, ready to be sent."""

    body: bytes
    etag: str
    media_type: str


def load_files() -> dict[str, StaticFile]:
    """Return the files of the page, by their paths."""
    return _files_in(files("gossamer.web") / "static", "")


def _files_in(folder: Traversable, before: str) -> dict[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _files_in(entry, f"{before}{entry.name}/")
        elif media_type := TYPES.get(entry.name.rpartition(".")[2]):
            body = entry.read_bytes()
            found[before + entry.name] = StaticFile(body, etag_of(body), media_type)
    return found


def add_pages(app: FastAPI, found: Mapping[str, StaticFile]) -> None:
    """Add the page, its files, and the answer to unknown pages."""

    async def give_page(request: Request, view: str = VIEWS[0]) -> Response:
        return file_response(request, found[INDEX], 200 if view in VIEWS else 404)

    async def give_file(request: Request, path: str) -> Response:
        if path not in found:
            return await give_nothing(request)
        return file_response(request, found[path])

    async def give_nothing(request: Request) -> Response:
        return file_response(request, found[INDEX], 404)

    for place in PLACES:
        app.add_api_route(place, give_page, include_in_schema=False)
    app.add_api_route("/static/{path:path}", give_file, include_in_schema=False)
    app.add_api_route("/{path:path}", give_nothing, include_in_schema=False)


def file_response(request: Request, file: StaticFile, status: int = 200) -> Response:
    """Return a file, or 304 if the browser has it."""
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if status == 200 and request.headers.get("if-none-match", "").removeprefix("W/") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, status, headers, media_type=file.media_type)
