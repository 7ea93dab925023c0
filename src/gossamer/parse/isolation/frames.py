"""Messages between the crawl and the process for suspicious pages: a head in JSON, then bytes."""

from __future__ import annotations

from typing import BinaryIO, TypeVar

import msgspec

_LENGTHS = 12


OUT_OF_MEMORY = 3
"""The exit code of a process for which a page was too large."""


class ExamineTask(msgspec.Struct, frozen=True, kw_only=True):
    """A page to be judged."""

    cpu_s: float  # the process kills itself when it has used more
    content_type: str
    max_depth: int
    max_tags: int
    guesses_charset: bool = True


class ExamineResult(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement; the bytes are the page as it was cut, in UTF-8."""

    encoding: str
    is_cut: bool = False
    cuts: dict[str, int] = {}


Head = TypeVar("Head", ExamineTask, ExamineResult)


def write_frame(sink: BinaryIO, head: ExamineTask | ExamineResult, body: bytes) -> None:
    """Send one frame."""
    encoded = msgspec.json.encode(head)
    sink.write(len(encoded).to_bytes(4, "big") + len(body).to_bytes(8, "big") + encoded)
    sink.write(body)
    sink.flush()


def read_frame(source: BinaryIO, kind: type[Head]) -> tuple[Head, bytes] | None:
    """Return the next frame; ``None`` when the other side is gone."""
    lengths = source.read(_LENGTHS)
    if len(lengths) < _LENGTHS:
        return None
    head_size, size = int.from_bytes(lengths[:4], "big"), int.from_bytes(lengths[4:], "big")
    head, body = source.read(head_size), source.read(size)
    if len(head) < head_size or len(body) < size:
        return None
    return msgspec.json.decode(head, type=kind), body
