"""The rung ``replay``: pages that were saved in a folder, as if they were fetched. No network.

Rules map URLs to files: ``https://shop.example/page/{page}/`` to ``{page}.html``. A placeholder stands
for one path segment. Whatever a URL says, no file outside of the folder is ever read.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from urllib.parse import urlsplit

from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.ports.clock import Clock

MAX_PAGE_BYTES = 64 * 1024 * 1024


class _ReplayRule:
    """One URL template and the file name it stands for."""

    def __init__(self, url: str, file: str) -> None:
        names: list[str] = []
        pattern = ""
        for literal, name, *_ in Formatter().parse(url):
            pattern += re.escape(literal)
            if name is not None:
                if not name.isidentifier() or name in names:
                    raise UsageError(
                        f"{url}: placeholders are names in braces, each used once, not {{{name}}}"
                    )
                names.append(name)
                pattern += f"(?P<{name}>[^/]+)"
        unknown = {name for _, name, *_ in Formatter().parse(file) if name is not None} - set(names)
        if unknown:
            raise UsageError(f"{file}: {{{min(unknown)}}} is not in the URL template {url}")
        self._match = re.compile(pattern).fullmatch
        self._file = file

    def file_for(self, url: str) -> str | None:
        """Return the file's name below the folder, or ``None`` if the URL does not match."""
        match = self._match(url)
        return None if match is None else self._file.format(**match.groupdict())


class ReplayFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher` of saved pages; the first rule whose file exists wins.

    ``rules`` maps URL templates to file names below ``folder``. A name that ends in ``.gz`` is unpacked;
    the content type follows the rest of the suffix. A robots.txt that no rule gives is answered by 404;
    any other unknown URL raises ``NOT_ARCHIVED``.
    """

    rung = "replay"
    touches_network = False

    def __init__(self, folder: Path, rules: Mapping[str, str], *, clock: Clock) -> None:
        self._folder = folder.resolve()
        if not self._folder.is_dir():
            raise UsageError(f"{folder} is not a folder of saved pages")
        self._rules = [_ReplayRule(url, file) for url, file in rules.items()]
        self._clock = clock

    def __repr__(self) -> str:
        return f"ReplayFetcher({str(self._folder)!r}, {len(self._rules)} rules)"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Return the saved page, with status 200."""
        try:
            return self._replay_page(request)
        except FetchError as error:
            error.rung = self.rung
            raise

    def _replay_page(self, request: Request) -> FetchResult:
        now = self._clock.now()
        found = self._find_page(request.url)
        if found is None:
            if urlsplit(request.url).path != "/robots.txt":
                raise FetchError(Fault.NOT_ARCHIVED, "no saved page for this URL")
            return _build_result(request.url, 404, "text/plain", b"", now)
        path, body = found
        kind = mimetypes.guess_type(path.name.removesuffix(".gz"))[0] or "application/octet-stream"
        return _build_result(request.url, 200, kind, body, now)

    async def close(self) -> None:
        """No-op."""

    def _find_page(self, url: str) -> tuple[Path, bytes] | None:
        for rule in self._rules:
            name = rule.file_for(url)
            path = None if name is None else self._path_inside(name)
            if path is not None:
                return path, _read_page(path)
        return None

    def _path_inside(self, name: str) -> Path | None:
        """Return the real path of an existing file below the folder; links to the outside do not count."""
        try:
            path = (self._folder / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):  # not there, a NUL or a name too long, a loop of links
            return None
        return path if path.is_relative_to(self._folder) and path.is_file() else None


def _read_page(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            body = file.read(MAX_PAGE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(Fault.BAD_ENCODING, f"{path.name}: {type(error).__name__}") from error
    if len(body) > MAX_PAGE_BYTES:
        raise FetchError(Fault.TOO_LARGE, f"more than {MAX_PAGE_BYTES} bytes")
    return body


def _build_result(url: str, status: int, content_type: str, body: bytes, now: float) -> FetchResult:
    return FetchResult(
        url=url,
        status=status,
        headers=(("content-type", content_type),),
        body=body,
        started_at=now,
        latency_s=0.0,
        elapsed_s=0.0,
        rung=ReplayFetcher.rung,
        wire_bytes=len(body),
    )
