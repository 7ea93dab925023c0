"""A folder of saved pages as a site: no listings, and nothing outside the folder."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from gossamer.testing.answers import App, SiteResponse

NOT_FOUND = SiteResponse(404, b"<!doctype html><title>Not found</title><h1>Not found</h1>\n")


def serve_folder(folder: Path | str) -> App:
    """Return the site of a folder: files by percent-decoded path, ``index.html`` for a final ``/``.

    A directory without the slash is redirected (301) to the path with it; the query is ignored; symlinks are
    followed only within the folder.
    """
    root = Path(folder).resolve(strict=True)

    def respond(path: str, headers: Mapping[str, str]) -> SiteResponse:
        raw = "/" + path.partition("?")[0].lstrip("/")
        try:
            file = (root / unquote(raw, errors="surrogateescape").lstrip("/")).resolve()
            if not file.is_relative_to(root):
                return NOT_FOUND
            if file.is_dir() and not raw.endswith("/"):
                return SiteResponse(301, headers=(("Location", raw + "/"),))
            if raw.endswith("/"):
                file /= "index.html"
            return SiteResponse(body=file.read_bytes(), content_type=_content_type(file))
        except (
            OSError,
            RuntimeError,
            ValueError,
        ):
            # Missing, an impossible file name, or a loop of symlinks.
            return NOT_FOUND

    return respond


def _content_type(file: Path) -> str:
    kind, encoding = mimetypes.guess_type(file.name)
    if encoding == "gzip":
        return "application/gzip"
    # Without a charset: saved pages declare their own.
    return kind or "application/octet-stream"
