"""Real proxies that ask for a user and a password: tinyproxy, Squid and microsocks."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gossamer.core.routes import Proxy
from kit.server_process import Process, program, said

USER, PASSWORD = "canary-user", "canary-password"
"""The admitted user. Neither value may show anywhere."""


class ProxyProcess(Process):
    """A proxy on a free port."""

    scheme = "http"

    def proxy(self, user: str = USER, password: str = PASSWORD) -> Proxy:
        """How to reach it."""
        return Proxy(scheme=self.scheme, host="127.0.0.1", port=self.port, user=user, password=password)

    def url(self, user: str = USER, password: str = PASSWORD) -> str:
        """The same as one writes it."""
        return f"{self.scheme}://{user}:{password}@127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """Whether it asks who we are."""
        return self.is_running and b" 407 " in said(self.port, b"GET http://x.invalid/ HTTP/1.0\r\n\r\n")

    def _write(self, name: str, *lines: str) -> str:
        path = self.folder / name
        path.write_text("\n".join([*lines, ""]))
        path.chmod(0o644)
        return str(path)


class TinyproxyProcess(ProxyProcess):
    """An HTTP proxy that closes every connection after one answer."""

    name = "tinyproxy"

    def __init__(self) -> None:
        self._binary = program("tinyproxy", "tinyproxy-bin")
        super().__init__()

    def command(self) -> Sequence[str]:
        """Each try has a port of its own, and so a file of its own."""
        lines = [f"Port {self.port}", "Listen 127.0.0.1", f"BasicAuth {USER} {PASSWORD}", "Timeout 30"]
        return [self._binary, "-d", "-c", self._write("tinyproxy.conf", *lines, "LogLevel Error")]


class SquidProcess(ProxyProcess):
    """An HTTP proxy that keeps its connections, and caches nothing."""

    name = "squid"
    account = "proxy"

    def __init__(self) -> None:
        self._binary = program("squid", "squid")
        self._helper = "/usr/lib/squid/basic_ncsa_auth"
        super().__init__()

    def prepare(self) -> None:
        """The file of its users."""
        made = subprocess.run(
            ["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, text=True, capture_output=True, check=True
        )
        self._write("users", f"{USER}:{made.stdout.strip()}")

    def command(self) -> Sequence[str]:
        """Each try has a port of its own, and so a file of its own."""
        lines = [
            f"http_port 127.0.0.1:{self.port}",
            f"auth_param basic program {self._helper} {self.folder}/users",
            "auth_param basic children 1 startup=1",
            "acl known proxy_auth REQUIRED",
            "http_access allow known",
            "http_access deny all",
            "cache deny all",
            "cache_mem 0 MB",
            "access_log none",
            f"cache_log {self.folder}/cache.log",
            f"coredump_dir {self.folder}",
            "pid_filename none",
            "pinger_enable off",
            "visible_hostname squid.test",
            "connect_timeout 5 seconds",
            "shutdown_lifetime 0 seconds",
            "max_filedescriptors 1024",
            "retry_on_error off",
        ]
        return [self._binary, "-N", "-f", self._write("squid.conf", *lines)]

    @property
    def cache_log(self) -> Path:
        """Its output once it is set up."""
        return self.folder / "cache.log"


class MicrosocksProcess(ProxyProcess):
    """A SOCKS5 proxy."""

    name = "microsocks"
    scheme = "socks5"

    def __init__(self) -> None:
        self._binary = program("microsocks", "microsocks")
        super().__init__()

    def command(self) -> Sequence[str]:
        """It knows nothing but options."""
        return [self._binary, "-i", "127.0.0.1", "-p", str(self.port), "-u", USER, "-P", PASSWORD]

    def answers(self) -> bool:
        """Return whether it refuses a client without a name."""
        return self.is_running and said(self.port, b"\5\1\0") == b"\5\xff"


PROXIES: dict[str, type[ProxyProcess]] = {
    kind.name: kind for kind in (TinyproxyProcess, SquidProcess, MicrosocksProcess)
}
"""Every kind by name."""
