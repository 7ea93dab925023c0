"""Makes a page of any shape quick to parse: one pass over its tokens, in linear time.

Removed are nesting below a depth (its text and links stay, less deep), formatting elements left open by the
dozen, end tags without start tags, second ``<body>`` tags, attributes beyond a number and a length, comments,
and everything after a number of elements or characters. Parts that ordinary pages have come through
unchanged. No clock is involved: equal pages are cut equally.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import NamedTuple

from turbohtml import Token, TokenType, tokenize


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _word_set(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
)
_RAW = _word_set("script style xmp iframe noembed noframes plaintext")
_TEXT_ONLY = _RAW | {"title", "textarea"}
_FORMATTING = _word_set("b big code em font i nobr s small strike strong tt u")
_ALWAYS_KEPT = _VOID | _TEXT_ONLY | {"a"}
"""They hold no elements (an ``a`` ends the one before it), so no depth comes of them."""
_CLOSES = {
    "li": {"li", "p"},
    "dt": {"dt", "dd", "p"},
    "dd": {"dt", "dd", "p"},
    "td": {"td", "th", "p"},
    "th": {"td", "th", "p"},
    "tr": {"td", "th", "tr", "p"},
    "tbody": {"td", "th", "tr", "tbody", "thead", "tfoot"},
    "option": {"option"},
    "optgroup": {"option", "optgroup"},
    "a": {"a"},
    **{name: {"p"} for name in ("p", "div", "ul", "ol", "dl", "table", "section", "article", "pre", "form")},
    **{name: {"p"} for name in ("h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr", "header", "footer")},
}
"""Start tags and the open elements that they close, as far as pages rely on it."""

_MAX_FORMATTING = 16
_MAX_ATTRIBUTES = 100
_MAX_VALUE = 64 * 1024
_LONG_TAG = 2048  # characters of a tag from which its attributes are looked at
_TOKENS_PER_TAG = 4  # tokens read for each possible tag: skipped ones cost time as well

_DEEPEST = 512  # the parser nests ordinary elements no deeper, and reopens no more of them at once
_MORE_DEPTH = 256
_MORE_ATTRIBUTES = 20_000  # 1 us each
_MAX_CLONES = 3_000_000  # 150 ns each
_MAX_STEPS = 50_000_000  # of an end tag without an element up the open ones: 1.3 ns each
_MAX_MERGING = 25_000_000  # second ``<body>`` tags times characters: each copies all attributes so far


class ReduceResult(NamedTuple):
    """A page that was cut."""

    html: str
    cuts: dict[str, int]  # the removed parts, by kind: ``depth``, ``formatting``, ``attributes``, ...
    tags: int  # start tags that are left


def reduce_html(text: str, *, max_depth: int, max_tags: int, max_chars: int) -> ReduceResult:
    """Return the page without the parts that make parsing slow; never more than ``max_chars`` long."""
    return _PageReducer(max_depth, max_tags, max_chars).reduce_text(text)


def is_harmless(reduced: ReduceResult, size: int) -> bool:
    """Whether the original page of ``size`` characters may be parsed uncut.

    The cuts show how much work the parser would have; pages that close no elements are cut here and there,
    and are cheap nevertheless.
    """
    cuts = reduced.cuts
    clones = _MAX_FORMATTING + min(cuts.get("formatting", 0), _DEEPEST)
    return (
        "rest" not in cuts
        and cuts.get("depth", 0) <= _MORE_DEPTH
        and cuts.get("end_tags", 0) * _DEEPEST <= _MAX_STEPS
        and cuts.get("attributes", 0) <= _MORE_ATTRIBUTES
        and cuts.get("roots", 0) * size <= _MAX_MERGING
        and ("formatting" not in cuts or clones * reduced.tags <= _MAX_CLONES)
    )


class _PageReducer:
    def __init__(self, max_depth: int, max_tags: int, max_chars: int) -> None:
        self._max_depth = max_depth
        self._max_tags = max_tags
        self._max_chars = max_chars
        self._out: list[str] = []
        self._open: list[str] = []
        self._count: Counter[str] = Counter()  # of the open ones, by name
        self._formats: Counter[str] = Counter()  # started and not ended, as the parser reopens them
        self._formatting = 0
        self._roots: set[str] = set()
        self._raw = ""
        self._tags = 0
        self._cuts: Counter[str] = Counter()

    def reduce_text(self, text: str) -> ReduceResult:
        size = 0
        max_tokens = _TOKENS_PER_TAG * self._max_tags
        for number, token in enumerate(tokenize(text, capture_source=True)):
            piece = self._reduce_token(token)
            size += len(piece)
            if self._tags > self._max_tags or size > self._max_chars or number > max_tokens:
                self._cuts["rest"] += 1
                if token.type is TokenType.TEXT:
                    self._out.append(piece[: self._max_chars - size + len(piece)])
                break
            self._out.append(piece)
        return ReduceResult("".join(self._out), dict(self._cuts), min(self._tags, self._max_tags))

    def _reduce_token(self, token: Token) -> str:
        if token.type is TokenType.START_TAG:
            return self._reduce_start_tag(token, token.tag or "")
        if token.type is TokenType.END_TAG:
            return self._reduce_end_tag(token, token.tag or "")
        if token.type is TokenType.TEXT:
            data = token.data or ""
            return data if self._raw else escape(data, quote=False)
        return token.source or "" if token.type is TokenType.DOCTYPE else ""

    def _reduce_start_tag(self, token: Token, name: str) -> str:
        ends = _CLOSES.get(name, ())
        while self._open and self._open[-1] in ends:
            self._pop_open()
        reason = self._cut_reason(name)
        if reason:
            self._cuts[reason] += 1
            return ""
        if name in _FORMATTING:
            self._formats[name] += 1
            self._formatting += 1
        self._raw = name if name in _RAW else ""
        self._tags += 1
        if name not in _VOID and not (token.self_closing and (self._count["svg"] or self._count["math"])):
            self._open.append(name)
            self._count[name] += 1
        return self._tag_source(token, name)

    def _cut_reason(self, name: str) -> str:
        """Why a start tag is left out; ``""`` when it is not."""
        if name in ("html", "body"):
            if name in self._roots:
                return "roots"
            self._roots.add(name)
        if name in _FORMATTING and self._formatting >= _MAX_FORMATTING:
            return "formatting"
        if len(self._open) >= self._max_depth and name not in _ALWAYS_KEPT:
            return "depth"
        return ""

    def _reduce_end_tag(self, token: Token, name: str) -> str:
        self._raw = ""
        was_format = self._formats[name] > 0
        if was_format:
            self._formats[name] -= 1
            self._formatting -= 1
        if self._count[name]:
            while self._pop_open() != name:
                pass
        elif not was_format:
            self._cuts["end_tags"] += 1
            return ""
        return f"</{name}>" if len(token.source or "") > _LONG_TAG else token.source or ""

    def _pop_open(self) -> str:
        name = self._open.pop()
        self._count[name] -= 1
        return name

    def _tag_source(self, token: Token, name: str) -> str:
        source = token.source or ""
        if len(source) <= _LONG_TAG:
            return source
        attributes = token.attrs or []
        kept = [(key, value) for key, value in attributes[:_MAX_ATTRIBUTES] if len(value or "") <= _MAX_VALUE]
        if len(kept) == len(attributes):
            return source
        self._cuts["attributes"] += len(attributes) - len(kept)
        written = "".join(f' {key}="{escape(value or "")}"' for key, value in kept if len(key) <= _LONG_TAG)
        return f"<{name[:_LONG_TAG]}{written}>"
