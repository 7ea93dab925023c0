"""Troubles that need a person, in a clause: for the first sentence of a job, and of all jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gossamer.policy.sentences.words import count_words, short_name
from gossamer.policy.troubles import LISTED_PROXIES, Trouble, TroubleKind

LONGEST_WHO = 40
"""Characters of the name in a clause."""

NEEDS: Mapping[TroubleKind, str] = {
    TroubleKind.AWAY: "{who} cannot be used",
    TroubleKind.NO_SUPERVISOR: "no supervisor leads the fleet",
    TroubleKind.NO_WORKER: "work waits, and no worker takes it",
    TroubleKind.FAILED: "it ended with an error",
    TroubleKind.STALLED: "work is due, and nothing is tried",
    TroubleKind.NO_SUCCESS: "{who} answers nothing well",
    TroubleKind.IDLE_WORKER: "the worker {who} takes no shifts",
    TroubleKind.NO_ITEMS: "its pages give no items",
    TroubleKind.DRIFT: "{who} of its items is not as usual",
    TroubleKind.DEAD_LETTERS: "many requests were given up",
    TroubleKind.PROXIES: "no proxy of {who} can be used",
    TroubleKind.BUDGET: "its budget of {who} is nearly spent",
    TroubleKind.REDIS_MEMORY: "the memory of Redis is nearly full",
    TroubleKind.UNREADABLE: "its requests cannot be read",
}
"""Each kind that needs a person, in a clause."""


def describe_need(one: Trouble) -> str:
    """Describe a trouble in a clause; the subject of a trouble of the whole job is the job."""
    if one.kind is TroubleKind.AWAY and one.text.startswith(f"{one.who} "):
        return one.text.partition(":")[0].rstrip(".")  # it does not answer, or takes no changes
    if one.kind is TroubleKind.PROXIES and one.who == LISTED_PROXIES:
        return "no proxy can be used"
    words = NEEDS.get(one.kind, one.text.rstrip("."))
    if one.kind is TroubleKind.DRIFT and one.who == one.job:
        return "something of its items is not as usual"
    return words.format(who=short_name(one.who, LONGEST_WHO).replace("_", " "))


def describe_needs(troubles: Sequence[Trouble]) -> str:
    """The worst trouble, and how many more there are."""
    more = f", and {count_words(len(troubles) - 1, 'more alert')} {'is' if len(troubles) == 2 else 'are'} on"
    return f"{describe_need(troubles[0])}{more if len(troubles) > 1 else ''}"
