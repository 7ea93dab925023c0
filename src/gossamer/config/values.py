"""Values of settings: from text to their types, and to text without secrets."""

from __future__ import annotations

import json
import re
import types
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import unquote

from pydantic.fields import FieldInfo

from gossamer.config.section import VARIABLE
from gossamer.core.lazy import lazy_pattern
from gossamer.core.redaction import shown_server
from gossamer.policy.request_secrets import header_secrets, is_header_secret

WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
NOTHING = ("none", "null")
SECRET_HEADERS = lazy_pattern(r"auth|cookie|token|secret|key|password", re.IGNORECASE)
USERINFO = lazy_pattern(r"(?<=://)[^/@\s]*@")
SERVERS = ("frontier.url", "store.url", "broker.url")
PROXY_LISTS = lazy_pattern(r"proxies\.(?:pools\.[^.]*\.)?urls?")
# HOST:PORT, with or without :USER:PASSWORD
BARE_PROXY = lazy_pattern(r"((?:\[[0-9A-Fa-f:.]*\]|[^\[:/@\s]+):[0-9]{1,5})(:.*)?$")
PASSWORDS = (re.compile(r"://[^/@\s:]*:([^/@\s]+)@"), re.compile(r"://[^/@\s:]*:(\S+)@"))
DOMAIN_SECRETS = lazy_pattern(r"domain\..*\.(?:auth|cookies)")
_PARAMETER_VALUE = lazy_pattern(
    r"(?i)[?&][^=&\s]*(?:auth|token|secret|key|password)[^=&\s]*=(?!\{)([^&#\s]+)"
)
SECRET_PARAMETER = lazy_pattern(
    r"(?i)([?&][^=&\s]*(?:auth|token|secret|key|password)[^=&\s]*=)(?!\{)[^&#\s]+"
)


def _types_of(annotation: Any) -> set[type]:
    """Return the plain types that an annotation allows."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return set().union(*(_types_of(part) for part in get_args(annotation)))
    if origin is Literal:
        return {type(choice) for choice in get_args(annotation)}
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _types_of(annotation.__origin__)
    return {origin or annotation}


def parse_text(text: str, field: FieldInfo) -> Any:
    """Convert ``text`` to the type of a setting; other text stays as it is, for validation.

    ``none`` means no value, booleans are words or 0 and 1, lists and dicts are JSON; a list with a single
    element may be written without brackets.
    """
    kinds = _types_of(field.annotation)
    word = text.strip().lower()
    if type(None) in kinds and word in NOTHING:
        return None
    if bool in kinds and word in WORDS:
        return WORDS[word]
    for number in (int, float):
        if number in kinds:
            try:
                return number(word)
            except ValueError:
                continue
    if tuple in kinds or dict in kinds:
        return to_tuple(_from_json(text, single=tuple in kinds))
    return text


def _from_json(text: str, *, single: bool) -> Any:
    if single and not text.lstrip().startswith("["):
        return [text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def to_tuple(value: Any) -> Any:
    """Turn lists into tuples, because settings are frozen."""
    return tuple(value) if isinstance(value, list) else value


def hide_secrets(key: str, value: Any) -> Any:
    """Return a value without its secrets: passwords in URLs, headers that carry secrets."""
    if isinstance(value, str) and PROXY_LISTS.fullmatch(key):
        return _hide_in_proxy(value)
    if isinstance(value, str):
        # Also values that were meant as headers and could not be parsed.
        is_like_headers = ("{" in value and not value.startswith("http")) or ": " in value
        # The name of a variable that holds the secret; anything else may be the secret itself.
        is_name = key.endswith("_env") and re.match(VARIABLE, value)
        if (SECRET_HEADERS.search(key) and not is_name) or (is_like_headers and SECRET_HEADERS.search(value)):
            return "***"
        shown = SECRET_PARAMETER.sub(r"\1***", USERINFO.sub("***@", value))
        # A password with a slash in it ends the part of the URL in which it is looked for.
        is_mangled = key in SERVERS and "@" in shown.replace("://***@", "://", 1)
        return shown_server(value) if is_mangled else shown
    if isinstance(value, Mapping):
        return {
            name: "***" if SECRET_HEADERS.search(str(name)) else hide_secrets(key, inner)
            for name, inner in value.items()
        }
    if isinstance(value, tuple | list):
        return type(value)(hide_secrets(key, element) for element in value)
    return value


def secrets_in(key: str, value: Any) -> Iterator[str]:
    """Yield the secrets of a value that :func:`hide_secrets` hides, as they may occur elsewhere."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if is_header_secret(str(name)) and isinstance(inner, str):
                yield from header_secrets(str(name), inner)
            else:
                yield from secrets_in(key, inner)
    elif isinstance(value, tuple | list):
        if DOMAIN_SECRETS.fullmatch(key):
            yield b64encode(":".join(map(str, value)).encode()).decode()
        for element in value:
            yield from secrets_in(key, element)
    elif isinstance(value, str) and DOMAIN_SECRETS.fullmatch(key):
        yield from (value, b64encode(value.encode()).decode())
    elif isinstance(value, str) and hide_secrets(key, value) != value:
        for kind in PASSWORDS:
            for found in kind.finditer(value):
                yield from (unquote(found[1]), found[1])  # a driver may quote it as it was written
        yield from (found[1] for found in _PARAMETER_VALUE.finditer(value))
        if bare := BARE_PROXY.match(value):
            yield (bare[2] or "").rpartition(":")[2]


def _hide_in_proxy(text: str) -> str:
    """Return a line of a list of proxies, or the URL of a list, without its secrets and parameters."""
    where, *attributes = text.split(maxsplit=1) or [""]
    if "://" in where:
        return " ".join((shown_server(where), *attributes))
    bare = BARE_PROXY.match(where)
    if bare is None:
        return "***"
    return " ".join((bare[1] + (":***" if bare[2] else ""), *attributes))
