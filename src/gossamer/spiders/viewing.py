"""Open a copy of a page in the browser of this machine."""

from __future__ import annotations

import html
import re
import tempfile
import webbrowser
from collections.abc import Callable
from mimetypes import guess_extension
from pathlib import Path

from gossamer.core.errors import UsageError
from gossamer.parse.mime import is_media
from gossamer.spiders.response import Response

_DOCTYPE = re.compile(r"\s*(<!doctype[^>]*>)?", re.IGNORECASE)
NO_SCRIPTS = "script-src 'none'; object-src 'none'; frame-src 'none'; form-action 'none'"
"""The policy of the copy, whose scripts would run as those of a local file."""


def view(
    response: Response, *, scripts: bool = False, open_url: Callable[[str], object] | None = None
) -> Path:
    """Open a copy of a response in your browser, and return the path of the copy.

    A copy of an HTML page loads pictures and styles from its site. Bodies that are neither HTML nor media are
    shown as text. The file stays in the folder for temporary files.

    Args:
        response: the response to show.
        scripts: run the scripts of the page.
        open_url: called with the URL of the copy, in place of ``webbrowser.open``.

    Raises ``UsageError`` if no browser can show it.
    """
    suffix, content = _copy_of(response, scripts=scripts)
    with tempfile.NamedTemporaryFile(prefix="gossamer-view-", suffix=suffix, delete=False) as file:
        file.write(content)
    path = Path(file.name)
    if (open_url or webbrowser.open)(path.as_uri()) is False:
        raise UsageError(f"no browser could be opened; the page is in {path}")
    return path


def _copy_of(response: Response, *, scripts: bool) -> tuple[str, bytes]:
    """Return the suffix and the content of the file."""
    kind = response.content_type.partition(";")[0].strip().lower()
    if is_media(kind) and kind != "image/svg+xml":  # which may have scripts
        return guess_extension(kind) or ".bin", response.body
    if response.is_html:
        return ".html", _with_base(response, scripts=scripts).encode("utf-8", "replace")
    if "\0" in response.text[:1024]:
        raise UsageError(f"{response.url} is {kind or 'of no known type'}, which no browser shows")
    return ".html", f"<meta charset=utf-8><pre>{html.escape(response.text)}</pre>".encode("utf-8", "replace")


def _with_base(response: Response, *, scripts: bool) -> str:
    """Return the text of the page with a ``base`` element, so that its links lead to its site."""
    found = _DOCTYPE.match(response.text)
    begin = found.end() if found else 0
    policy = "" if scripts else f'<meta http-equiv="Content-Security-Policy" content="{NO_SCRIPTS}">'
    base = f'<base href="{html.escape(response.page.base_url)}">'
    head = f"<meta charset=utf-8>{policy}{base}"
    return f"{response.text[:begin]}{head}{response.text[begin:]}"
