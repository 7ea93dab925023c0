"""Causes for which the crawl leaves a URL out, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.policy.urls import MAX_URL_LENGTH

CAUSES: Mapping[str, str] = {
    "offsite": "its host is not one of the spider's allowed_domains, nor below one of them",
    "excluded": "the setting exclude matches it",
    "not_included": "no pattern of the setting include matches it",
    "extension": "the setting deny_extensions has its suffix",
    "scheme": "only http and https are crawled",
    "too_long": f"it is longer than {MAX_URL_LENGTH} characters",
    "bad_url": "it is not a URL",
    "nofollow": "its page marks it as nofollow",
    "too_deep": "it is deeper than the setting max_depth allows",
    "trap_segments": "its path has more segments than the setting traps.max_segments",
    "trap_repeats": "its path repeats itself more often than the setting traps.max_repeats",
}
_REMEDIES: Mapping[str, str] = {
    "offsite": "; if it is wanted, add the host there",
    "excluded": "; if it is wanted, change that pattern",
    "not_included": "; if it is wanted, add a pattern for it",
    "extension": "; if it is wanted, leave the suffix out there",
    "nofollow": "; if it is wanted, set follow_nofollow",
    "too_deep": "; --fresh with more depth takes it",
    "bad_url": ": a URL is http:// or https://, a host and a path, without spaces",
}


def explain_refusal(counts: Mapping[str, int]) -> str:
    """The cause and the remedy of the commonest of these reasons; empty where it has none by itself."""
    reason = max(counts, key=lambda one: counts[one], default="")
    return CAUSES.get(reason, "") + _REMEDIES.get(reason, "")
