"""What is kept of the quality of a job's items: to be shown, and for later jobs to be compared with. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import msgspec

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record, Time
from gossamer.policy.drift import DriftFinding
from gossamer.policy.quality import FieldFacts, TypeProfile, list_wanted, median_of, score_item

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
    """What the items of a job looked like, and whether that was worse than usual."""

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
    findings: tuple[DriftFinding, ...] = ()  # what is worse than usual

    @property
    def per_page(self) -> float:
        """Items of a page, those that were dropped included."""
        return (self.items + self.dropped) / self.pages if self.pages else 0.0


encode_profile = msgspec.json.Encoder().encode


@cache
def _make_decoder() -> Callable[[bytes], JobProfile]:
    """What reads profiles, made for the first one: the first crawl of a spider finds none."""
    return msgspec.json.Decoder(JobProfile).decode


def decode_profile(record: bytes | None) -> JobProfile | None:
    """A profile as it was stored; ``None``: there is none, or another version wrote it."""
    try:
        return _make_decoder()(record) if record else None
    except msgspec.DecodeError:
        return None


def usual_per_page(profiles: Iterable[JobProfile]) -> float | None:
    """How many items a page of earlier jobs had; ``None``: nobody knows."""
    found = [profile.per_page for profile in profiles if profile.pages and profile.is_whole]
    return median_of(found) if found else None


def score_items(
    items: Sequence[StoredItem], usual: Mapping[str, FieldFacts]
) -> tuple[list[float], tuple[ItemScore, ...]]:
    """How good each item is, and the worst of those that lack something, the very worst first."""
    wanted = list_wanted(usual)
    found = [score_item(item, wanted.get(item.type, ())) for item in items]
    scores = [score for score, _ in found]
    worst = sorted((place for place, score in enumerate(scores) if score < 1), key=scores.__getitem__)
    return scores, tuple(_describe_score(items[place], *found[place]) for place in worst[:WORST_ITEMS])


def _describe_score(item: StoredItem, score: float, lacks: tuple[str, ...]) -> ItemScore:
    return ItemScore(type=item.type, key=item.key, url=item.url, score=round(score, 4), lacks=lacks)
