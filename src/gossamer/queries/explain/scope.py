"""Sentences about a job's scope for a URL. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gossamer.core.hosts import FrontierRules
from gossamer.core.record import Record
from gossamer.policy import urls
from gossamer.policy.patterns import compile_pattern
from gossamer.policy.scope import MEDIA, extension_of
from gossamer.policy.sentences.refusals import CAUSES
from gossamer.queries.reasons import describe_refusal


class ScopeFacts(Record, frozen=True, kw_only=True):
    """The decision of a job's spider and settings about a URL."""

    refused: str = ""  # a reason of ``policy.scope``, or of the spider itself; "" when in scope
    allowed_domains: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


JUDGED_ALONE = {
    *("offsite", "excluded", "not_included", "extension", "scheme", "too_long", "bad_url", MEDIA),
    *("trap_segments", "trap_repeats"),
}
"""Reasons that a URL has by itself, whatever else was crawled."""


def describe_left_out(left_out: Mapping[str, int], scoping: ScopeFacts | None, rules: FrontierRules) -> str:
    """The links that were left out, among which a URL may be: where the scope is known, it is in it."""
    said = []
    for reason, count in sorted(left_out.items()):
        if scoping is None or reason not in JUDGED_ALONE:
            depth = rules.max_depth if reason == "too_deep" else None
            limit = "" if depth is None else f" {depth}"
            said.append(f"{count:,} {describe_refusal(reason)}{limit}")
    return ", ".join(said)


def scope_rule(scoping: ScopeFacts, url: str) -> str:
    """The rule by which a URL is refused, in words."""
    if scoping.refused == "offsite":
        domains = ", ".join(scoping.allowed_domains)
        return f"its host {urls.host_key(url)} is none of allowed_domains ({domains}) nor below one of them"
    if scoping.refused == "excluded":
        pattern = next((pattern for pattern in scoping.exclude if compile_pattern(pattern).search(url)), "")
        return f"the setting exclude has {pattern!r}, which matches it"
    if scoping.refused == "not_included":
        return f"none of the setting include matches it ({_quote_patterns(scoping.include)})"
    if scoping.refused == MEDIA:
        return f"the built-in spider follows no links to files with the suffix .{extension_of(url)}"
    return CAUSES.get(scoping.refused, scoping.refused)


def _quote_patterns(patterns: Sequence[str]) -> str:
    return ", ".join(map(repr, patterns))
