"""Support ``meta["playwright"]`` of scrapy-playwright: a browser runs the page methods.

They run on Playwright's page, in order, and store their results in ``PageMethod.result``. Options that give
a callback a live page are an error.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from gossamer.core.browsing import Browsing, PageStepError
from gossamer.core.errors import UsageError

PLAYWRIGHT = "playwright"
METHODS = "playwright_page_methods"
SCRIPT = "run_page_methods"
"""The name of the method of an adapted spider that performs them."""
_GOTO = "playwright_page_goto_kwargs"
_IMPOSSIBLE = (
    "playwright_include_page",
    "playwright_page",
    "playwright_page_event_handlers",
    "playwright_page_init_callback",
    "playwright_context_kwargs",
)
"""Options that pass a live page or context to the spider's code."""
_CONTEXT = "playwright_context"
_AFTER_S = 30.0


@dataclasses.dataclass(init=False)
class PageMethod:
    """The class of scrapy-playwright, for spiders that run without it."""

    method: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    def __init__(self, method: Any, *args: Any, **kwargs: Any) -> None:
        self.method, self.args, self.kwargs = method, args, kwargs
        self.result = None


def read_browsing(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return our fields of a request for Playwright. Raises ``UsageError`` for unsupported options."""
    for name in _IMPOSSIBLE:
        if meta.get(name):
            raise UsageError(
                f"meta[{name!r}] is not supported: callbacks get the page's final state, not a live page. "
                f"List the actions in meta[{METHODS!r}]"
            )
    goto = dict(meta.get(_GOTO) or {})
    wait_until = goto.pop("wait_until", "load")
    fields: dict[str, Any] = {}
    if "timeout" in goto:
        fields["timeout"] = float(goto.pop("timeout")) / 1000
    if goto:
        raise UsageError(
            f"meta[{_GOTO!r}] has {', '.join(map(repr, goto))}: only wait_until and timeout are read"
        )
    methods = list_methods(meta)
    fields["browser"] = Browsing(wait_until=wait_until, script=SCRIPT if methods else "")
    if meta.get(_CONTEXT) and meta.get("cookiejar") is None:
        fields["session"] = str(meta[_CONTEXT])
    return fields


def list_methods(meta: Mapping[str, Any]) -> list[Any]:
    """Return the page methods of a request. Raises ``UsageError`` for an entry that is not one of
    Playwright's."""
    given = meta.get(METHODS) or ()
    methods = list(given.values() if isinstance(given, Mapping) else given)
    for number, one in enumerate(methods, 1):
        if not is_page_method(one):
            raise UsageError(f"entry {number} of meta[{METHODS!r}] is {one!r}, and not a PageMethod")
        if not callable(one.method) and not _is_of_page(one.method):
            raise UsageError(f"entry {number} of meta[{METHODS!r}]: Playwright's page has no {one.method!r}")
    return methods


def is_page_method(value: Any) -> bool:
    """Return whether a value is a ``PageMethod``, of any library."""
    return type(value).__name__ == "PageMethod" and hasattr(value, "method") and hasattr(value, "kwargs")


def _is_of_page(name: Any) -> bool:
    try:
        from playwright.async_api import Page
    except ImportError:
        return True  # the crawl reports the missing package
    return isinstance(name, str) and not name.startswith("_") and hasattr(Page, name)


async def perform_methods(page: Any, methods: Iterable[Any]) -> None:
    """Run the page methods in order. Raises ``PageStepError`` for a timeout."""
    for number, one in enumerate(methods, 1):
        name = getattr(one.method, "__name__", one.method)
        call = partial(one.method, page) if callable(one.method) else getattr(page, one.method)
        try:
            result = call(*one.args, **one.kwargs)
            one.result = await result if inspect.isawaitable(result) else result
            await page.wait_for_load_state(timeout=_AFTER_S * 1000)
        except Exception as error:
            said = f"page method {number}, {name}: {str(error).splitlines()[0] if str(error) else error!r}"
            if type(error).__name__ == "TimeoutError":
                raise PageStepError(said) from error
            error.add_note(said)
            raise
