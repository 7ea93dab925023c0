"""Makes the URLs of files in an item absolute, and collects them for the fetcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from gossamer.items.clean import with_values
from gossamer.items.typed import check_item
from gossamer.policy.urls import UrlOptions, canonicalise_url, join_url


def resolve_files(
    item: Any, fields: Sequence[str], page_url: str, page: Any, options: UrlOptions
) -> tuple[Any, tuple[str, ...]]:
    """Return the item with absolute URLs in these fields, and those URLs without duplicates.

    An invalid URL is left as it is and collected as well: its fetch reports the error. Raises the errors of
    :func:`~gossamer.items.typed.check_item`.
    """
    item = check_item(item)
    found: dict[str, None] = {}

    def resolve(value: Any) -> Any:
        if isinstance(value, str):
            if not value.strip():
                return value
            url = _make_absolute(value.strip(), page_url, page)
            url = canonicalise_url(url, options) or url
            found[url] = None
            return url
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(map(resolve, value))
        return {name: resolve(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    if isinstance(item, dict):  # the types of this dataclass cannot be checked
        return item | {name: resolve(item[name]) for name in fields}, tuple(found)
    changes = {name: resolve(getattr(item, name)) for name in fields}
    if isinstance(item, BaseModel):
        return item.model_copy(update=changes), tuple(found)
    return with_values(item, changes), tuple(found)


def _make_absolute(url: str, page_url: str, page: Any) -> str:
    """Return the URL as the page means it, whose base may be another than its own URL."""
    if page is not None:
        try:
            return str(page.urljoin(url))
        except ValueError:
            return url
    return join_url(page_url, url) or url
