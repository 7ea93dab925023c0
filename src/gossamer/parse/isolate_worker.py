"""The process that suspicious pages are tried in: ``python -m gossamer.parse.isolate_worker``.

It answers one page after the other on its standard streams, in the frames of
:mod:`gossamer.parse.isolate`. A page that can be parsed quickly as it is gets an empty answer; of all others
it sends what is left when they are cut. It may be killed at any time, and ends by itself when its parent is
gone: between pages because its input ends, within one because its alarm kills it.
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
import time
from typing import BinaryIO

import turbohtml

from gossamer.parse.encoding import declared_encoding, decode_as
from gossamer.parse.isolate_frames import Answer, Question, read_frame, write_frame
from gossamer.parse.isolate_reduce import Reduced, reduce_html

_QUICK_S = 0.12
"""CPU seconds: what parses within them here is parsed as it is by the crawl, which is a third faster."""
_SLIM_BYTES = 96 * 1024 * 1024
_CHUNK = 16 * 1024
_MAX_CHARS = 8 * 1024 * 1024
_SNIFFED = 1024
_GRACE_S = 1.0
_CUTTING = 0.5
"""Of the time for a page; what could not be looked at until then is left out."""


def is_quick(text: str) -> bool:
    """Whether a page is parsed in little time and memory; gives up as soon as it is not."""
    began, slim = time.process_time(), _peak_bytes() + _SLIM_BYTES
    parser = turbohtml.IncrementalParser(positions=False)
    for start in range(0, len(text), _CHUNK):
        parser.feed(text[start : start + _CHUNK])
        if time.process_time() - began > _QUICK_S or _peak_bytes() > slim:
            return False
    document = parser.close()
    document.select("a[href]")
    return time.process_time() - began <= _QUICK_S and _peak_bytes() <= slim


def answer(question: Question, body: bytes) -> tuple[Answer, bytes]:
    """What becomes of one page."""
    encoding = _encoding(body, question.content_type)
    if question.is_tried:
        try:
            if is_quick(decode_as(body, encoding)):
                return Answer(encoding=encoding), b""
        except MemoryError:
            pass
    until = time.monotonic() + question.timeout_s * _CUTTING
    reduced = _cut(decode_as(body[: 2 * _MAX_CHARS], encoding), question, until)
    return Answer(encoding=encoding, is_cut=True, cuts=reduced.cuts), reduced.html.encode("utf-8", "replace")


def _cut(text: str, question: Question, until: float) -> Reduced:
    """The page cut until it is quick: the first cut is enough for every shape known."""
    tags, chars = question.max_tags, _MAX_CHARS
    while True:
        reduced = reduce_html(
            text,
            max_depth=question.max_depth,
            max_tags=tags,
            max_chars=chars,
            is_late=lambda: time.monotonic() > until,
        )
        if chars < _CHUNK or is_quick(reduced.html):
            return reduced
        text = reduced.html
        tags, chars = tags // 2, min(chars, len(text)) // 2


def _encoding(body: bytes, content_type: str) -> str:
    """As for any page, but what the page declares after its first 1,024 bytes is not looked for."""
    declared = declared_encoding(body, content_type)
    if declared is not None:
        return declared
    head = turbohtml.parse(body[:_SNIFFED])
    if head.encoding is not None and head.encoding_confidence == "certain":
        return head.encoding
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "UTF-8"


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends."""
    while (frame := read_frame(source, Question)) is not None:
        question, body = frame
        signal.setitimer(signal.ITIMER_REAL, question.timeout_s + _GRACE_S)
        reply, page = answer(question, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(sink, reply, page)
        del frame, body, page
        gc.collect()


def main() -> None:
    """Serve on the standard streams; the first argument is the address space in bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us when it is done
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
