"""Items that were dropped: how many for which reason, with an example of each."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.core.drops import DropKind, DropSample
from gossamer.core.jobs import Job, JobTotals
from gossamer.core.record import Record, Time
from gossamer.policy.quality import field_of_reason
from gossamer.ports.ledger_reader import LedgerReader
from gossamer.queries.bounds import cut_text, cut_values

MOST_REASONS = 20
"""Number of reasons shown, those with most items first."""
SAMPLES = 500
"""Examples of a job among which those of a page are looked for."""
SHOWN_VALUE = 80
"""Maximum length of an item's value in a sentence, in characters."""


class DroppedItem(Record, frozen=True, kw_only=True):
    """An item that was dropped, as an example."""

    reason: str  # ``Product.price: not a number``
    stage: str  # of the pipeline, that dropped it; empty: its own type did
    type: str
    url: str  # of the page it was found on
    at: Time  # when that was visited
    value: str  # as JSON, short: that of the field which the reason names, or else all of its fields
    data: dict[str, Any]  # its fields, long values cut; empty: they could not be read


class DropReport(Record, frozen=True, kw_only=True):
    """Items dropped for one reason."""

    reason: str
    items: int
    sample: DroppedItem | None  # the earliest; None: none was kept


async def report_drops(ledger: LedgerReader, job: Job, totals: JobTotals) -> tuple[DropReport, ...]:
    """The reasons for which most of a job's items were dropped, with examples. Raises ``StorageError``."""
    counts = DropKind.ITEM.select_from(totals.dropped)
    largest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_REASONS]
    found = []
    for reason, items in largest:
        samples = await ledger.read_samples(job, reason, 1)
        sample = describe_sample(samples[0]) if samples else None
        found.append(DropReport(reason=reason, items=items, sample=sample))
    return tuple(found)


async def find_drops(ledger: LedgerReader, job: Job, url: str) -> tuple[DroppedItem, ...]:
    """The examples that were found on a page. Raises ``StorageError``."""
    samples = await ledger.read_samples(job, limit=SAMPLES)
    return tuple(describe_sample(sample) for sample in samples if sample.url == url)


def describe_sample(sample: DropSample) -> DroppedItem:
    """An example with its fields, as far as they can be read."""
    try:
        data = msgspec.json.decode(sample.data, type=dict[str, Any])
    except msgspec.DecodeError:
        data = {}
    return DroppedItem(
        reason=sample.reason,
        stage=sample.stage,
        type=sample.type,
        url=sample.url,
        at=sample.at,
        value=_shorten_value(sample.reason, data),
        data=cut_values(data),
    )


def _shorten_value(reason: str, data: dict[str, Any]) -> str:
    field = field_of_reason(reason).partition(".")[2]
    value = data.get(field) if field else data
    return cut_text(msgspec.json.encode(value).decode(), SHOWN_VALUE) if data else ""
