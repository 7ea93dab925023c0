"""The process that examines suspicious pages: ``python -m gossamer.parse.isolation.worker``.

It answers one page after the other on its standard streams, in the frames of
:mod:`gossamer.parse.isolation.frames`. Counts alone decide the answer, so that it is the same on a busy
machine: a page of harmless shape gets an empty answer, any other page is cut and the rest returned. The clock
decides one thing only: a page that uses up its CPU seconds kills the process. The process may be killed at
any time, and ends by itself when its parent is gone.
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
from collections import Counter
from typing import BinaryIO

import turbohtml

from gossamer.parse.encoding import declared_encoding, decode_as, guess_encoding
from gossamer.parse.isolation.frames import OUT_OF_MEMORY, ExamineResult, ExamineTask, read_frame, write_frame
from gossamer.parse.isolation.reduce import is_harmless, reduce_html
from gossamer.parse.mime import is_xml
from gossamer.parse.xml_text import cut_xml, decode_xml

_MAX_CHARS = 12 * 1024 * 1024
"""The limit of a page; parsing it and taking its text takes about 150 ms."""
_MAX_BYTES = 64 * 1024 * 1024
"""The limit of bytes read: one attribute may be longer than the part of a page that is kept."""
_MAX_ELEMENTS = 600_000
"""The limit of the tree, in which open formatting elements stand many times: some 150 ms and 150 MB."""
_FEWEST_TAGS = 16
_SNIFFED = 1024
_COUNT = turbohtml.XPath("count(//*)")


def examine_body(question: ExamineTask, body: bytes) -> tuple[ExamineResult, bytes]:
    """Examine one page; equal bytes get equal answers."""
    if is_xml(question.content_type, body):
        return _answer_xml(question, body)
    encoding = _find_encoding(body, question)
    text = decode_as(body[:_MAX_BYTES], encoding)
    reduced = reduce_html(
        text, max_depth=question.max_depth, max_tags=question.max_tags, max_chars=_MAX_CHARS
    )
    cuts = Counter(reduced.cuts)
    if len(body) > _MAX_BYTES:
        cuts["rest"] += 1
    elif len(text) <= _MAX_CHARS and is_harmless(reduced, len(text)) and _is_small(text):
        return ExamineResult(encoding=encoding), b""
    tags = reduced.tags
    while tags > _FEWEST_TAGS and not _is_small(reduced.html):
        tags //= 2
        reduced = reduce_html(reduced.html, max_depth=question.max_depth, max_tags=tags, max_chars=_MAX_CHARS)
        cuts.update(reduced.cuts)
    return ExamineResult(encoding=encoding, is_cut=True, cuts=dict(cuts)), reduced.html.encode(
        "utf-8", "replace"
    )


def _answer_xml(question: ExamineTask, body: bytes) -> tuple[ExamineResult, bytes]:
    """Cut XML only in its length: libxml2 keeps its own limits. Parsing it shows the cost."""
    from gossamer.parse.xml import parse_xml

    text, encoding = decode_xml(body[:_MAX_BYTES], question.content_type)
    kept = cut_xml(text, max_tags=question.max_tags, max_chars=_MAX_CHARS)
    parse_xml(kept)
    if len(kept) == len(text) and len(body) <= _MAX_BYTES:
        return ExamineResult(encoding=encoding), b""
    return ExamineResult(encoding=encoding, is_cut=True, cuts={"rest": 1}), kept.encode("utf-8", "replace")


def _is_small(text: str) -> bool:
    """Whether the tree has no more elements than a crawl can hold; parses the page to count them."""
    try:
        root = turbohtml.parse(text, positions=False).root
        return root is None or float(str(_COUNT(root))) <= _MAX_ELEMENTS
    except MemoryError:
        return False


def _find_encoding(body: bytes, question: ExamineTask) -> str:
    """Detect the encoding as usual, but ignore declarations after the first 1,024 bytes."""
    declared = declared_encoding(body, question.content_type)
    if declared is not None:
        return declared
    head = turbohtml.parse(body[:_SNIFFED])
    if head.encoding is not None and head.encoding_confidence == "certain":
        return head.encoding
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return guess_encoding(body) if question.guesses_charset else "windows-1252"
    return "UTF-8"


def serve_tasks(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends."""
    while (frame := read_frame(source, ExamineTask)) is not None:
        question, body = frame
        signal.setitimer(signal.ITIMER_PROF, question.cpu_s)  # the default action of SIGPROF kills
        reply, page = examine_body(question, body)
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_frame(sink, reply, page)
        del frame, body, page
        gc.collect()


def main() -> None:
    """Serve on the standard streams; the first argument is the address space in bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us when it is done
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        serve_tasks(sys.stdin.buffer, sys.stdout.buffer)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except BrokenPipeError:  # the parent is gone
        pass


if __name__ == "__main__":
    main()
