"""From a form on a page to the request that sends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.form_encoding import FORM_TYPE, encode_fields
from gossamer.core.requests import Request
from gossamer.parse.forms import PageForm, choose_form, read_forms
from gossamer.policy.urls import origin_of

Filling = Mapping[str, "str | Iterable[str] | None"]
"""Values by the names of their fields; several for a field that is there several times, ``None`` for none."""


def request_for_form(
    response: Any, data: Filling | None = None, callback: Any = None, *, css: str = "", **options: Any
) -> Request:
    """A request that sends a form of a response, with the page's own values where ``data`` names no other.

    The form is the one that ``css`` selects, else the one that fits the names in ``data`` best, and of equals
    one that asks for a password. Raises ``ValueError`` where there is none. Options are those of ``Request``.
    """
    data = data or {}
    form = choose_form(read_forms(response.selector, css or "form"), data)
    if form is None:
        raise ValueError(f"{response.url} has no form" + (f" that is {css!r}" if css else ""))
    encoded = encode_fields(_fill_form(form, data), response.encoding)
    url = response.urljoin(form.action) if form.action.strip() else response.url
    headers = {"Referer": _referer_for(response.url, url), **options.pop("headers", {})}
    if "method" in options or "body" in options:
        raise UsageError("the form says how it is sent: leave out method and body")
    if form.method == "GET":
        target = url.partition("#")[0].partition("?")[0]
        return Request(f"{target}?{encoded}", callback, headers=headers, **options)
    headers["Content-Type"] = FORM_TYPE
    body = encoded.encode("ascii")
    return Request(url, callback, method="POST", headers=headers, body=body, **options)


def _fill_form(form: PageForm, data: Filling) -> list[tuple[str, str]]:
    """The fields as they are sent: in the page's order, and what the page does not have at the end."""
    sent: list[tuple[str, str]] = []
    filled: set[str] = set()
    for name, value in form.fields:
        if name not in data:
            sent.append((name, value))
        elif name not in filled:
            filled.add(name)
            sent += [(name, one) for one in _values_of(data[name])]
    for name, given in data.items():
        if name not in filled:
            sent += [(name, one) for one in _values_of(given)]
    return sent


def _values_of(given: str | Iterable[str] | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else [str(one) for one in given]


def _referer_for(page: str, target: str) -> str:
    """What browsers tell of the page: all of it to its own origin, and the origin alone to others."""
    same = origin_of(page) == origin_of(target)
    return page.partition("#")[0] if same else f"{origin_of(page)}/"
