"""Which proxies are worth their money."""

from __future__ import annotations

from gossamer.queries import proxies
from gossamer.queries.proxies import ProxyListing
from gossamer.web.parts import Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Proxies")
FRESH_S = 10.0
"""Seconds for which an answer stands: lists of proxies may be files, or come from a provider."""


@ROUTES.read("/proxies", answer=ProxyListing, topic="proxies", every_s=FRESH_S, fresh_s=FRESH_S)
async def list_proxies(parts: Parts) -> ProxyListing:
    """How the proxies do that the settings of the dashboard list; they are shown without credentials."""
    return await proxies.show_proxies(parts.settings, parts.backends)
