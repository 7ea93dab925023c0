"""Decode Content-Encoding piece by piece, never past a limit.

A body is decoded while it arrives (``codings``), and the *decoded* bytes of every stage are counted: 34
bytes of brotli make 11 MB, and a stack of encodings can hide the growth in its middle. Flags mark defects
that browsers tolerate: ``truncated`` for a damaged body (the decoded part is kept), ``bad_checksum`` for a
wrong or missing checksum, ``not_encoded`` for readable text that was never encoded, ``unknown_encoding``
for an unknown coding (the body is kept as received).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gossamer.core.errors import Fault, FetchError
from gossamer.core.results import TRUNCATED
from gossamer.fetch.http.codings import DecodingError, stage_for

MAX_STAGES = 5
_TEXT = re.compile(rb"[\t\n\f\r\x1b\x20-\x7e\x80-\xff]*\Z")


class BodyDecoder:
    """One body: call :meth:`feed` with each piece, then :meth:`finish`.

    Both raise :class:`FetchError`: ``TOO_LARGE`` as soon as the limit is passed, ``BAD_ENCODING`` for a
    body that can neither be decoded nor read as text.
    """

    def __init__(self, content_encoding: str, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._pieces: list[bytes] = []
        self._raw: list[bytes] = []  # until something was decoded: it may turn out to be plain
        self._damaged = False
        tokens = [token for token in re.split(r"[\s,]+", content_encoding.lower()) if token]
        tokens = [token for token in tokens if token != "identity"]  # noqa: S105 - a coding, no secret
        self._is_refused = len(tokens) > MAX_STAGES
        stages = [] if self._is_refused else [stage_for(token) for token in tokens]
        known = [stage for stage in stages if stage is not None]
        self._is_unknown = len(known) < len(stages)
        self._stages = [] if self._is_unknown else known[::-1]
        self._counts = [0] * (len(self._stages) + 1)
        self.wire_bytes = 0

    @property
    def decoded_bytes(self) -> int:
        """Decoded bytes so far."""
        return self._counts[-1]

    def feed_data(self, data: bytes) -> None:
        """Take the next bytes from the wire."""
        for _ in self.feed_in_steps(data):
            pass

    def feed_in_steps(self, data: bytes) -> Iterator[None]:
        """:meth:`feed` with a pause after each decoded piece: few bytes can become very many."""
        self.wire_bytes += len(data)
        self._count_bytes(0, len(data))
        if not self._stages:
            self._pieces.append(data)
            return
        if self._damaged:
            return
        if not self._pieces:
            self._raw.append(data)
        try:
            for piece in self._run_stages(0, data):
                self._pieces.append(piece)
                yield
        except DecodingError:
            self._damaged = True

    def finish_body(self, *, is_framed: bool = False) -> tuple[bytes, tuple[str, ...]]:
        """Return the decoded body and its flags. ``is_framed``: HTTP has stated its end.

        Servers that compress a stream may flush the last piece and omit the end, or the checksum. The body
        is whole if HTTP ends it; if the connection does, more may have been lost.
        """
        body = b"".join(self._pieces)
        if not self._stages:
            return body, self._passed_on(body)
        if not self.wire_bytes:
            return body, ()
        for stage in self._stages if is_framed else ():
            stage.end_data()
        complete = not self._damaged and all(
            stage.complete or (is_framed and stage.is_flushed) for stage in self._stages
        )
        if complete:
            return body, ("bad_checksum",) if any(stage.is_doubtful for stage in self._stages) else ()
        if body:
            return body, (TRUNCATED,)
        raw = b"".join(self._raw)
        if not self._damaged:
            return b"", (TRUNCATED,)
        return raw, self._plain_flags(raw)

    def _passed_on(self, body: bytes) -> tuple[str, ...]:
        """Return the flags of a body that was not decoded."""
        if self._is_unknown:
            return ("not_encoded",) if _TEXT.match(body[:1024]) else ("unknown_encoding",)
        return self._plain_flags(body) if self._is_refused else ()

    @staticmethod
    def _plain_flags(raw: bytes) -> tuple[str, ...]:
        if not _TEXT.match(raw[:1024]):
            raise FetchError(Fault.BAD_ENCODING, "the body is not what its Content-Encoding says")
        return ("not_encoded",)

    def _run_stages(self, depth: int, data: bytes) -> Iterator[bytes]:
        """Pass data through the stages from ``depth`` on."""
        for piece in self._stages[depth].decode_data(data):
            self._count_bytes(depth + 1, len(piece))
            if depth + 1 < len(self._stages):
                yield from self._run_stages(depth + 1, piece)
            else:
                yield piece

    def _count_bytes(self, stage: int, size: int) -> None:
        self._counts[stage] += size
        if self._counts[stage] > self._limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {self._limit} bytes")
