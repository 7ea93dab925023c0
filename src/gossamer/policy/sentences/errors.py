"""Sentences about a job's failures: their causes, and advice for each fault."""

from __future__ import annotations

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.sentences.advice import ADVICE
from gossamer.policy.sentences.words import Saying, SentenceFormatter, count_words, short_name, start_sentence

BLAMED_SHARE = 0.4
"""A host with this share of all failures is named first."""


class FailureFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about a job's failures."""

    attempts: int = 0
    failures: int = 0  # failed attempts, without requests skipped on purpose
    reasons: int = 0  # how many kinds there are
    largest: str = ""  # the reason of most failures
    largest_count: int = 0
    largest_hosts: int = 0  # at how many hosts it was met
    host: str = ""  # with most failures
    host_failures: int = 0
    host_reason: str = ""  # of most of its failures
    host_since: float | None = None  # its first failure
    dead: int = 0


def describe_errors(facts: FailureFacts, show: SentenceFormatter) -> Saying:
    """Describe the commonest failure."""
    attempts = format_count(facts.attempts, "attempt")
    if not facts.failures:
        if not facts.attempts:
            return Saying("Nothing was fetched yet.", "Failures show here with the first attempts.")
        return Saying("Nothing fails.", f"{attempts}, none of them a failure.")
    second = f"{format_count(facts.failures, 'failure')} in {attempts}."
    if facts.dead:
        requests = start_sentence(count_words(facts.dead, "request"))
        second = f"{second} {requests} {'was' if facts.dead == 1 else 'were'} given up."
    if facts.host and facts.host_failures >= BLAMED_SHARE * facts.failures:
        since = f", since {show.time(facts.host_since)}" if facts.host_since is not None else ""
        share = _share_words(facts.host_failures, facts.failures)
        reason = f": {words_for(facts.host_reason)}" if facts.host_reason else ""
        return Saying(f"One host makes {share}, {short_name(facts.host)}{since}{reason}.", second)
    where = f" at {count_words(facts.largest_hosts, 'host')}" if facts.largest_hosts else ""
    if facts.reasons == 1:
        return Saying(f"One reason: {words_for(facts.largest)}{where}.", second)
    reasons = start_sentence(count_words(facts.reasons, "reason"))
    return Saying(f"{reasons}, the largest: {words_for(facts.largest)}{where}.", second)


def _share_words(part: int, whole: int) -> str:
    """A share in words where it is near one that has them."""
    share = part / whole
    if part == whole:
        return "all failures"
    if 0.45 <= share <= 0.55:
        return "half of all failures"
    return f"{min(int(share * 100), 99)}% of all failures"


_WORDS: dict[str, str] = {
    **{fault.value: row.words for fault, row in FAULTS.items()},
    LedgerReason.KNOWN_TARGET.value: "it redirects to a page that was known already",
    LedgerReason.STALE.value: "its lease was lost before it was settled",
}


def words_for(reason: str) -> str:
    """A reason of the ledger in words, with its name behind: ``an error of the server (server)``."""
    words = _WORDS.get(reason)
    return f"{words} ({reason})" if words else short_name(reason.replace("_", " ")) or "no reason given"


_FAULTS = frozenset(fault.value for fault in Fault)

_FATES = {
    FaultKind.SETTLED: "skipped: it will not change",
    FaultKind.THROTTLED: "tried again when the host said, at no charge",
    FaultKind.MACHINE: "tried again later, at no charge",
    FaultKind.UNANSWERED: "tried again with back-off; charged only if its host answers others",
    FaultKind.NAMELESS: "dead at once, unless its host has answered before",
    FaultKind.OVERLOAD: "tried again with back-off, then dead",
    FaultKind.TRANSIENT: "tried again with back-off, then dead",
    FaultKind.STEP: "dead at once; if the error may pass (a server is away), tried again with back-off first",
    FaultKind.LOST_WORKER: "handed out again, later each time, then dead",
    FaultKind.HOPELESS: "dead at once",
}


def fate_of(reason: str) -> str:
    """Describe the fate of a request with this reason; empty unless it is a fault."""
    return _FATES[FAULTS[Fault(reason)].kind] if reason in _FAULTS else ""


def advise_on(reason: str) -> str:
    """Return the advice for a reason in one sentence; empty unless it is a fault."""
    return ADVICE[Fault(reason)] if reason in _FAULTS else ""
