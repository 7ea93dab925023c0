"""The quality profile of a job's items, for display and for comparison with later jobs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import msgspec

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record, Time
from gossamer.policy.drift import DriftFinding, FindingKind, UsualFacts
from gossamer.policy.quality import (
    FieldFacts,
    TypeProfile,
    list_wanted,
    median_of,
    score_item,
    usual_of,
)

WORST_ITEMS = 5
"""Items that are named, those with the lowest scores."""


class ItemScore(Record, frozen=True, kw_only=True):
    """How good one item is."""

    type: str
    key: str
    url: str
    score: float  # from 0 to 1
    lacks: tuple[str, ...] = ()  # the usual fields that it has no value of


class JobProfile(Record, frozen=True, kw_only=True):
    """Statistics of a job's items, and findings worse than usual."""

    job: str  # its id
    at: Time  # when it was looked at
    pages: int
    items: int
    sampled: int  # items that were looked at
    dropped: int = 0  # items that were not taken
    errors: dict[str, int] = {}  # of these, by the field for which, as ``Product.price``
    is_whole: bool = True  # the job came to its end by itself
    types: tuple[TypeProfile, ...] = ()
    fields: dict[str, FieldFacts] = {}  # by ``Product.price``
    usual: dict[str, FieldFacts] = {}  # the same of earlier jobs; empty: there was none
    jobs: tuple[str, ...] = ()  # those
    score: float = 0.0  # from 0 to 1
    worst: tuple[ItemScore, ...] = ()
    findings: tuple[DriftFinding, ...] = ()  # findings worse than usual
    accepted_at: Time = 0.0  # when a person accepted the findings; 0: never
    declared: dict[str, str] | None = None  # kinds that types declare, by ``Product.price``; None: not known

    @property
    def losses(self) -> tuple[DriftFinding, ...]:
        """Findings worse than usual, unless they were accepted."""
        return () if self.accepted_at else self.findings

    @property
    def per_page(self) -> float:
        """Items of a page, those that were dropped included."""
        return (self.items + self.dropped) / self.pages if self.pages else 0.0


encode_profile = msgspec.json.Encoder().encode


@cache
def _make_decoder() -> Callable[[bytes], JobProfile]:
    """Make the decoder of profiles on first use: the first crawl of a spider has none to read."""
    return msgspec.json.Decoder(JobProfile).decode


def decode_profile(record: bytes | None) -> JobProfile | None:
    """A profile as it was stored; ``None``: there is none, or another version wrote it."""
    try:
        return _make_decoder()(record) if record else None
    except msgspec.DecodeError:
        return None


def usual_items(earlier: Iterable[JobProfile], most: int) -> UsualFacts:
    """Return the usual values from earlier jobs, the newest first, by at most ``most`` of them.

    A job with a loss does not change the usual values until it is accepted. The job accepted last counts;
    jobs examined before it are ignored.
    """
    earlier = tuple(earlier)
    accepted = max((one for one in earlier if one.accepted_at), key=lambda one: one.accepted_at, default=None)
    known: list[JobProfile] = []
    for profile in earlier:
        if accepted is None or profile is accepted or profile.at > accepted.accepted_at:
            known.append(profile)
        if profile is accepted:
            break
    if not known:
        return UsualFacts()
    names = dict.fromkeys(name for profile in known for name in (*profile.fields, *profile.usual))
    fields = {name: usual for name in names if (usual := _usual_field(known, name, most))}
    whole = [one for one in known if one.pages and one.is_whole and not _lacks_items(one)][:most]
    lacking = (found for one in known if (found := _lacks_items(one)) and found.jobs)
    lost = None if whole else next(lacking, None)
    return UsualFacts(
        jobs=tuple(one.job for one in known if not one.losses)[:most] or known[0].jobs,
        fields=fields,
        per_page=median_of(one.per_page for one in whole) if whole else lost.usual if lost else None,
        page_jobs=len(whole) or (lost.jobs if lost else 0),
        items=median_of(one.items + one.dropped for one in whole) if whole else 0.0,
        declared=known[0].declared,
    )


def _usual_field(known: Sequence[JobProfile], name: str, most: int) -> FieldFacts | None:
    """Return the usual values of one field; ``None`` if unknown."""
    kind, found = name.partition(".")[0], []
    for profile in known:
        number = sum(one.items for one in profile.types if one.type == kind)
        has_lost = any(one.field == name for one in profile.losses)
        facts = profile.fields.get(name) or (FieldFacts(fill=0, tail=0, items=number) if number else None)
        if facts is not None and not has_lost:
            found.append(facts)
    if found[:most]:
        return usual_of(found[:most])
    return next((one.usual[name] for one in known if name in one.usual), None)


def _lacks_items(profile: JobProfile) -> DriftFinding | None:
    """Return the finding, not yet accepted, that a job's pages gave fewer items."""
    kind = FindingKind.NO_ITEMS
    return next((one for one in profile.losses if one.kind is kind), None)


def score_items(
    items: Sequence[StoredItem],
    usual: Mapping[str, FieldFacts],
    declared: Mapping[str, str] | None = None,
) -> tuple[list[float], tuple[ItemScore, ...]]:
    """How good each item is, and the worst of those that lack something, the very worst first."""
    wanted = list_wanted(usual, declared)
    found = [score_item(item, wanted.get(item.type, ())) for item in items]
    scores = [score for score, _ in found]
    worst = sorted((place for place, score in enumerate(scores) if score < 1), key=scores.__getitem__)
    return scores, tuple(_describe_score(items[place], *found[place]) for place in worst[:WORST_ITEMS])


def _describe_score(item: StoredItem, score: float, lacks: tuple[str, ...]) -> ItemScore:
    return ItemScore(type=item.type, key=item.key, url=item.url, score=round(score, 4), lacks=lacks)
