"""Looks into the robots.txt files that are remembered. No host is asked for one."""

from __future__ import annotations

import contextlib

import msgspec

from gossamer.fetch.robots_cache import SPACE
from gossamer.policy import urls
from gossamer.policy.robots import RobotsRecord, RobotsRules
from gossamer.wiring.backends import Backends


async def robots_deny(backends: Backends, url: str) -> bool:
    """Whether the robots.txt of a URL's site, where it is remembered, refuses it."""
    if not backends.settings.robots:
        return False
    stored = await backends.requests.shared.get(SPACE, urls.origin_of(url))
    try:
        record = msgspec.msgpack.decode(stored or b"", type=RobotsRecord)
    except msgspec.DecodeError:
        return False
    return record.text != "" and not RobotsRules(record).may_fetch(url, backends.settings.user_agent)


async def find_robots(backends: Backends, host: str) -> RobotsRecord | None:
    """Return the remembered robots.txt of a host (a politeness key); ``None``: none is remembered."""
    for scheme in ("https", "http"):
        stored = await backends.requests.shared.get(SPACE, f"{scheme}://{host}")
        if stored:
            with contextlib.suppress(msgspec.DecodeError):
                return msgspec.msgpack.decode(stored, type=RobotsRecord)
    return None
