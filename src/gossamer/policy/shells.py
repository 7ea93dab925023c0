"""Whether a page is empty until its scripts have run: the shell of an application in JavaScript. Pure.

A shell has scripts and next to nothing that a visitor could read, and one of these signs: an empty element
to which applications attach themselves, a ``noscript`` that asks for JavaScript, or no text at all on a host
whose other pages had some. Pages of forms, pictures, frames or headings are none, however little text they
have, and neither are pages with words beside an element of a kind of its own: many pages have one for a chat.
"""

from __future__ import annotations

import re
from functools import cache

from gossamer.core.results import FetchResult

LITTLE_TEXT = 200
"""Characters that a shell shows: a name, "Loading ..."."""
NO_TEXT = 20
"""Characters of an empty page, and of a page around the element that an application fills."""
MOST_WAITING = 40
"""Characters of a page that only asks to wait for its scripts."""
FEW_LINKS = 3
MOST_TAGS = 60
"""In the body, besides those in scripts."""
HEAD_BYTES, HEAD_TAGS, EARLY = 4096, 60, 512
"""A body with this many tags in its first bytes is not a shell."""
MOST_BYTES = 2 * 1024 * 1024
_ROOTS = (
    *("root", "app", "__next", "__nuxt", "___gatsby", "svelte", "react-root", "react-app", "app-root"),
    *("main-app", "application", "approot", "reactroot", "vue-app", "q-app", "ember-app", "elm", "mount"),
    *("mount-point", "content-root", "spa", "shell", "preact", "angular-app", "page-root", "main-root"),
)
_HIDDEN = rb"<(script|style|noscript|template|svg)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)"
_CONTENT = (  # besides the words of a drawing
    rb"<(?:img|picture|iframe|frame|form|input|select|video|audio|canvas|object|embed|table|article)\b"
    rb"|<h[1-4]\b[^>]*>\s*[^<\s]"
)
_WRITTEN_ROOT = rb"<template\b[^>]*\bshadowrootmode\b[^>]*>"
_WAITING = (
    rb"(?:loading|pleasewait|wirdgeladen|laden|chargement|cargando|caricamento|carregando)?"
    rb"[.\xe2\x80\xa6]*"
)
_NOSCRIPT = rb"<noscript\b[^>]*>(.*?)(?:</noscript|\Z)"
_ASKING = (
    rb"(?:enabl|activ|turn(?:ed)? on|requir|need|without|disabled|support|allow|use|run).{0,80}javascript"
    rb"|javascript.{0,80}(?:enabl|activ|turn(?:ed)? on|requir|need|disabled|to run|not (?:available|support))"
    rb"|javascript.{0,40}(?:aktivier|erforderlich|ben\xc3\xb6tig|n\xc3\xa9cessaire|requis|necesari|richiest)"
    rb"|(?:aktivier|activez|activer|habilit|abilit|ativ).{0,40}javascript"
    + "|javascript.{0,60}(?:有効|启用|啟用)|(?:启用|啟用|ключ).{0,60}javascript".encode()
)
_ELEMENT = rb"<([a-z][a-z0-9]*(?:-[a-z0-9-]+)?)\b([^>]*)>(?=([^<>]{0,60}</\1\b)?)"
_ID = rb"\bid\s*=\s*[\"']?([\w-]+)"


def find_shell(fetched: FetchResult, *, is_heard: bool) -> str:
    """Describe the evidence that a page is the shell of an application; empty if it is not.

    ``is_heard``: other pages of its host had content. A page whose body begins with markup costs next to
    nothing.
    """
    body = fetched.body
    at = max(body.find(b"<body"), 0) or max(
        body.find(b"<BODY"), body.find(b"</head"), body.find(b"</HEAD"), 0
    )
    head = body[at : at + HEAD_BYTES]
    if _has_many_tags(head) or len(body) > MOST_BYTES or fetched.status != 200:
        return ""
    if (b"<script" not in body and b"<SCRIPT" not in body) or "html" not in fetched.header(
        "content-type", "text/html"
    ):
        return ""
    return _find_sign(body[at:].lower(), is_heard=is_heard)


def _has_many_tags(head: bytes) -> bool:
    """Whether a body begins with markup; text in a leading script does not count."""
    if len(head.split(b"<", HEAD_TAGS)) <= HEAD_TAGS:
        return False
    return not 0 <= head.find(b"<script") < EARLY or _pattern(_HIDDEN).sub(b"", head).count(b"<") > HEAD_TAGS


def _find_sign(text: bytes, *, is_heard: bool) -> str:
    """By a body in lower case."""
    if b"shadowrootmode" in text:
        text = _pattern(_WRITTEN_ROOT).sub(b" ", text)
    bare = _pattern(_HIDDEN).sub(b" ", text)
    if bare.count(b"<") > MOST_TAGS or bare.count(b"<a ") > FEW_LINKS or _pattern(_CONTENT).search(bare):
        return ""
    words = _words_of(bare)
    shown = len(words)
    if shown > LITTLE_TEXT or b"<text" in text:
        return ""
    for found in _pattern(_ELEMENT).finditer(bare):
        if found[3] is None and shown > NO_TEXT:
            continue
        name, given = found[1].decode(), _pattern(_ID).search(found[2])
        if given is not None and given[1].decode() in _ROOTS:
            return f"an empty application root, #{given[1].decode()}"
        if "-" in name and shown - len(_words_of((found[3] or b"<") + b">")) <= NO_TEXT:
            return f"an empty application root, <{name}>"
    if shown <= MOST_WAITING and any(
        _pattern(_ASKING).search(said[1]) for said in _pattern(_NOSCRIPT).finditer(text)
    ):
        return "a noscript that asks for JavaScript"
    is_empty = is_heard and _pattern(_WAITING).fullmatch(words)
    return "no text, on a host whose pages have some" if is_empty else ""


def _words_of(markup: bytes) -> bytes:
    """Its text, without the blanks."""
    return b"".join(_pattern(rb"<[^>]*>").sub(b" ", markup).split())


@cache
def _pattern(text: bytes) -> re.Pattern[bytes]:
    """Compiled where a page needs it: most crawls meet none."""
    return re.compile(text, re.DOTALL)
