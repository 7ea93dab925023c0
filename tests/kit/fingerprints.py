"""The fingerprints of clients as servers compute them: JA3, JA4 and Akamai's of HTTP/2.

JA3: <https://github.com/salesforce/ja3>; JA4: <https://github.com/FoxIO-LLC/ja4>, "JA4: TLS Client
Fingerprinting"; HTTP/2: "Passive Fingerprinting of HTTP/2 Clients", Akamai 2017. GREASE (RFC 8701) is left
out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

SERVER_NAME, GROUPS, POINT_FORMATS, SIGNATURES, ALPN, VERSIONS = 0, 10, 11, 13, 16, 43
_JA4_VERSIONS = {0x0304: "13", 0x0303: "12", 0x0302: "11", 0x0301: "10"}


@dataclass(frozen=True)
class ClientHello:
    """The parts of TLS's first message that fingerprint a client."""

    version: int
    ciphers: tuple[int, ...]
    extensions: tuple[int, ...]
    bodies: dict[int, bytes] = field(repr=False)  # of the extensions

    @property
    def groups(self) -> tuple[int, ...]:
        return without_grease(_numbers(self.bodies.get(GROUPS, b"")[2:]))

    @property
    def signatures(self) -> tuple[int, ...]:
        return without_grease(_numbers(self.bodies.get(SIGNATURES, b"")[2:]))

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols offered by ALPN."""
        return tuple(name.decode() for name in _vectors(self.bodies.get(ALPN, b"")[2:], 1))

    @property
    def ja3(self) -> str:
        """The text before it is hashed."""
        formats = tuple(self.bodies.get(POINT_FORMATS, b"\0")[1:])
        parts = (self.ciphers, self.extensions, self.groups, formats)
        return ",".join([str(self.version), *("-".join(map(str, part)) for part in parts)])

    @property
    def ja3_hash(self) -> str:
        return hashlib.md5(self.ja3.encode(), usedforsecurity=False).hexdigest()

    @property
    def ja4(self) -> str:
        """As ``t13d1516h2_8daaf6152771_d8a2da3f94cd``."""
        hello, ciphers, extensions = self.ja4_parts
        return f"{hello}_{_short_hash(ciphers)}_{_short_hash(extensions)}"

    @property
    def ja4_parts(self) -> tuple[str, str, str]:
        """The parts of JA4 before they are hashed ("JA4_r")."""
        versions = without_grease(_numbers(self.bodies.get(VERSIONS, b"\0")[1:]))
        version = _JA4_VERSIONS.get(max(versions, default=self.version), "00")
        name = "d" if SERVER_NAME in self.extensions else "i"
        counts = f"{min(len(self.ciphers), 99):02}{min(len(self.extensions), 99):02}"
        first = self.protocols[0] if self.protocols else "00"
        hidden = {SERVER_NAME, ALPN}
        extensions = _hex(sorted(number for number in self.extensions if number not in hidden))
        signatures = _hex(self.signatures)
        return (
            f"t{version}{name}{counts}{first[0]}{first[-1]}",
            _hex(sorted(self.ciphers)),
            f"{extensions}_{signatures}" if signatures else extensions,
        )


def without_grease(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number for number in numbers if number & 0x0F0F != 0x0A0A or number >> 8 != number & 0xFF)


def _hex(numbers: list[int] | tuple[int, ...]) -> str:
    return ",".join(f"{number:04x}" for number in numbers)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12


def _numbers(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[start : start + 2]) for start in range(0, len(data) - 1, 2))


def _vectors(data: bytes, size: int) -> Iterator[bytes]:
    """Pieces, each behind its length of ``size`` bytes."""
    while data:
        end = size + int.from_bytes(data[:size])
        yield data[size:end]
        data = data[end:]


def read_hello(data: bytes) -> ClientHello | None:
    """The hello at the beginning of a connection, ``None`` before it is whole. ``ValueError``: not TLS."""
    message = b""
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4]):
        if len(data) < 5:
            return None
        if data[0] != 22:
            raise ValueError("not a TLS handshake")
        end = 5 + int.from_bytes(data[3:5])
        if len(data) < end:
            return None
        message, data = message + data[5:end], data[end:]
    body = message[4:]
    version, body = int.from_bytes(body[:2]), body[34:]
    body = body[1 + body[0] :]  # the session's id
    length = int.from_bytes(body[:2])
    ciphers, body = _numbers(body[2 : 2 + length]), body[2 + length :]
    body = body[1 + body[0] :][2:]  # compression, the length of the extensions
    bodies: dict[int, bytes] = {}
    while body:
        kind, end = int.from_bytes(body[:2]), 4 + int.from_bytes(body[2:4])
        bodies[kind], body = body[4:end], body[end:]
    extensions = without_grease(tuple(bodies))
    return ClientHello(version, without_grease(ciphers), extensions, bodies)


@dataclass
class Http2Opening:
    """A client's opening frames of HTTP/2."""

    settings: list[tuple[int, int]] = field(default_factory=list)
    window: int = 0  # by which it opens the connection's window
    priorities: list[tuple[int, int, int, int]] = field(default_factory=list)
    header_priority: tuple[int, int, int] | None = None  # of the first request: exclusive, parent, weight
    pseudo_headers: list[str] = field(default_factory=list)

    @property
    def akamai(self) -> str:
        """As ``1:65536;2:0;4:6291456;6:262144|15663105|0|m,a,s,p``."""
        settings = ";".join(f"{number}:{value}" for number, value in self.settings)
        priorities = ",".join(":".join(map(str, priority)) for priority in self.priorities) or "0"
        order = ",".join(name[1] for name in self.pseudo_headers)
        return f"{settings}|{self.window:02}|{priorities}|{order}"


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS, _HEADERS, _PRIORITY, _WINDOW_UPDATE, _PRIORITY_FLAG, _PADDED = 4, 1, 2, 8, 0x20, 0x8


def read_opening(data: bytes) -> Http2Opening | None:
    """The frames up to the first request's, whose pseudo-headers are not read; ``None`` before it."""
    opening, data = Http2Opening(), data[len(PREFACE) :]
    while len(data) >= 9:
        length, kind, flags = int.from_bytes(data[:3]), data[3], data[4]
        stream, body = int.from_bytes(data[5:9]), data[9 : 9 + length]
        if len(body) < length:
            return None
        data = data[9 + length :]
        if kind == _SETTINGS and not flags & 1:
            rows = [body[start : start + 6] for start in range(0, length, 6)]
            opening.settings += [(int.from_bytes(row[:2]), int.from_bytes(row[2:])) for row in rows]
        elif kind == _WINDOW_UPDATE and stream == 0:
            opening.window = int.from_bytes(body)
        elif kind == _PRIORITY:
            exclusive, parent, weight = _read_priority(body)
            opening.priorities.append((stream, exclusive, parent, weight))
        elif kind == _HEADERS:
            if flags & _PRIORITY_FLAG:
                opening.header_priority = _read_priority(body[1:] if flags & _PADDED else body)
            return opening
    return None


def _read_priority(body: bytes) -> tuple[int, int, int]:
    parent = int.from_bytes(body[:4])
    return parent >> 31, parent & 0x7FFF_FFFF, body[4] + 1
