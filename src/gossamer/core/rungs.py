"""The names of rungs: a way to fetch, and ``+kind`` where it goes through a kind of proxy."""

from __future__ import annotations

import difflib
from functools import lru_cache

from gossamer.core.errors import UsageError

WAYS = ("http", "impersonate", "browser", "gateway")
"""The ways to fetch that a rung may name, from the cheapest to the most expensive."""
SCRIPTLESS_WAYS = ("http", "impersonate")
"""The ways that never run the scripts of a page."""
BROWSER_WAY = "browser"
"""The way that has a lane of its own on fleets that want it."""
PROXY_KINDS = ("datacenter", "residential", "mobile")
GATEWAY_WAY = "gateway"
"""The way through a paid API, whose name follows a colon, and through its proxies."""
AUTO = "auto"
"""In the place of a rung: the ladder decides."""


def way_of(rung: str) -> str:
    """A rung without its kind of proxy: ``browser``, ``gateway:NAME``."""
    return rung.partition("+")[0]


def kind_of(rung: str) -> str:
    """The kind of proxy that a rung names; empty for none."""
    return rung.partition("+")[2]


def explain_missing_proxies(rung: str) -> str:
    """Explain why a rung that names a kind of proxy needs proxies."""
    return f"the rung {rung} needs a {kind_of(rung)} proxy, and the settings name no proxies: see `proxies`"


def check_rung(name: str) -> None:
    """Raise ``UsageError`` unless the name is a rung or ``auto``."""
    if name != AUTO and (why := explain_wrong_rung(name)):
        raise UsageError(f"fetch={why}")


@lru_cache(maxsize=1000)
def explain_wrong_rung(name: str) -> str:
    """Why this is not the name of a rung, with the nearest one that is; empty for one that is."""
    base, plus, kind = name.partition("+")
    way, colon, gateway = base.partition(":")
    if way in WAYS and (not colon or (way == "gateway" and gateway)) and (not plus or kind in PROXY_KINDS):
        return ""
    if colon and way != "gateway":
        way = base
    near_way = _find_nearest(way, WAYS)
    near_kind = _find_nearest(kind, PROXY_KINDS) if plus else ""
    if way in WAYS and plus and kind not in PROXY_KINDS:
        hint = f"; did you mean {f'{base}+{near_kind}'!r}?" if near_kind else ""
        return f"{name!r} names no kind of proxy ({', '.join(PROXY_KINDS)}){hint}"
    hint = f"; did you mean {near_way!r}?" if near_way else ""
    return f"{name!r} is not a rung ({', '.join(WAYS)}){hint}"


def _find_nearest(word: str, words: tuple[str, ...]) -> str:
    return next(iter(difflib.get_close_matches(word, words, n=1)), "")
