"""The clients of wreq: one for each host, its checked addresses, its proxy and its browser profile.

A client connects to its fixed addresses and resolves nothing, so only addresses that passed the guard are
used. wreq's threads start with the first client, in the process that fetches.
"""

from __future__ import annotations

import datetime
import os
import ssl
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import wreq

from gossamer.core.errors import SettingError
from gossamer.core.routes import Proxy
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.profiles import BrowserProfile
from gossamer.fetch.machine import max_idle_connections, open_files_allowed

MAX_THREADS = 4
MAX_IDLE_PER_HOST = 32
MAX_FIELDS = 16_000
"""Fields of a header. wreq's table of them holds 24,576, and more would abort the process."""
_PROXY_SCHEMES = {"socks5": "socks5h"}  # names are the proxy's to look up


class ClientKey(NamedTuple):
    """The values that requests must share to share connections."""

    host: str
    proxy: Proxy | None
    profile: BrowserProfile
    is_forwarded: bool = False  # by an HTTP proxy, which reads each request: it may have one for a connection
    is_http1_only: bool = False  # the origin has refused HTTP/2


class HostClient:
    """A client for one host, with the state of its connections in ``is_http1`` and ``last_heard_at``."""

    __slots__ = ("addresses", "client", "is_http1", "last_heard_at")

    def __init__(self, client: wreq.Client, addresses: frozenset[str], *, is_http1: bool = False) -> None:
        self.client = client
        self.addresses = addresses
        self.is_http1 = is_http1  # it has answered, and not by HTTP/2; or it may not be asked by that
        self.last_heard_at = float("-inf")  # the loop's time of the latest answer


class ClientPool:
    """Clients by key; the least recently used are dropped.

    ``authorities`` (PEM) replace the system's certificate authorities.
    """

    def __init__(self, options: HttpOptions, authorities: bytes | None = None) -> None:
        self._options = options
        self._authorities = authorities
        self._clients: OrderedDict[ClientKey, HostClient] = OrderedDict()
        self._max_clients = max_idle_connections(open_files_allowed()[0])
        self._shared: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<ClientPool of {len(self._clients)} clients>"

    def client_for(self, key: ClientKey, addresses: Mapping[str, Sequence[str]]) -> HostClient:
        """Return the client; ``addresses`` are those of the host, or of the proxy, by name."""
        found = self._clients.get(key)
        allowed = frozenset(address for numbers in addresses.values() for address in numbers)
        if found is not None and found.addresses <= allowed:
            self._clients.move_to_end(key)
            return found
        made = HostClient(self._make_client(key, addresses), allowed, is_http1=key.is_http1_only)
        self._clients[key] = made
        self._clients.move_to_end(key)
        while len(self._clients) > self._max_clients:
            self._clients.popitem(last=False)  # requests in flight keep a reference
        return made

    def forget_client(self, key: ClientKey) -> None:
        """Stop using a client's connections."""
        self._clients.pop(key, None)

    def close(self) -> None:
        """Close all connections. Idempotent."""
        for found in self._clients.values():
            found.client.close()
        self._clients.clear()
        self._shared.clear()

    def _make_client(self, key: ClientKey, addresses: Mapping[str, Sequence[str]]) -> wreq.Client:
        if not self._shared:
            self._shared = self._shared_parts()
        is_checked = _is_checked(key, self._options.insecure_hosts)
        names = wreq.DnsOptions(system_dns=True)
        for name, numbers in addresses.items():
            names.add_resolve(name.rstrip("."), [ip_address(number) for number in numbers])
            names.add_resolve(name, [ip_address(number) for number in numbers])
        return wreq.Client(
            **self._shared["fixed"],
            emulation=key.profile.emulation(),
            dns_options=names,
            tls_verify=self._shared["authorities"] if is_checked else False,
            tls_verify_hostname=is_checked,
            http1_only=key.is_http1_only,
            pool_max_idle_per_host=0 if key.is_forwarded else MAX_IDLE_PER_HOST,
            **_proxy_parts(key.proxy),
        )

    def _shared_parts(self) -> dict[str, Any]:
        """Return the options that all clients share: threads, authorities, bounds."""
        options = self._options
        threads = wreq.Runtime(workers=min(os.cpu_count() or 1, MAX_THREADS), thread_name="gossamer-wreq")
        fixed = {
            "runtime": threads,
            "redirect": wreq.redirect.Policy.none(),
            "referer": False,
            "connect_timeout": datetime.timedelta(seconds=options.connect_s),
            "pool_idle_timeout": datetime.timedelta(seconds=options.keepalive_s),
            "http1_options": wreq.Http1Options(
                max_headers=MAX_FIELDS,
                max_buf_size=options.max_head_bytes,
                ignore_invalid_headers_in_responses=True,
                allow_spaces_after_header_name_in_responses=True,
                allow_obsolete_multiline_headers_in_responses=True,
            ),
            **dict.fromkeys(("gzip", "brotli", "deflate", "zstd"), False),  # bodies as they come
        }
        return {"fixed": fixed, "authorities": _load_authorities(self._authorities)}


def _is_checked(key: ClientKey, insecure_hosts: frozenset[str]) -> bool:
    """Return whether certificates are checked. wreq checks those of the host and its proxy, or neither."""
    is_insecure, proxy = key.host in insecure_hosts, key.proxy
    if proxy is None or proxy.scheme != "https" or proxy.host in insecure_hosts:
        return not is_insecure
    if is_insecure and not key.is_forwarded:
        raise SettingError(
            f"http.insecure_hosts has {key.host}: the rung impersonate would not check the certificate of "
            f"the proxy {proxy.name} either, which gets the password; fetch it by another rung or proxy, "
            f"or add {proxy.host} to http.insecure_hosts"
        )
    return True  # forwarded requests see only the proxy's certificate


def _proxy_parts(proxy: Proxy | None) -> dict[str, Any]:
    if proxy is None:
        return {"no_proxy": True}
    host = f"[{proxy.host}]" if ":" in proxy.host else proxy.host
    url = f"{_PROXY_SCHEMES.get(proxy.scheme, proxy.scheme)}://{host}:{proxy.port}"
    if not proxy.user:
        return {"proxies": [wreq.Proxy.all(url)]}
    return {"proxies": [wreq.Proxy.all(url, username=proxy.user, password=proxy.password)]}


def _load_authorities(given: bytes | None) -> wreq.CertStore:
    """Load the authorities of Python's own TLS: a file, and a folder of files named by hash."""
    if given is not None:
        return wreq.CertStore.from_pem_stack(given)
    paths = ssl.get_default_verify_paths()
    files = [Path(paths.cafile)] if paths.cafile else []
    files += [file for file in sorted(Path(paths.capath or "/nowhere").glob("*.[0-9]")) if file.is_file()]
    if not files:
        return wreq.CertStore(default_paths=True)
    return wreq.CertStore.from_pem_stack(b"\n".join(file.read_bytes() for file in files))
