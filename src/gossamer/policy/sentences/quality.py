"""Sentences about losses in a job's items. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.notes import CrawlNote, NoteKind, make_note
from gossamer.core.text import format_count
from gossamer.policy.drift import DriftFinding, FindingKind
from gossamer.policy.job_profile import JobProfile
from gossamer.policy.sentences.words import Saying, SentenceFormatter, short_name

LONGEST_URL = 200
NOTED = 3
"""Findings that have a note of their own."""


def describe_finding(finding: DriftFinding, job: str, show: SentenceFormatter) -> str:
    """Describe a loss in a job: its comparison, and the page where it began."""
    return f"{_say_what(finding, job)}.{_say_where(finding, show)}"


def note_findings(
    findings: Sequence[DriftFinding], job: str, show: SentenceFormatter
) -> tuple[CrawlNote, ...]:
    """Report the findings of a job at its end: the first in a note each, and how to see the others."""
    if not findings:
        return ()
    said = [describe_finding(finding, job, show).rstrip(".") for finding in findings[:NOTED]]
    more = len(findings) - len(said)
    others = f"{format_count(more, 'more finding')}: " if more else ""
    ways = f"shows the items' quality; if the site has changed for good: `gossamer accept {job}`"
    said.append(f"{others}`gossamer report quality {job}` {ways}")
    return tuple(make_note(NoteKind.QUALITY, text) for text in said)


def describe_quality(profile: JobProfile, show: SentenceFormatter) -> Saying:
    """Say whether a job's items are as good as usual, and the basis of the answer."""
    job, findings = profile.job, profile.findings
    dropped = f", {format_count(profile.dropped, 'item')} dropped" if profile.dropped else ""
    counts = f"{format_count(profile.items, 'item')} of {format_count(profile.pages, 'page')}{dropped}."
    if findings:
        first, more = findings[0], len(findings) - 1
        others = f" {format_count(more, 'more finding')}." if more else ""
        where = f"{_say_where(first, show)}{others} {counts}"
        return Saying(f"{_say_what(first, job)}.", where.strip())
    if not profile.items:
        return Saying(f"{job} has no items.", counts)
    usual = f"in {format_count(len(profile.jobs), 'earlier job')}" if profile.jobs else "at its beginning"
    return Saying(f"The data of {job} is as good as {usual}.", counts)


def _say_what(finding: DriftFinding, job: str) -> str:
    name, now, usual = short_name(finding.field), finding.now, finding.usual
    against = f"in {format_count(finding.jobs, 'earlier job')}" if finding.jobs else "before"
    if finding.kind is FindingKind.FILL:
        which = f"last {finding.count:,} items" if finding.count else "items"
        return (
            f"{_percent(1 - now)} of the {which} of {job} have no {name}; {against}, {_percent(usual)} had it"
        )
    if finding.kind is FindingKind.TYPE_ERRORS:
        which = f"last {finding.count:,} values" if finding.count else "values"
        wrong = f"{_percent(1 - now)} of the {which} of {name} in {job} are wrong or missing"
        return f"{wrong}; {against}, {_percent(1 - usual)} were"
    if finding.kind is FindingKind.DISTINCT:
        values = format_count(round(now), "different value")
        return f"{name} has {values} in {job}; {against}, it had {usual:,.0f}"
    if finding.kind is FindingKind.RANGE:
        below = f"are below {now:,g} for the most part; {against}, below {usual:,g}"
        return f"The numbers of {name} in {job} {below}"
    pages = format_count(finding.count, "page")
    if now:
        return f"{job} has {now:.2g} items a page; {against}, it had {usual:.2g}"
    last = "its last " if finding.url and not finding.jobs else "its "
    return f"{job} has found no item on {last}{pages}; {against}, a page had {usual:.2g}"


def _say_where(finding: DriftFinding, show: SentenceFormatter) -> str:
    if not finding.since:
        return ""
    archived = f" (archived: {finding.place})" if finding.place else ""
    return f" It began at {show.time(finding.since)} with {short_name(finding.url, LONGEST_URL)}{archived}."


def _percent(share: float) -> str:
    """A share in per cent; one that is not whole is never said to be, and one that is there not to be 0."""
    return "99%" if 0.995 <= share < 1 else "1%" if 0 < share < 0.005 else f"{share:.0%}"
