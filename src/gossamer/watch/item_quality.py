"""The profile of the items of an ended job, compared with earlier jobs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

from msgspec.structs import replace

from gossamer.core.archive import ArchiveEntry
from gossamer.core.drops import DropKind
from gossamer.core.errors import OperatorError
from gossamer.core.jobs import Job, JobTotals, StoredItem
from gossamer.core.lifecycle import FinishReason
from gossamer.core.record import Record
from gossamer.core.results import AttemptFilter, Verdict
from gossamer.policy.drift import ItemCounts, UsualFacts, find_drift, find_missing_items
from gossamer.policy.freshness import is_partial
from gossamer.policy.item_look import ItemFacts, measure_job
from gossamer.policy.job_profile import (
    JobProfile,
    decode_profile,
    encode_profile,
    score_items,
    usual_items,
)
from gossamer.policy.quality import (
    TypeProfile,
    field_errors,
    merge_profiles,
    profile_items,
    score_job,
    strip_sketches,
)
from gossamer.policy.url_groups import family_of
from gossamer.ports.clock import Clock
from gossamer.ports.item_reader import ItemReader
from gossamer.ports.job_store import JobStore
from gossamer.ports.ledger_reader import LedgerReader
from gossamer.ports.profile_store import ProfileStore
from gossamer.ports.store import Store

SAMPLE_BYTES = 4 * 2**20
"""Maximum size of a sample of items as JSON: of large items it has fewer."""
AT_ONCE = 250
"""Items examined before other tasks have their turn: a few milliseconds."""
CLOSER = 20
"""Factor of the sample if a field is worse than usual."""
DROP_SAMPLES = 200
CANDIDATES = 4
"""Earlier jobs to search for those with a profile, as a multiple of the wanted number."""
LATEST_PAGES = 200
"""Maximum pages after the latest item that are counted."""
SHOWN_PLACES = 10
"""Maximum findings whose page is searched for in the archive."""
PLACES_S = 5.0
"""Maximum seconds of that search: a file that is still being written is read as a whole."""


class QualityParts(Record, frozen=True, kw_only=True):
    """The stores to read, and the rules."""

    store: Store
    items: ItemReader
    ledger: LedgerReader
    book: JobStore
    profiles: ProfileStore
    clock: Clock
    sample: int
    baseline_jobs: int
    drift: float
    declare: Callable[[Job, Iterable[str]], dict[str, str] | None]  # kinds that fields declare; None: unknown
    find_page: Callable[[Job, str], Awaitable[ArchiveEntry | None]] | None = None  # None: without an archive


async def read_profile(parts: QualityParts, job: Job) -> JobProfile | None:
    """Return the profile that a job got when it ended. Raises ``StorageError``."""
    return decode_profile((await parts.profiles.read_profiles([job])).get(job.id))


async def ensure_profile(parts: QualityParts, job: Job) -> JobProfile:
    """Return the profile of an ended job; make a missing one. Raises ``StorageError``."""
    known = await read_profile(parts, job)
    if known is not None and known.at >= (job.finished_at or 0.0):
        return known
    return await place_findings(parts, job, await keep_profile(parts, job))


async def keep_profile(parts: QualityParts, job: Job, totals: JobTotals | None = None) -> JobProfile:
    """Make the profile of a job, and keep it; ``totals`` where they are known. Raises ``StorageError``.

    Its findings have no places yet: an archive may be slow, and must not keep them from being told.
    """
    made = await make_profile(parts, job, totals)
    await parts.profiles.save_profile(job, made.at, encode_profile(made))
    return made


async def accept_profile(parts: QualityParts, job: Job) -> JobProfile:
    """Make the items of a job the usual ones for later jobs. Raises ``StorageError``."""
    profile = replace(await ensure_profile(parts, job), accepted_at=parts.clock.now())
    await parts.profiles.save_profile(job, profile.at, encode_profile(profile))
    return profile


async def place_findings(parts: QualityParts, job: Job, profile: JobProfile) -> JobProfile:
    """A profile that is kept, with the places of the findings' pages in the archive as far as there is time.

    Raises nothing but ``StorageError``, when it cannot be kept so.
    """
    placed = await find_places(parts, job, profile)
    if placed != profile:
        await parts.profiles.save_profile(job, placed.at, encode_profile(placed))
    return placed


async def make_profile(
    parts: QualityParts,
    job: Job,
    totals: JobTotals | None = None,
    *,
    full: bool = False,
    looks_closer: bool = True,
) -> JobProfile:
    """Return the profile of a sample of a job's items, or of all (``full``). Raises ``StorageError``."""
    totals = totals or await parts.store.read_totals(job)
    usual = usual_items(await _read_earlier(parts, job), parts.baseline_jobs)
    facts = await _read_facts(parts, job, totals, parts.sample, usual, full=full)
    look = measure_job(facts)
    found = find_drift(facts, look, usual.fields, parts.drift)
    if looks_closer and found and facts.share < 1:  # a closer look, for the page from which on it is so
        facts = await _read_facts(parts, job, totals, CLOSER * parts.sample, usual, full=full)
        look = measure_job(facts)
        found = find_drift(facts, look, usual.fields, parts.drift)
    counts = await _count_items(parts, job, totals, facts)
    missing = find_missing_items(counts, usual, parts.drift)
    scores, worst = score_items(facts.items, usual.fields or look.fields, facts.declared)
    return JobProfile(
        job=job.id,
        at=parts.clock.now(),
        pages=totals.pages,
        items=totals.items,
        sampled=sum(profile.items for profile in facts.types),
        dropped=counts.dropped,
        errors=facts.errors,
        is_whole=counts.is_whole,
        types=strip_sketches(facts.types),
        fields=look.fields,
        usual=usual.fields,
        jobs=usual.jobs,
        declared=facts.declared,
        score=round(score_job(scores, counts.items, counts.dropped), 4),
        worst=worst,
        findings=((missing,) if missing else ()) + found,
    )


async def _read_facts(
    parts: QualityParts,
    job: Job,
    totals: JobTotals,
    limit: int,
    usual: UsualFacts,
    *,
    full: bool,
) -> ItemFacts:
    items = await parts.items.sample_items(job, limit, SAMPLE_BYTES)
    share = min(1.0, len(items) / totals.items) if totals.items else 1.0
    types: tuple[TypeProfile, ...] = ()
    async for some in _read_all(parts, job) if full else _slice(items):
        types = merge_profiles(types, profile_items(some))
        await asyncio.sleep(0)  # others have their turn
    declared = parts.declare(job, {one.type for one in types})
    return ItemFacts(
        items=tuple(items),
        share=share,
        types=types,
        counted=1.0 if full else share,
        declared=usual.declared if declared is None else declared,
        errors=field_errors(totals.dropped),
        samples=tuple(await parts.ledger.read_samples(job, limit=DROP_SAMPLES)) if totals.dropped else (),
    )


async def _slice(items: Sequence[StoredItem]) -> AsyncIterator[Sequence[StoredItem]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


async def _read_all(parts: QualityParts, job: Job) -> AsyncIterator[Sequence[StoredItem]]:
    some: list[StoredItem] = []
    async for item in parts.store.read_items(job):
        some.append(item)
        if len(some) >= AT_ONCE:
            yield some
            some = []
    yield some


async def _read_earlier(parts: QualityParts, job: Job) -> list[JobProfile]:
    """Return the profiles of earlier jobs of the same spider, newest first."""
    listed = [
        one
        for one in await parts.book.list_jobs()
        if one.name == job.name and one.id != job.id and one.created_at <= job.created_at
    ][: CANDIDATES * parts.baseline_jobs]
    kept = await parts.profiles.read_profiles(listed) if listed else {}
    found = (decode_profile(kept.get(one.id)) for one in listed)
    return [profile for profile in found if profile is not None and profile.pages]


async def _count_items(parts: QualityParts, job: Job, totals: JobTotals, facts: ItemFacts) -> ItemCounts:
    """Return how many items the pages gave, and how many of the last pages gave none."""
    counts = ItemCounts(
        pages=totals.pages,
        items=totals.items,
        dropped=DropKind.ITEM.count_in(totals.dropped),
        is_whole=job.end_reason is FinishReason.FINISHED and not is_partial(totals),
    )
    if is_partial(totals):
        return counts  # it saw pages that had changed and those that lead to others: not those of every crawl
    latest = max((item.last_seen for item in facts.items), default=job.created_at)
    latest = max([latest, *(sample.at for sample in facts.samples)])
    if any(item.last_seen < job.created_at for item in facts.items):
        return counts  # their times are those of an earlier job: the times in this one are unknown
    which = AttemptFilter(verdict=Verdict.SUCCESS, since=latest)
    rows = (await parts.ledger.page_attempts(job, LATEST_PAGES, which)).attempts
    places = {family_of(item.url) for item in facts.items}  # pages elsewhere, such as help, need have none
    places |= {family_of(sample.url) for sample in facts.samples}
    dry = [row for row in rows if row.at > latest and (not places or family_of(row.url) in places)]
    if not dry:
        return counts
    first = min(dry, key=lambda row: row.at)
    pages = len({item.url for item in facts.items})
    return replace(
        counts,
        item_pages=round(pages / facts.share),
        pages_since=len(dry),
        first_since=first.url,
        since=first.at,
    )


async def find_places(parts: QualityParts, job: Job, profile: JobProfile) -> JobProfile:
    """Return a profile with the findings' pages in the archive, if it has them."""
    if parts.find_page is None or not profile.findings:
        return profile
    placed = list(profile.findings)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PLACES_S):
            for number, finding in enumerate(placed[:SHOWN_PLACES]):
                if finding.url:
                    with contextlib.suppress(OperatorError):  # the archive may lack the page
                        entry = await parts.find_page(job, finding.url)
                        if entry is not None:
                            placed[number] = replace(finding, place=entry.location.text)
    return replace(profile, findings=tuple(placed))
