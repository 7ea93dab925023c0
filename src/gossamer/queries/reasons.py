"""Reasons of the ledger and of the counts, in words for people."""

from __future__ import annotations

from gossamer.core.errors import Fault, LedgerReason

LEFT_OUT = {
    "too_deep": "deeper than max_depth",
    "nofollow": "marked nofollow",
    "offsite": "to other hosts",
    "excluded": "that exclude matches",
    "not_included": "that no include matches",
    "extension": "with a suffix of deny_extensions",
    "media": "to files that are no pages (by their suffix)",
    "scheme": "neither http nor https",
    "too_long": "too long",
    "bad_url": "that are no URLs",
    "invalid": "that cannot be read as URLs",
    "too_many": "or more beyond parse.max_links of one page",
    "lane": "for a kind of worker that the job does not have",
    "trap_segments": "with a path of more than traps.max_segments",
    "trap_repeats": "with a path that repeats itself",
    "trap_pattern": "over the budget traps.max_per_pattern",
    "trap_domain": "over the budget traps.max_per_domain",
    "trap_same_body": "on pages over traps.max_same_body",
}
"""What is said of links that were not taken, by reason."""

FLAGS = {
    "truncated": "its compressed body ends too early; what could be decoded is kept",
    "bad_checksum": "the check sum at the end of its compressed body is wrong",
    "not_encoded": "its header says that it is compressed, and it is not",
    "unknown_encoding": "it is compressed in a way that nobody knows, and passed on as it came",
    "parse_truncated": "it was cut before it was parsed: the flags that follow say what is missing",
    "cut_rest": "everything after a length or a number of elements (`parse.max_tags`)",
    "cut_depth": "elements nested too deeply (`parse.max_depth`); their text and links stay, except in XML",
    "cut_attributes": "attributes of more than 64 KB, or beyond the first hundred of an element",
    "cut_formatting": "formatting elements that are never closed; their text stays",
    "cut_end_tags": "end tags of elements that are not open",
    "cut_roots": "second `html` and `body` tags",
    "cut_entities": "what entities of XML would expand to",
}
"""What is said of a page, by flag."""

REASONS = {
    Fault.DNS: "its host's name does not resolve",
    Fault.CONNECT: "its host could not be connected",
    Fault.LOCAL: "this machine could not connect",
    Fault.TOO_LARGE: "its body is larger than http.max_size_bytes",
    Fault.REDIRECT_LIMIT: "too many redirects in a row",
    Fault.GUARD: "its address is private, and nobody named the host",
    Fault.THROTTLED: "the host asks for time",
    Fault.GATEWAY: "the server behind the host does not answer",
    Fault.SERVER: "an error of the server",
    Fault.CLIENT: "the server refuses it",
    Fault.GONE: "the server has no such page",
    Fault.ROBOTS: "robots.txt does not allow it",
    Fault.ROBOTS_UNREACHABLE: "robots.txt could not be had",
    Fault.HOST_DOWN: "its host has never answered",
    Fault.HOST_LOST: "its host, which had answered before, did not come back in time",
    Fault.OUT_OF_SCOPE: "it leads out of scope",
    Fault.MISSING: "an element that the spider requires is not on the page",
    Fault.CALLBACK: "the spider's code raised",
    Fault.CALLBACK_TIMEOUT: "the spider's code took longer than parse.callback_timeout",
    Fault.PIPELINE: "a pipeline step failed on an item",
    Fault.PARSE_TIMEOUT: "parsing the page needs more than parse.timeout or parse.max_memory_mb",
    Fault.PARSE_INTERRUPTED: "the process that judges suspicious pages was killed or stopped",
    Fault.UNREADABLE: "what was stored of the request is damaged",
    Fault.INTERNAL: "an error of Gossamer itself",
    Fault.EXPIRED: "the worker never came back with it",
}
"""What is said of a fault; the others are their own words."""
REMARKS = {
    LedgerReason.KNOWN_TARGET: "it redirects to a page that was known already",
    LedgerReason.STALE: "its lease was lost before it was settled",
}
_WORDS: dict[str, str] = {fault.value: words for fault, words in (REASONS | REMARKS).items()}


def reason_text(reason: str) -> str:
    """A reason of the ledger in words, with its name: ``an error of the server (server)``."""
    words = _WORDS.get(reason)
    return f"{words} ({reason})" if words else reason.replace("_", " ") or "no reason given"
