"""Decides which pages must be examined in a separate process, at no cost for ordinary pages.

A handful of counts, at the speed of memory, shows shapes that make the tree of a small page large or slow to
build; pages beyond 64 KB are sampled. Every limit has the same meaning: a page below it costs less than about
200 ms and 200 MB, whatever its shape.
"""

from __future__ import annotations

import re

from gossamer.core.record import Record

MAX_INLINE_BYTES = 3 * 1024 * 1024


class ParseLimits(Record, frozen=True, kw_only=True):
    """The limits of a suspicious page in the process that examines it, and of the rest when it is cut."""

    cpu_s: float = 5.0  # of that process, for one page; how busy the machine is does not count
    memory_bytes: int = 512 * 1024 * 1024  # of that process: its address space
    max_depth: int = 256  # elements within one another in a page that is cut
    max_tags: int = 400_000  # elements of a page; later ones are left out
    guesses_charset: bool = True  # of pages that name none


_HARMLESS_BYTES = 16 * 1024
_SAMPLE, _STRIDE = 8 * 1024, 32 * 1024
_TORN = 12  # elements that a sample may begin or end within
_MANY_TAGS = 2_500  # fewer make no large tree: 500 open fonts, cloned into 2,000 paragraphs, take 0.15 s
_TOO_MANY_TAGS = 120_000  # the longest pages of real documentation have 100,000
_DEEPEST = 512  # the parser nests no deeper, and reopens no more elements at once
_MAX_CLONES = 1_000_000  # 150 ns and 230 bytes each
_MAX_MERGING = 25_000_000  # repeated <body a=..> times bytes: each copies all attributes so far
_ROOT_TAG = re.compile(rb"<[bBhH][oOtT][dDmM][yYlL][\s/]")
_VOID_TAGS = (b"<br", b"<img", b"<!")


def is_suspicious(body: bytes, max_inline_bytes: int = MAX_INLINE_BYTES) -> bool:
    """Whether parsing this body as it is could hold everything else up for long, or fill the memory.

    A page may be called suspicious for nothing: it is tried, and parsed like any other.
    """
    size = len(body)
    if size <= _HARMLESS_BYTES:
        return False
    if size > max_inline_bytes:
        return True
    if size > _STRIDE:
        sample = b"".join([body[start : start + _SAMPLE] for start in range(0, size, _STRIDE)])
        if not _is_costly(sample, size):
            return False
    return _is_costly(body, size)


def _is_costly(sample: bytes, size: int) -> bool:
    """Whether a sample shows a costly body of this size; a body is also a sample of itself."""
    scale = size / len(sample)
    found = sample.count(b"<")
    if found * scale > _TOO_MANY_TAGS:
        return True
    if found * scale > _MANY_TAGS:
        return _is_unbalanced(sample, found, scale)
    return size > 2 * _STRIDE and len(_ROOT_TAG.findall(sample)) * scale * size > _MAX_MERGING


def _is_unbalanced(sample: bytes, found: int, scale: float) -> bool:
    """Whether elements are left open, or closed for no reason, in numbers that multiply with the tags."""
    tags = found * scale
    torn = _TORN * len(sample) // _SAMPLE if scale > 1 else 0
    unclosed = max(0, abs(found - 2 * sample.count(b"</")) - torn)
    if min(_DEEPEST, unclosed * scale) * tags <= _MAX_CLONES:
        return False
    unclosed -= sum(map(sample.count, _VOID_TAGS))  # these are never closed, and never open
    return min(_DEEPEST, unclosed * scale) * tags > _MAX_CLONES
