"""Options of a request beside its URL and body: cookies, credentials and limits of its own.

Options are checked when the request is made, and kept in their stored form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from gossamer.core.authorization import authorization_of
from gossamer.core.errors import UsageError
from gossamer.core.form_encoding import FORM_TYPE, encode_fields
from gossamer.core.lazy import lazy_pattern
from gossamer.core.storable import as_base_type, as_stored, check_size, without_surrogates

JSON_TYPE = "application/json"
MAX_COOKIES = 180
"""Cookies of one request: as many as a jar holds."""

Cookies = dict[str, str] | list[dict[str, Any]]
"""Values by name, or a dict for each cookie: ``name``, ``value``, and ``domain``, ``path``, ``secure``."""

OWN_OPTIONS = (
    *("cookies", "auth", "omit_headers", "timeout", "max_size", "max_retries", "delay"),
    "keep_fragment",
)
"""The fields of a request that this is about: ``None`` where it says nothing."""

_COOKIE_KEYS = frozenset({"name", "value", "domain", "path", "secure"})
_EXPORTED_KEYS = frozenset(
    {"httpOnly", "sameSite", "expires", "partitionKey", "hostOnly", "session", "storeId"}
)
"""Fields of programs that export a browser's cookies; ignored here."""
_IN_NAME, _IN_VALUE = lazy_pattern(r"[\x00-\x20\x7f=;]"), lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f;]")


def has_own_options(request: Any) -> bool:
    """Whether a request says anything of the kind."""
    return not (  # written out, since every request that is made pays for it
        request.cookies
        is request.auth
        is request.omit_headers
        is request.timeout
        is request.max_size
        is request.max_retries
        is request.delay
        is request.keep_fragment
        is None
    )


def own_options_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to set for those of ``given`` that are not ``None``. Raises :class:`UsageError`."""
    checked: dict[str, Any] = {}
    if given.get("cookies") is not None:
        checked["cookies"] = _cookies_as_stored(given["cookies"]) or None
    if given.get("auth") is not None:
        checked["auth"] = authorization_of(given["auth"], "a request's auth")
    if given.get("omit_headers") is not None:
        checked["omit_headers"] = names_as_stored(given["omit_headers"]) or None
    for name in ("timeout", "delay"):
        if given.get(name) is not None:
            checked[name] = _seconds(name, given[name])
    for name, least in (("max_size", 1), ("max_retries", 0)):
        if given.get(name) is not None:
            checked[name] = _count(name, given[name], least)
    if given.get("keep_fragment") is not None:
        if type(given["keep_fragment"]) is not bool:
            raise UsageError(f"keep_fragment must be True or False, not {given['keep_fragment']!r}")
        checked["keep_fragment"] = given["keep_fragment"]
    return checked


def encode_body(request: Any) -> dict[str, Any]:
    """The fields to set for ``json=`` or ``form=``: method, body and Content-Type. Raises ``UsageError``."""
    if request.body or (request.json is not None and request.form is not None):
        raise UsageError("a request takes one of body, json and form")
    if request.json is not None:
        whole = as_stored(request.json, "json")
        text = json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        kind, body = JSON_TYPE, text.encode()
    else:
        kind, body = FORM_TYPE, encode_fields(_form_fields(request.form)).encode()
    headers = dict(request.headers)
    if not any(isinstance(name, str) and name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = kind
    method = "POST" if request.method == "GET" else request.method
    return {"json": None, "form": None, "body": body, "method": method, "headers": headers}


def without_type(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers of a request whose body becomes another one."""
    return {name: value for name, value in headers.items() if name.lower() != "content-type"}


def split_omitted(headers: Mapping[Any, Any], omitted: Iterable[str] | None) -> dict[str, Any]:
    """Headers without those whose value is ``None``, which are named in ``omit_headers`` instead."""
    names = [*(omitted or ()), *(name for name, value in headers.items() if value is None)]
    kept = {name: value for name, value in headers.items() if value is not None}
    return {"headers": kept, "omit_headers": names_as_stored(names)}


def names_as_stored(names: Any) -> tuple[str, ...]:
    """Names of headers in lower case, each once."""
    if not _is_list(names) or not all(isinstance(name, str) for name in names):
        raise UsageError("a request's omit_headers is a list of names of headers")
    return tuple(dict.fromkeys(str(name).lower() for name in names))


def _is_list(given: Any) -> bool:
    """Whether it gives one thing after the other; a text is one thing."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes)


def _form_fields(form: Any) -> list[tuple[str, str]]:
    """Names and values in their order; of a list each, and of ``None`` nothing."""
    pairs = form.items() if isinstance(form, Mapping) else form
    if not _is_list(pairs):
        raise UsageError("a request's form is a dict or a list of pairs; a form as text is its body")
    fields: list[tuple[str, str]] = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError("a request's form is a dict or a list of pairs of a name and a value")
        name, given = pair
        values = given if isinstance(given, tuple | list) else [given]
        fields += [(str(name), form_value_of(name, value)) for value in values if value is not None]
    return fields


def form_value_of(name: Any, value: Any) -> str:
    """Return a field's value as text. Raises :class:`UsageError` unless it is a text or a number."""
    value = as_base_type(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise UsageError(
            f"form[{name!r}] is a {type(value).__name__}: forms hold text and numbers, so write what "
            "the site expects ('on', '1', 'true'), and data with structure as json="
        )
    return without_surrogates(value) if isinstance(value, str) else str(value)


def _cookies_as_stored(cookies: Any) -> Cookies:
    if isinstance(cookies, Mapping):
        stored = {_cookie_text("name", name): _cookie_text("value", value) for name, value in cookies.items()}
        _check_cookies(len(stored), sum(map(len, stored)) + sum(map(len, stored.values())))
        return stored
    if not _is_list(cookies) or not all(isinstance(one, Mapping) for one in cookies):
        raise UsageError("a request's cookies are a dict of values by name, or a list of dicts")
    listed = [_cookie_as_stored(one) for one in cookies]
    _check_cookies(len(listed), sum(len(str(value)) for one in listed for value in one.values()))
    return listed


def _cookie_as_stored(cookie: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(map(str, cookie.keys() - _COOKIE_KEYS - _EXPORTED_KEYS))
    if unknown or not {"name", "value"} <= cookie.keys():
        told = f"not {', '.join(unknown)}" if unknown else "and both name and value are needed"
        raise UsageError(f"a cookie has name, value, domain, path and secure, {told}")
    stored: dict[str, Any] = {name: _cookie_text(name, cookie[name]) for name in ("name", "value")}
    for name in ("domain", "path"):
        if cookie.get(name):
            stored[name] = _cookie_text(name, cookie[name])
    if cookie.get("secure"):
        stored["secure"] = True
    return stored


def _cookie_text(part: str, value: Any) -> str:
    """One text of a cookie; numbers as text, as Scrapy has it."""
    value = as_base_type(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str):
        raise UsageError(f"the {part} of a cookie is text, not a {type(value).__name__}")
    text = without_surrogates(value).strip(" \t")
    if (_IN_NAME if part == "name" else _IN_VALUE).search(text) or (part == "name" and not text):
        raise UsageError(f"the {part} of a cookie has characters that no header can carry")
    return text


def _check_cookies(count: int, size: int) -> None:
    check_size("cookies", size)
    if count > MAX_COOKIES:
        raise UsageError(f"a request has up to {MAX_COOKIES} cookies, not {count}")


def _seconds(name: str, value: Any) -> float:
    value = as_base_type(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (name == "timeout" and value == 0):
        least = "above 0" if name == "timeout" else "of at least 0"
        raise UsageError(f"a request's {name} is a number of seconds {least}, not {value!r}")
    return float(value)


def _count(name: str, value: Any, least: int) -> int:
    value = as_base_type(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise UsageError(f"a request's {name} is a whole number of at least {least}, not {value!r}")
    return value
