"""How good the items of a job are, field by field, and what of them is worse than usual."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.notes import CrawlNote, NoteKind, make_note
from gossamer.core.record import Record, Time
from gossamer.observe.sentences import formatter_at
from gossamer.policy.drift import DriftFinding
from gossamer.policy.job_profile import ItemScore, JobProfile
from gossamer.policy.quality import FieldProfile, TypeProfile, count_misfits, wanted_kind
from gossamer.policy.sentences.quality import describe_finding, describe_quality, note_findings
from gossamer.queries.bounds import fit_rows
from gossamer.queries.drops import DropReport, report_drops
from gossamer.watch.item_quality import ensure_profile, find_places, make_profile, read_profile
from gossamer.wiring.backends import Backends
from gossamer.wiring.quality import quality_parts_of

FIELD_BYTES = 25_000
"""Maximum size of the fields in a report."""
OTHER_BYTES = 5_000
"""Maximum size of each other part of a report."""
NOTES_S = 10.0
"""How long the look at the items of a job may take before its notes are given without it, in seconds."""


class FieldReport(Record, frozen=True, kw_only=True):
    """One field of the items of one type."""

    type: str
    field: str
    items: int  # of this type that were looked at
    filled: int  # of these that have it
    fill: float  # the share of them
    usual_fill: float | None  # ... in earlier jobs; None: there was none
    kind: str  # what its values are: text, number, decimal, date, boolean, list, object
    wrong: int  # values of another kind
    dropped: int  # items that were not taken because of it, of the whole job
    errors: float  # the share of its values that were wrong, or dropped their items, at its worst
    distinct: int  # different values; an estimate where there are many
    least: float | None  # of the numbers
    most: float | None
    shortest: int | None  # characters of the texts, values of the lists
    longest: int | None


class FindingReport(DriftFinding, frozen=True, kw_only=True):
    """A finding worse than usual, also as a sentence."""

    text: str


class QualityReport(Record, frozen=True, kw_only=True):
    """How good the items of a job are."""

    job: str
    at: Time  # when they were looked at
    say: tuple[str, str]  # whether they are as good as usual, and the basis of the answer
    pages: int
    items: int
    sampled: int  # items that were looked at
    dropped: int
    score: float  # from 0 to 1
    jobs: tuple[str, ...]  # earlier jobs that define the usual
    fields: tuple[FieldReport, ...]
    more_fields: int = 0  # that are left out
    worst: tuple[ItemScore, ...]  # the items with the lowest scores
    findings: tuple[FindingReport, ...]
    drops: tuple[DropReport, ...]  # drops by reason, the largest first
    accepted_at: Time = 0.0  # when a person accepted the result; 0: never


async def report_quality(backends: Backends, job: Job, *, full: bool = False) -> QualityReport:
    """The quality of a job's items, as it was when the job ended; or now: of one that runs, or of all items.

    Raises ``StorageError``.
    """
    parts = quality_parts_of(backends.settings, backends)
    profile = None if full or job.end_reason is None else await read_profile(parts, job)
    profile = profile or await find_places(parts, job, await make_profile(parts, job, full=full))
    show = formatter_at(backends.clock.now())
    drops = await report_drops(backends.ledger, job, await backends.store.read_totals(job))
    return QualityReport(
        job=profile.job,
        at=profile.at,
        say=describe_quality(profile, show),
        pages=profile.pages,
        items=profile.items,
        sampled=profile.sampled,
        dropped=profile.dropped,
        score=profile.score,
        jobs=profile.jobs,
        fields=tuple(_report_field(profile, kind, field) for kind in profile.types for field in kind.fields)
        + _report_missing(profile),
        worst=profile.worst,
        findings=tuple(
            FindingReport(
                **{name: getattr(one, name) for name in one.__struct_fields__},
                text=describe_finding(one, job.id, show),
            )
            for one in profile.findings
        ),
        drops=drops,
        accepted_at=profile.accepted_at,
    )


async def read_quality_notes(backends: Backends, job: Job) -> tuple[CrawlNote, ...]:
    """Return findings about an ended job's items, as its crawl reports them at the end.

    A fleet's job is examined now if that has not happened yet; a crawl on one machine does it itself.
    """
    parts = quality_parts_of(backends.settings, backends)
    try:
        async with asyncio.timeout(NOTES_S):
            profile = await (ensure_profile if job.is_fleet else read_profile)(parts, job)
    except (StorageError, TimeoutError) as error:
        why = str(error) or "it took too long"
        return (make_note(NoteKind.QUALITY, f"the items could not be looked at ({why}); they are stored"),)
    show = formatter_at(backends.clock.now())
    return note_findings(profile.losses, job.id, show) if profile is not None else ()


def cut_quality(report: QualityReport) -> QualityReport:
    """The report in bounded size. Fields that have become worse come before others."""
    worse = {finding.field for finding in report.findings}
    ordered = sorted(report.fields, key=lambda field: f"{field.type}.{field.field}" not in worse)
    fields = fit_rows(ordered, FIELD_BYTES)
    drops = [
        drop if drop.sample is None else replace(drop, sample=replace(drop.sample, data={}))
        for drop in report.drops
    ]
    return replace(
        report,
        fields=tuple(fields),
        more_fields=len(ordered) - len(fields),
        worst=tuple(fit_rows(report.worst, OTHER_BYTES)),
        findings=tuple(fit_rows(report.findings, OTHER_BYTES)),
        drops=tuple(fit_rows(drops, OTHER_BYTES)),
    )


def _report_field(profile: JobProfile, kind: TypeProfile, field: FieldProfile) -> FieldReport:
    name = f"{kind.type}.{field.field}"
    known, usual = profile.fields.get(name), profile.usual.get(name)
    found = usual.kind if usual and usual.kind else known.kind if known else ""
    meant = wanted_kind(name, found, profile.declared)
    return FieldReport(
        type=kind.type,
        field=field.field,
        items=kind.items,
        filled=field.filled,
        fill=round(field.filled / kind.items, 4) if kind.items else 0.0,
        usual_fill=round(usual.fill, 4) if usual else None,
        kind=known.kind if known and known.kind else found,
        wrong=count_misfits(field.kinds, meant),
        dropped=profile.errors.get(name, 0),
        errors=round(known.errors, 4) if known else 0.0,
        distinct=field.distinct,
        least=field.least,
        most=field.most,
        shortest=field.shortest,
        longest=field.longest,
    )


def _report_missing(profile: JobProfile) -> tuple[FieldReport, ...]:
    """Fields that no item has: those of earlier jobs, and those for which all items were dropped."""
    there = {f"{kind.type}.{field.field}" for kind in profile.types for field in kind.fields}
    numbers = {kind.type: kind.items for kind in profile.types}
    missing = [name for name in dict.fromkeys((*profile.usual, *profile.errors)) if name not in there]
    return tuple(
        _report_field(profile, TypeProfile(type=kind, items=numbers.get(kind, 0)), FieldProfile(field=field))
        for kind, _, field in (name.partition(".") for name in missing)
    )
