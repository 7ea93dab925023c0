"""Reasons of the counts, and flags of pages, in words for people."""

from __future__ import annotations

LEFT_OUT = {
    "too_deep": "deeper than max_depth",
    "nofollow": "marked nofollow",
    "offsite": "to other hosts",
    "excluded": "that exclude matches",
    "not_included": "that no include matches",
    "extension": "with a suffix of deny_extensions",
    "media": "to files that are not pages (by their suffix)",
    "scheme": "neither http nor https",
    "too_long": "too long",
    "bad_url": "that are not URLs",
    "credentials": "with a user or a password in the URL",
    "invalid": "that cannot be read as URLs",
    "too_many": "beyond the limit of parse.max_links per page",
    "not_due": "to pages that are known and not due",
    "lane": "for a kind of worker that the job does not have",
    "trap_segments": "with a path of more than traps.max_segments",
    "trap_repeats": "with a path that repeats itself",
    "trap_pattern": "over the budget of traps.max_per_pattern",
    "trap_domain": "over the budget of traps.max_per_domain",
    "trap_same_body": "on pages over the budget of traps.max_same_body",
    "trap_same_content": "to pages that have the content of others (traps.max_worthless)",
    "trap_near_duplicate": "to pages that say nearly what others say (traps.max_worthless)",
    "trap_session": "to the same pages under new ids of a visit (traps.max_worthless)",
    "trap_calendar": "to pages of a calendar without an end (traps.max_worthless)",
    "trap_parameters": "to combinations of parameters without an end (traps.max_worthless)",
    "trap_soft_404": "to pages that a site makes up for any address (traps.max_worthless)",
    "trap_mirror": "to a host with the pages of another one (traps.max_worthless)",
}
"""Sentences about skipped links, by reason."""
BUDGET = "budget_"
"""Prefix of reasons for a spent pattern budget; the pattern's name follows."""


def describe_refusal(reason: str) -> str:
    """Describe a reason for skipped links."""
    if reason.startswith(BUDGET):
        return f"over the budget {reason.removeprefix(BUDGET)} (`gossamer report budgets`)"
    return LEFT_OUT.get(reason, reason.replace("_", " "))


FLAGS = {
    "truncated": "its compressed body ends too early; what could be decoded at the last try is kept",
    "bad_checksum": "the checksum at the end of its compressed body is wrong or missing",
    "not_encoded": "its header says that it is compressed, but it is not",
    "unknown_encoding": "it is compressed in an unknown way, and passed on as it came",
    "parse_truncated": "it was truncated before it was parsed: the other flags name the missing parts",
    "cut_rest": "everything after a length or a number of elements (`parse.max_tags`)",
    "cut_depth": "elements nested too deeply (`parse.max_depth`); their text and links stay, except in XML",
    "cut_attributes": "attributes of more than 64 KB, or beyond the first hundred of an element",
    "cut_formatting": "formatting elements that are never closed; their text stays",
    "cut_end_tags": "end tags of elements that are not open",
    "cut_roots": "second `html` and `body` tags",
    "javascript_shell": "it is empty until its scripts have run, and was fetched without running them",
    "not_read": "it is neither HTML nor plain text, and its callback did not look at it",
    "malformed": "its XML is not well-formed; it is read as far as it makes sense, and parts may be missing",
    "near_duplicate": "it says almost the same as another page of its host (`duplicates.near`)",
    "cut_entities": "what entities of XML would expand to",
    "unchanged": "it is as it was when it was checked before",
    "deferred": "it was fetched and archived; its callback runs elsewhere (`extract.deferred`)",
    "nothing_scrolled": "it was to be scrolled, but nothing on it could be, and nothing new came",
    "recycled_list": "it lost text while it was scrolled; `Scroll(collect=...)` keeps what passes",
    "unread_frame": "it shows a frame of another origin, whose content is not in its tree",
    "unread_shadow": "an element shows something that is not in its tree, as with a closed shadow root",
    "consent_left": "a banner that asks for consent could not be clicked away (`browser.consent`)",
    "storage_limit": "it has stored more (`localStorage`) than a session keeps; long entries are missing",
    "extracted": "the callback of a page that was deferred, run on the archive: nothing was fetched",
}
"""Sentences about a page, by flag."""
