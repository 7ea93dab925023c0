"""Browser profiles to impersonate: their names, and the headers of each.

wreq knows a browser's TLS, HTTP/2 and headers, but does not expose the headers, and sends the same ones
everywhere. So they are read once from a local socket and sent by the browser's rules: ``sec-...`` only over
TLS, ``priority`` and ``te`` not over every version of HTTP, cookies and referrers in their places.
"""

from __future__ import annotations

import asyncio
import difflib
import platform as machine
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

import wreq

from gossamer.core.errors import SettingError

Field = tuple[str, str]

FAMILIES = ("chrome", "edge", "opera", "firefox", "safari", "okhttp")
PLATFORMS = {
    "windows": wreq.Platform.Windows,
    "macos": wreq.Platform.MacOS,
    "linux": wreq.Platform.Linux,
    "android": wreq.Platform.Android,
    "ios": wreq.Platform.IOS,
}
_NAME = re.compile(r"([A-Za-z]+?)(private|android|ios|ipad)?([0-9][0-9_]*)", re.IGNORECASE)
_OWN_PLATFORM = {"Darwin": "macos", "Windows": "windows"}
_LEARNING_S = 5.0
_PLAIN_CODINGS = "gzip, deflate"
_TLS_ONLY = re.compile(r"sec-").match
_HTTP2_ONLY = {"firefox": frozenset({"te"})}
_KEPT_LOWER = re.compile(r"sec-ch-").match


@dataclass(frozen=True)
class BrowserProfile:
    """One browser in one version on one platform."""

    name: str  # as people write it: ``chrome154``, ``safari_ios26.2``
    platform: str
    member: wreq.Profile = field(repr=False, compare=False)

    @property
    def family(self) -> str:
        """``chrome``, ``firefox``, ..."""
        return next(family for family in FAMILIES if self.name.startswith(family))

    def emulation(self, *, headers: bool = False) -> wreq.Emulation:
        """Return options for wreq; without ``headers`` it sends the given headers alone."""
        return wreq.Emulation(profile=self.member, platform=PLATFORMS[self.platform], headers=headers)

    def order_fields(self, fields: Sequence[Field], *, is_tls: bool, is_http1: bool) -> list[Field]:
        """Return the header as this browser would send it: in its order, without fields it would not send."""
        family, kept = self.family, []
        for name, value in fields:
            key = name.lower()
            if not is_tls and (_TLS_ONLY(key) or key == "accept-encoding"):
                if key == "accept-encoding":
                    kept.append((name, _PLAIN_CODINGS))
                continue
            if is_http1 and key in _HTTP2_ONLY.get(family, ("priority",)):
                continue
            kept.append((name, value))
        if is_http1 and not any(name.lower() == "connection" for name, _ in kept):
            kept.append(("Connection", "keep-alive"))
        return sorted(kept, key=lambda field: self._place_of(field[0].lower(), is_http1=is_http1))

    def _place_of(self, name: str, *, is_http1: bool) -> int:
        order = _ORDERS.get(self.family, _ORDERS["chrome"])
        if name == "cookie" and (not is_http1 or self.family != "firefox"):
            return len(order) + 1  # after what only this request says
        return order.get(name, len(order))


def _order_of(names: str) -> dict[str, int]:
    return {name: place for place, name in enumerate(names.split())}


_ORDERS = {
    "chrome": _order_of(
        "host connection content-length cache-control sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform origin "
        "content-type upgrade-insecure-requests user-agent accept sec-fetch-site sec-fetch-mode "
        "sec-fetch-user sec-fetch-dest referer accept-encoding accept-language priority"
    ),
    "firefox": _order_of(
        "host user-agent accept accept-language accept-encoding content-type content-length origin "
        "connection referer cookie upgrade-insecure-requests sec-fetch-dest sec-fetch-mode sec-fetch-site "
        "sec-fetch-user priority te"
    ),
    "safari": _order_of(
        "host sec-fetch-dest user-agent accept sec-fetch-site sec-fetch-mode accept-language priority "
        "accept-encoding connection"
    ),
    "okhttp": _order_of("accept accept-language user-agent host connection accept-encoding"),
}


def wire_name(name: str, family: str) -> str:
    """Return a header's name as browsers write it over HTTP/1.1."""
    key = name.lower()
    if _KEPT_LOWER(key) and family != "safari":
        return key
    return "TE" if key == "te" else "-".join(part.capitalize() for part in key.split("-"))


@cache
def _profile_members() -> dict[str, tuple[str, tuple[int, ...], wreq.Profile]]:
    """Return profiles by the name that people write: family with its variant, version, wreq's member."""
    members = {}
    for text in dir(wreq.Profile):
        match = _NAME.fullmatch(text)
        if match is None:
            continue
        family, variant, digits = match[1].lower(), (match[2] or "").lower(), match[3].strip("_")
        kind = f"{family}_{variant}" if variant else family
        version = tuple(map(int, digits.split("_")))
        members[kind + ".".join(map(str, version))] = (kind, version, getattr(wreq.Profile, text))
    return members


def profile_names() -> list[str]:
    """Every name of a profile, the newest of each browser under the browser's own name first."""
    members = _profile_members()
    return [*sorted({kind for kind, _, _ in members.values()}), *sorted(members)]


@cache
def find_profile(text: str, platform: str = "") -> BrowserProfile:
    """Return the profile of a name such as ``chrome`` (the newest), ``Firefox152``, ``safari_ios-26.2``.

    ``platform`` is one of :data:`PLATFORMS`; empty: this machine's if the browser runs on it. Raises
    ``SettingError`` for an unknown name, or a platform that the browser does not run on.
    """
    wanted = _plain_name(text)
    members = _profile_members()
    newest = sorted(members.items(), key=lambda item: item[1][1])
    by_plain = {_plain_name(kind): name for name, (kind, _, _) in newest}
    by_plain |= {_plain_name(name): name for name in members}
    if wanted not in by_plain:
        near = difflib.get_close_matches(wanted, by_plain, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(FAMILIES)}"
        raise SettingError(f"unknown browser profile {text!r}; {hint}")
    name = by_plain[wanted]
    kind, _, member = members[name]
    possible = _platforms_of(kind)
    if platform and platform not in possible:
        raise SettingError(
            f"the browser profile {name!r} does not run on {platform!r}; use {' or '.join(possible)}"
        )
    own = _OWN_PLATFORM.get(machine.system(), "linux")
    return BrowserProfile(name, platform or (own if own in possible else possible[0]), member)


def _plain_name(text: str) -> str:
    return re.sub(r"[\s._-]", "", text.lower())


def _platforms_of(kind: str) -> tuple[str, ...]:
    """Return the platforms of a browser, the usual one first."""
    family, _, variant = kind.partition("_")
    if variant in ("ios", "ipad"):
        return ("ios",)
    if family == "safari":
        return ("macos",)
    if family == "okhttp" or variant == "android":
        return ("android",)
    if family == "opera":
        return ("windows", "macos")
    return ("windows", "macos", "linux", "android") if family == "chrome" else ("windows", "macos", "linux")


async def learn_headers(profile: BrowserProfile) -> tuple[Field, ...]:
    """Return the fields that the browser sends with every page request, in its order. Raises ``OSError``."""
    head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            head.set_result(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        client = wreq.Client(emulation=profile.emulation(headers=True), no_proxy=True)
        async with asyncio.timeout(_LEARNING_S):
            await client.request(wreq.Method.GET, f"http://127.0.0.1:{port}/")
            lines = (await head).decode("latin-1").split("\r\n")[1:-2]
    fields = (line.partition(": ") for line in lines)
    return tuple((name, value) for name, _, value in fields if name.lower() != "host")
