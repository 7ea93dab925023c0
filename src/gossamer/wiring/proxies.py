"""The proxies that the settings name: read from where they are listed, and pooled for a crawl."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from gossamer.config.proxies import ProviderSettings, ProxyListSettings, ProxySettings
from gossamer.config.settings import Settings
from gossamer.config.values import secrets_in
from gossamer.core.errors import FetchError, MissingServiceError, SettingError
from gossamer.core.redaction import shown_server
from gossamer.core.requests import Request
from gossamer.core.routes import Proxy
from gossamer.fetch.guard import AddressGuard, place_of
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.routing.proxy_health import SharedProxyHealth, read_records
from gossamer.policy.credentials import authorizations_for
from gossamer.policy.proxies import ProxyHealth, QuarantineRules
from gossamer.policy.proxy_list import ProxyAttributes, fill_in, read_proxies
from gossamer.policy.proxy_rotation import RotationOrder
from gossamer.policy.urls import canonicalise_url
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.shared_state import SharedState
from gossamer.ports.sink import Sink
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.wiring.fetchers import fetcher_of, touches_network

MAX_LIST_BYTES = 16 * 1024 * 1024


async def open_proxy_pool(
    settings: Settings, shared: SharedState, clock: Clock, sink: Sink | None, *, is_alone: bool = False
) -> ProxyPool | None:
    """Open the proxies of a crawl, ``None`` if the settings name none.

    Raises ``SettingError`` for an invalid list, ``MissingServiceError`` for one that cannot be fetched.
    """
    wanted = settings.proxies
    if not (wanted.are_there and touches_network(settings)):
        return None
    reader = ProxyReader(settings, clock)
    return ProxyPool(
        await reader.read(),
        shared,
        clock,
        order=RotationOrder(wanted.rotation),
        rules=QuarantineRules(
            block_s={str(kind): length_s for kind, length_s in wanted.block_quarantine.items()},
            failure_s={str(kind): length_s for kind, length_s in wanted.failure_quarantine.items()},
            max_s=wanted.max_quarantine,
        ),
        sink=sink,
        read_list=reader.read if reader.may_change else None,
        refresh_s=wanted.refresh,
        start=int.from_bytes(os.urandom(4), "big"),  # workers do not all begin with the same one
        is_alone=is_alone,
    )


async def read_listed(settings: Settings, clock: Clock) -> tuple[Proxy, ...]:
    """Read the proxies that the settings list. Raises as :func:`open_proxy_pool` does."""
    return await ProxyReader(settings, clock).read()


async def read_proxy_health(shared: SharedState, proxies: Sequence[Proxy]) -> list[ProxyHealth]:
    """Return the health of each proxy. Raises ``StorageError``."""
    return await read_records(shared, [proxy.name for proxy in proxies])


async def change_proxy_health(
    shared: SharedState, clock: Clock, name: str, change: Callable[[ProxyHealth], ProxyHealth]
) -> ProxyHealth:
    """Change the health of a proxy for all workers at once. Raises ``StorageError``."""
    return await SharedProxyHealth(shared, clock).change(name, change)


def open_trial_fetcher(settings: Settings, host: str, clock: Clock) -> Fetcher:
    """Return a fetcher for a host that the operator named, over plain HTTP."""
    return fetcher_of(settings, AddressGuard((host,)), clock)


class ProxyReader:
    """Reads every list of proxies that the settings name."""

    def __init__(self, settings: Settings, clock: Clock, env: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._clock = clock
        self._env = env

    @property
    def may_change(self) -> bool:
        """Whether it is of use to read again."""
        return any(source.file or source.url for _, _, source in self._settings.proxies.list_sources())

    async def read(self) -> tuple[Proxy, ...]:
        """Read the proxies to use, each once. Raises ``SettingError`` and ``MissingServiceError``."""
        found: list[Proxy] = []
        for place, provider, source in self._settings.proxies.list_sources():
            defaults = _defaults_of(provider, source)
            for lines, name in await self._read_lists(place, source):
                unit = "entry" if lines is source.urls else "line"
                try:
                    found += read_proxies(lines, name, self._env, defaults, unit=unit)
                except ValueError as error:
                    raise SettingError(str(error)) from None
        if not found:  # each list that is read has one at least
            places = " and ".join(place for place, _, _ in self._settings.proxies.list_sources())
            raise SettingError(f"{places} names no list of proxies: set urls, file or url there")
        remember_secrets(proxy.password for proxy in found if proxy.password)
        chosen = _select(_number_passwords(found), self._settings.proxies)
        return tuple({proxy.name: proxy for proxy in chosen}.values())

    async def _read_lists(self, place: str, source: ProxyListSettings) -> list[tuple[Sequence[str], str]]:
        """Read the lines of each list of a place, with its name for errors."""
        lists: list[tuple[Sequence[str], str]] = []
        if source.urls:
            lists.append((source.urls, f"{place}.urls"))
        if source.file is not None:
            lists.append((await asyncio.to_thread(_read_lines, source.file, f"{place}.file"), source.file))
        if source.url is not None:
            lists.append((await self._fetch_lines(source.url, f"{place}.url"), shown_server(source.url)))
        return lists

    async def _fetch_lines(self, template: str, setting: str) -> list[str]:
        try:
            url = fill_in(template, self._env)
        except ValueError as error:
            raise SettingError(f"{setting}: {error}") from None
        remember_secrets(secrets_in(setting, url))
        canonical = canonicalise_url(url)
        if canonical is None:
            raise SettingError(f"{setting} is not a URL ({shown_server(url)})")
        guard = AddressGuard((place_of(canonical),))
        fetcher = fetcher_of(self._settings, guard, self._clock, authorizations=authorizations_for([url]))
        try:
            fetched = await fetcher.fetch(Request(canonical))
        except FetchError as error:
            raise MissingServiceError(
                f"the list of proxies at {shown_server(url)} ({setting}) cannot be fetched: {error.fault}"
            ) from None
        finally:
            await fetcher.close()
        if fetched.status != 200 or len(fetched.body) > MAX_LIST_BYTES:
            raise MissingServiceError(
                f"the list of proxies at {shown_server(url)} ({setting}) cannot be read: its answer has the "
                f"status {fetched.status} and {len(fetched.body):,} bytes"
            )
        return fetched.body.decode("utf-8-sig", "replace").splitlines()


def _defaults_of(provider: str, source: ProxyListSettings) -> ProxyAttributes:
    if isinstance(source, ProviderSettings):
        return ProxyAttributes(provider, source.kind, source.country)
    return ProxyAttributes(provider)


def _read_lines(file: str, setting: str) -> list[str]:
    try:
        return Path(file).expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingError(f"the list of proxies {file} ({setting}) cannot be read: {reason}") from None


def _number_passwords(proxies: Sequence[Proxy]) -> Sequence[Proxy]:
    """Proxies with names of their own where only the password tells them apart."""
    numbers: dict[str, dict[str, int]] = {}  # by name: the passwords, as they come
    numbered = []
    for proxy in proxies:
        passwords = numbers.setdefault(proxy.name, {})
        number = passwords.setdefault(proxy.password, len(passwords) + 1)
        numbered.append(replace(proxy, number=number) if number > 1 and proxy.user else proxy)
    return numbered


def _select(proxies: Sequence[Proxy], wanted: ProxySettings) -> Sequence[Proxy]:
    """Those that the settings allow. Raises ``SettingError`` when that is none."""
    chosen = [proxy for proxy in proxies if not wanted.country or proxy.country == wanted.country]
    if not chosen:
        raise SettingError(
            f"proxies.country = {wanted.country!r}, but no proxy that is listed says country={wanted.country}"
        )
    if not wanted.only:
        return chosen
    only = [proxy for proxy in chosen if not set(wanted.only).isdisjoint(_words_for(proxy))]
    if not only:
        known = dict.fromkeys(proxy.provider or proxy.name for proxy in chosen)
        raise SettingError(
            f"proxies.only = {', '.join(wanted.only)}, but no proxy is called so; there are "
            f"{', '.join(list(known)[:10])}{' and others' if len(known) > 10 else ''}"
        )
    return only


def _words_for(proxy: Proxy) -> Iterator[str]:
    """Yield the names that a proxy answers to."""
    yield proxy.name
    yield proxy.name.partition("#")[0]
    yield proxy.name.partition("#")[0].partition("://")[2]
    if proxy.provider:
        yield proxy.provider
