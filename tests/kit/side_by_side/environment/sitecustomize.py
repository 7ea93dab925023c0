"""Runs first in both runners' processes: all hosts lead to the made site, missing packages are empty stubs.

``MADE_SITE_PLAIN`` and ``MADE_SITE_TLS`` are the ports of the site. ``MADE_SITE_STUBS`` names the packages
that projects import but that pages and items do not need, such as drivers of databases.
"""

import importlib.abc
import importlib.machinery
import os
import socket
import sys
import time
import types

_PLAIN, _TLS = int(os.environ.get("MADE_SITE_PLAIN", "0")), int(os.environ.get("MADE_SITE_TLS", "0"))
_STUBS = set(filter(None, os.environ.get("MADE_SITE_STUBS", "").split(",")))
_PUBLIC = "93.184.215.14"  # what every name leads to; connections to it end on loopback
_UNKNOWN = (".invalid", "publicsuffix.org", "githubusercontent.com")  # tldextract has a list of its own
_REFUSED = {25, 465, 587, 1433, 3306, 5432, 5672, 6379, 9092, 9200, 11211, 27017}


def _redirect(address):
    if not isinstance(address, tuple) or not _PLAIN:
        return address
    host, port = address[0], address[1]
    if host in ("127.0.0.1", "::1") and port in (_PLAIN, _TLS):
        return address
    if port in _REFUSED or host in ("127.0.0.1", "::1"):  # what projects run beside their crawl is not here
        raise ConnectionRefusedError(f"no server at port {port}")
    return ("127.0.0.1", _TLS if port in (443, 8443) else _PLAIN)


def _getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002
    text = host.decode() if isinstance(host, bytes) else host
    if text is None or text in ("localhost", "127.0.0.1"):
        return _found(text, port, family, type, proto, flags)
    return _found(_gethostbyname(text), port, 0, type, proto, 0)


def _gethostbyname(host):
    if host.endswith(_UNKNOWN):
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    return _PUBLIC


_found = socket.getaddrinfo
_connect, _connect_ex = socket.socket.connect, socket.socket.connect_ex


def _connect_here(sock, address):
    return _connect(sock, _redirect(address) if sock.family != socket.AF_UNIX else address)


def _try_here(sock, address):
    try:
        return _connect_ex(sock, _redirect(address) if sock.family != socket.AF_UNIX else address)
    except ConnectionRefusedError as error:
        return error.errno or 111


if _PLAIN:
    socket.socket.connect, socket.socket.connect_ex = _connect_here, _try_here
    socket.getaddrinfo = _getaddrinfo
    socket.gethostbyname = _gethostbyname

_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(seconds, 0.01))


_TEXTS = {"random": "made/1.0", "chrome": "made/1.0", "__qualname__": "stub", "__name__": "stub"}
"""Attributes that must be texts: names of browsers, of functions."""


class _StubMeta(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _make_stub(name)

    def __iter__(cls):
        return iter(())


class Stub(metaclass=_StubMeta):
    """Takes every call and gives nothing."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name in _TEXTS:
            return _TEXTS[name]
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub()

    def __call__(self, *args, **kwargs):
        return Stub()

    def __getitem__(self, key):
        return Stub()

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __str__(self):
        return "stub"

    def __int__(self):
        return 0

    def __eq__(self, other):
        return isinstance(other, Stub)

    def __hash__(self):
        return 0


def _make_stub(name):
    if name.endswith(("Error", "Exception", "Timeout")):
        return type(name, (Exception,), {})
    return type(name, (dict,) if name.endswith("Item") else (Stub,), {})


class _StubModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = _make_stub(name)
        setattr(self, name, made)
        return made


class _StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _STUBS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _StubModule(spec.name)

    def exec_module(self, module):
        pass


if _STUBS:
    sys.meta_path.insert(0, _StubFinder())
