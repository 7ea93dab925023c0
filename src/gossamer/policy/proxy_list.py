"""Proxies as people write them: one on a line, in the forms that providers hand out.

Errors never quote their line: it may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from gossamer.core.routes import Proxy
from gossamer.core.rungs import PROXY_KINDS

FORMS = (
    "http://USER:PASSWORD@HOST:PORT (also https:// and socks5://), HOST:PORT or HOST:PORT:USER:PASSWORD, "
    "and after it, if you like, provider=NAME kind=datacenter|residential|mobile country=de"
)
MAX_PROBLEMS = 5
"""Maximum number of bad lines named in one error."""

_SCHEMES = {"http": "http", "https": "https", "socks5": "socks5", "socks5h": "socks5"}
_OTHER_SCHEMES = frozenset({"ftp", "socks", "socks4", "socks4a", "ss", "ssh", "trojan", "vless", "vmess"})
"""Schemes that errors may name; any other word may be part of a password."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_HOST_NAME = r"(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]\"'<>,;|]+)"
_HOST = re.compile(_HOST_NAME)
_PROVIDERS_FORM = re.compile(rf"{_HOST_NAME}:(\d{{1,5}}):([^:]+):(.*)", re.DOTALL)
_USER_FIRST = re.compile(rf"([^:@]+):([^:@]+):{_HOST_NAME}:(\d{{1,5}})")
_QUOTED = re.compile(r"([\"'])(.*)\1,?", re.DOTALL)
_USUAL_HOST = re.compile(r"\[.*\]|.*\..*|localhost", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BLANKS = " \t\r\n\ufeff\u200b\xa0"


class ProxyAttributes(NamedTuple):
    """Default attributes for the proxies of a list."""

    provider: str = ""
    kind: str = ""
    country: str = ""


NO_ATTRIBUTES = ProxyAttributes()


class _Address(NamedTuple):
    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""


def read_proxies(
    lines: Iterable[str],
    source: str,
    env: Mapping[str, str],
    defaults: ProxyAttributes = NO_ATTRIBUTES,
    *,
    unit: str = "line",
) -> list[Proxy]:
    """Parse the proxies of a list, whose parts are called ``unit``.

    Empty lines and comments after ``#`` are skipped. ``${NAME}`` stands for a variable of ``env``. Raises
    ``ValueError``, which names the wrong lines and the right form.
    """
    found: list[Proxy] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        text = re.sub(r"(^|\s)#.*", "", line.strip(_BLANKS)).strip()
        if not text:
            continue
        try:
            found.append(fill_in_variables(parse_proxy(text, defaults), env))
        except ValueError as error:
            problems.append(f"{source}, {unit} {number}: {error}")
    if problems:
        more = len(problems) - MAX_PROBLEMS
        shown = [*problems[:MAX_PROBLEMS], *([f"and {more:,} more"] if more > 0 else [])]
        raise ValueError(f"{'; '.join(shown)}. Write {FORMS}")
    if not found:
        raise ValueError(f"{source} names no proxy. Write one on each line: {FORMS}")
    return found


def parse_proxy(text: str, defaults: ProxyAttributes = NO_ATTRIBUTES) -> Proxy:
    """The proxy that a line names; ``${NAME}`` stays as it is. Raises ``ValueError``."""
    text = text.strip(_BLANKS)
    quoted = _QUOTED.fullmatch(text)
    where, *said = (text if quoted is None else quoted[2]).split() or [""]
    address = _parse_address(where)
    attributes = defaults._replace(**dict(_parse_attributes(said)))
    return Proxy(
        scheme=address.scheme,
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password,
        provider=attributes.provider,
        kind=attributes.kind,
        country=attributes.country,
    )


def fill_in_variables(proxy: Proxy, env: Mapping[str, str]) -> Proxy:
    """The same with the values of variables. Raises ``ValueError``, which names one that is not set."""
    filled = {name: fill_in(getattr(proxy, name), env) for name in ("host", "user", "password")}
    return replace(proxy, **filled)


def fill_in(text: str, env: Mapping[str, str]) -> str:
    """A text with the values of its variables. Raises ``ValueError``, which names one that is not set."""

    def value_of(match: re.Match[str]) -> str:
        value = env.get(match[1])
        if not value:
            named = f" {match[1]!r}" if _VARIABLE_NAME.fullmatch(match[1]) else ""
            raise ValueError(f"the environment variable{named} is not set")
        return value

    return _VARIABLE.sub(value_of, text)


def _parse_address(text: str) -> _Address:
    scheme, slashes, rest = text.partition("://")
    if not slashes or (not _SCHEME.fullmatch(scheme) and _PROVIDERS_FORM.fullmatch(text)):
        return _parse_bare(text)
    known = _SCHEMES.get(scheme.lower())
    if known is None:
        raise ValueError(
            "a proxy is spoken to by http, https or socks5, and by no other protocol"
            + (f" (not by {scheme})" if scheme.lower() in _OTHER_SCHEMES else "")
        )
    user_info, _, place = rest.rpartition("@")
    given = None if _is_place(place) else _parse_providers_form(rest)
    if given is not None:
        return given._replace(scheme=known)
    user, _, password = user_info.partition(":")
    host, port = _parse_place(place.removesuffix("/"))
    return _Address(known, host, port, unquote(user), unquote(password))


def _parse_bare(text: str) -> _Address:
    """``HOST:PORT``, or with user and password before or behind it, spoken to by HTTP."""
    if given := _parse_providers_form(text) or _parse_other_order(text):
        return given
    user_info, at, place = text.rpartition("@")
    if at and "//" not in user_info.partition(":")[0]:  # a scheme that lacks its colon
        user, _, password = user_info.partition(":")
        return _Address("http", *_parse_place(place), user, password)
    host = _HOST.match(text)
    if host is None or text[host.end() :].count(":") != 1 or text[host.end()] != ":":
        raise ValueError("that is not a proxy")
    return _Address("http", *_parse_place(text))


def _parse_providers_form(text: str) -> _Address | None:
    """``HOST:PORT:USER:PASSWORD``, where user and password may have ``@``; ``None`` for another form.

    If ``USER:PASSWORD@HOST:PORT`` also matches, this form wins when the text begins like a host.
    """
    found = _PROVIDERS_FORM.fullmatch(text)
    if found is None:
        return None
    is_other = "@" in text and _is_place(text.rpartition("@")[2])
    if is_other and not _USUAL_HOST.fullmatch(found[1]):
        return None
    return _Address("http", *_parse_place(f"{found[1]}:{found[2]}"), found[3], found[4])


def _parse_other_order(text: str) -> _Address | None:
    """``HOST:PORT@USER:PASSWORD`` or ``USER:PASSWORD:HOST:PORT``, where the host can be nothing else."""
    place, at, user_info = text.partition("@")
    user, colon, password = user_info.partition(":")
    end = user_info.rpartition("@")[2]
    if at and colon and user and _is_usual_place(place) and not _is_usual_place(end):
        return _Address("http", *_parse_place(place), user, password)
    found = _USER_FIRST.fullmatch(text)
    if found is None or not _is_usual_place(f"{found[3]}:{found[4]}"):
        return None
    return _Address("http", *_parse_place(f"{found[3]}:{found[4]}"), found[1], found[2])


def _is_usual_place(text: str) -> bool:
    return _is_place(text) and _USUAL_HOST.fullmatch(text.rpartition(":")[0]) is not None


def _is_place(text: str) -> bool:
    try:
        _parse_place(text.removesuffix("/"))
    except ValueError:
        return False
    return True


def _parse_place(text: str) -> tuple[str, int]:
    match = _HOST.match(text)
    if match is None:
        raise ValueError("a proxy has no host")
    colon, port = text[match.end() : match.end() + 1], text[match.end() + 1 :]
    if not colon or not port:
        raise ValueError("a proxy has no port")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536 and len(port) <= 5):
        raise ValueError("the port of a proxy is a number from 1 to 65535")
    return match[0].strip("[]").lower() if "$" not in match[0] else match[0], int(port)


def _parse_attributes(said: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in said:
        name, equals, value = word.partition("=")
        if not equals or name not in ProxyAttributes._fields:
            raise ValueError("after a proxy come provider=NAME, kind=KIND and country=CODE, and nothing else")
        value = value if name == "provider" else value.lower()
        if name == "kind" and value not in PROXY_KINDS:
            raise ValueError(f"the kind of a proxy is one of {', '.join(PROXY_KINDS)}")
        if name == "country" and not re.fullmatch(r"[a-z]{2}", value):
            raise ValueError("the country of a proxy is a code of two letters, such as de")
        if name == "provider" and not _NAME.fullmatch(value):
            raise ValueError("the name of a provider has letters, digits, dots, dashes and underscores")
        yield name, value
