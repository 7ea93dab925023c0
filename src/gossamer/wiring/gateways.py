"""The gateways that the settings name."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping

from msgspec.structs import replace

from gossamer.config.gateways import GatewaySettings
from gossamer.core.errors import FetchError, SettingError, UsageError
from gossamer.fetch.gateway.fetcher import GatewayFetcher
from gossamer.fetch.gateway.gateway import Gateway, GatewayAccount, NoCookieStore
from gossamer.fetch.gateway.rendering import PLACEHOLDERS, unknown_placeholders
from gossamer.fetch.gateway.template import ANY_METHOD, TEMPLATES, GatewayTemplate
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.target import parse_target
from gossamer.ports.fetcher import Fetcher
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.wiring.fetchers import FetchParts, http_options_of

_SAID = ("url", "method", "status", "content", "page_headers", "cost")
"""Settings that replace values of the template."""
_ENVELOPE_BYTES = 1_000_000
"""Bytes of a gateway's response besides the page, at most."""


def open_gateways(parts: FetchParts) -> Fetcher:
    """Open the fetcher of the way ``gateway``. Raises ``SettingError`` if the settings name no gateway."""
    if not parts.settings.gateways:
        raise SettingError(
            "the way to fetch 'gateway' needs a gateway: write a section [gateways.NAME], such as "
            '[gateways.scraperapi] with template = "scraperapi" and key_env = "SCRAPERAPI_KEY"'
        )

    def find_gateway(name: str) -> Gateway:
        account = account_of(parts.settings.gateways, name or next(iter(parts.settings.gateways)))
        return Gateway(account, _open_client(parts, account), parts.clock)

    # Only our own requests may reach private hosts that the operator named: a gateway would disclose them.
    return GatewayFetcher(
        find_gateway,
        clock=parts.clock,
        guard=AddressGuard(),
        cookies=parts.cookies,
        max_body_bytes=parts.settings.http.max_size_bytes,
    )


def account_of(gateways: Mapping[str, GatewaySettings], name: str) -> GatewayAccount:
    """Return a gateway by its name, with its key. Raises ``UsageError`` and ``SettingError``."""
    if name not in gateways:
        near = difflib.get_close_matches(name, gateways, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(gateways)}"
        raise UsageError(f"unknown gateway {name!r} among the settings; {hint}")
    said = gateways[name]
    template = _template_of(said)
    if wrong := unknown_placeholders(template, said.options):
        near = difflib.get_close_matches(wrong[0], PLACEHOLDERS, n=1)
        hint = f"did you mean {{{near[0]}}}?" if near else "give it a value among its options"
        raise SettingError(f"gateways.{name}: nothing has a value for {{{wrong[0]}}}; {hint}")
    try:
        parse_target(template.url.partition("?")[0])
    except FetchError as error:
        raise SettingError(f"gateways.{name}.url cannot be called: {error.detail}") from None
    if _needs_key(template) and not said.key_env:
        raise SettingError(f"gateways.{name}.key_env is not set: name the environment variable with its key")
    key = os.environ.get(said.key_env, "")
    remember_secrets([key])
    return GatewayAccount(
        name=name,
        template=template,
        key=key,
        key_env=said.key_env,
        price=said.price,
        options=said.options,
    )


def _template_of(said: GatewaySettings) -> GatewayTemplate:
    """Return the template, with the values that the settings replace."""
    if said.template == "own":
        sends_body = said.body is None
        methods = ANY_METHOD if "{method}" in f"{said.url}{said.method}{said.body}" else frozenset({"GET"})
        template = GatewayTemplate(url=said.url or "", sends_headers=sends_body, methods=methods)
    else:
        template = TEMPLATES[said.template]
    changes = {name: value for name in _SAID if (value := getattr(said, name)) is not None}
    if said.body is not None:
        changes["body"] = json.loads(said.body)
        changes.setdefault("method", "POST" if said.template == "own" else template.method)
    headers = {**template.headers, **said.headers}
    if template.body is not None or said.body is not None:
        headers.setdefault("Content-Type", "application/json")
    return replace(template, **changes, headers=headers, errors={**template.errors, **said.errors})


def _needs_key(template: GatewayTemplate) -> bool:
    told = f"{template.url} {json.dumps(template.headers)} {json.dumps(template.body)}"
    return "{key}" in told or "{key_basic}" in told


def _open_client(parts: FetchParts, account: GatewayAccount) -> Fetcher:
    """Return the client of a gateway: no cookies, no headers of the settings, and one trusted host."""
    manners = http_options_of(parts)
    options = HttpOptions(
        user_agent=manners.user_agent,
        connect_s=manners.connect_s,
        headers_s=parts.settings.gateways[account.name].timeout,
        idle_s=manners.idle_s,
        body_s=manners.body_s,
        max_body_bytes=manners.max_body_bytes * 4 // 3 + _ENVELOPE_BYTES,
        insecure_hosts=manners.insecure_hosts,
        tls=manners.tls,
    )
    host = parse_target(account.template.url.partition("?")[0]).origin.host
    return HttpFetcher(options, clock=parts.clock, guard=AddressGuard({host}), cookies=NoCookieStore())
