"""Items as sites give them, made from a seed: shops, libraries, job markets; ordinary days, and real losses.

A *product* is an identity with values that do not change; a site writes it as an item, with a price of the
day. A crawl is the items of one job in the order of their pages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gossamer.core.drops import DropSample
from gossamer.core.jobs import StoredItem
from gossamer.policy.drift import ItemCounts, find_drift, find_missing_items
from gossamer.policy.item_look import ItemFacts, measure_job
from gossamer.policy.job_profile import JobProfile, usual_items
from gossamer.policy.quality import profile_items
from gossamer.policy.url_groups import family_of

DRIFT = 0.3
BASELINE_JOBS = 5
SAMPLE = 500
HOST = "http://shop.test"

Values = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page with one item, or with none (``data`` is ``None``)."""

    url: str
    data: Values | None
    type: str = "Product"
    dropped: str = ""  # the reason for which the item is not taken


@dataclass(frozen=True)
class Crawl:
    """One job of a spider."""

    pages: Sequence[Page]
    is_whole: bool = True
    declared: dict[str, str] | None = None  # kinds of fields that the spider declares


@dataclass
class History:
    """The jobs of one spider, each looked at after those before."""

    profiles: list[JobProfile] = field(default_factory=list)  # the newest first

    def look_at(self, crawl: Crawl) -> JobProfile:
        """The profile of the next job, as the look at the end of a crawl makes it."""
        number = len(self.profiles) + 1
        facts, counts = _facts_of(crawl)
        look = measure_job(facts)
        usual = usual_items(self.profiles, BASELINE_JOBS)
        missing = find_missing_items(counts, usual, DRIFT)
        profile = JobProfile(
            job=f"shop-{number}",
            at=float(number),
            pages=counts.pages,
            items=counts.items,
            sampled=len(facts.items),
            dropped=counts.dropped,
            is_whole=crawl.is_whole,
            types=facts.types,
            fields=look.fields,
            usual=usual.fields,
            jobs=usual.jobs,
            declared=crawl.declared,
            findings=((missing,) if missing else ()) + find_drift(facts, look, usual.fields, DRIFT),
        )
        self.profiles.insert(0, profile)
        return profile


def _facts_of(crawl: Crawl) -> tuple[ItemFacts, ItemCounts]:
    items, samples, errors, latest = [], [], {}, 0
    for number, page in enumerate(crawl.pages):
        at = 1000.0 + number
        if page.dropped:
            name = page.dropped.partition(":")[0]
            errors[name] = errors.get(name, 0) + 1
            samples.append(DropSample(reason=page.dropped, type=page.type, url=page.url, at=at, data=b"{}"))
        elif page.data is not None:
            times = {"first_seen": at, "last_seen": at, "changed_at": at}
            own = {"type": page.type, "key": str(number), "data": page.data, "url": page.url}
            items.append(StoredItem(id=number, **own, **times))
        latest = number if page.dropped or page.data is not None else latest
    step = max(1, -(-len(items) // SAMPLE))
    some = items[::step]
    share = len(some) / len(items) if items else 1.0
    facts = ItemFacts(
        items=tuple(some), share=share, types=profile_items(some), counted=share, errors=errors,
        samples=tuple(samples[:200]), declared=crawl.declared,
    )  # fmt: skip
    places = {family_of(page.url) for page in crawl.pages if page.data is not None or page.dropped}
    dry = [page for page in crawl.pages[latest + 1 :] if not places or family_of(page.url) in places]
    counts = ItemCounts(
        pages=len(crawl.pages), items=len(items), dropped=sum(errors.values()), is_whole=crawl.is_whole,
        item_pages=len(items), pages_since=len(dry), first_since=dry[0].url if dry else "", since=1.0,
    )  # fmt: skip
    return facts, counts


# --------------------------------------------------------------------------- what sites have


def product(number: int) -> Values:
    """A product as it is every day."""
    own = random.Random(number)
    return {
        "sku": f"{own.randrange(10**6):06d}",
        "name": f"Vase No. {number}",
        "price": f"{own.uniform(5, 500):.2f}",
        "brand": own.choice(["Meissen", "Rosenthal", "KPM", "Arabia", "Iittala", "Alessi"]),
        "colour": own.choice(["red", "blue", "green"]) if own.random() < 0.7 else None,
        "discount": f"{own.uniform(0.1, 90):.1f}" if own.random() < 0.06 else None,
        "reviews": int(own.paretovariate(1.2)) - 1,
    }


def priced(values: Values, day: int) -> Values:
    """The same on another day: most prices have changed, some by much."""
    own = random.Random(f"{values['sku']} {day}")
    factor = own.choice([1.0, own.uniform(0.85, 1.15), own.uniform(0.5, 1.6)])
    return {**values, "price": f"{float(values['price']) * factor:.2f}"}


def book(number: int) -> Values:
    """One of two kinds of things of a shop for media."""
    own = random.Random(f"book {number}")
    return {"title": f"Book {number}", "price": f"{own.uniform(5, 60):.2f}", "kind": "Book",
            "isbn": f"978{own.randrange(10**10):010d}"}  # fmt: skip


def record(number: int) -> Values:
    """The other one: it has no ISBN."""
    own = random.Random(f"record {number}")
    return {"title": f"Record {number}", "price": f"{own.uniform(5, 60):.2f}", "kind": "Record",
            "label": own.choice(["Blue Note", "ECM", "Verve"])}  # fmt: skip


def pages_of(values: Iterable[Values], place: str = "p", kind: str = "Product") -> list[Page]:
    """A page for each, below one directory."""
    return [Page(f"{HOST}/{place}/{number}", one, kind) for number, one in enumerate(values)]


def shop(size: int, day: int = 0, *, first: int = 0) -> list[Page]:
    """The products of a shop on a day."""
    return pages_of(priced(product(number), day) for number in range(first, first + size))


def without(pages: Sequence[Page], *names: str, since: int = 0, share: float = 1.0) -> list[Page]:
    """The same pages after a change of the markup: fields are not found from a page on."""
    own = random.Random(7)
    return [
        page
        if number < since or page.data is None or own.random() >= share
        else Page(page.url, {**page.data, **dict.fromkeys(names)}, page.type)
        for number, page in enumerate(pages)
    ]


def changed(pages: Sequence[Page], change: Callable[[Values], Values], *, since: int = 0) -> list[Page]:
    """The same pages with other values from a page on."""
    return [
        page if number < since or page.data is None else Page(page.url, change(page.data), page.type)
        for number, page in enumerate(pages)
    ]


def shuffled(pages: Sequence[Page], seed: int = 1) -> list[Page]:
    """The same pages in another order."""
    mixed = list(pages)
    random.Random(seed).shuffle(mixed)
    return mixed


def empty(number: int, place: str = "help") -> list[Page]:
    """Pages without items."""
    return [Page(f"{HOST}/{place}/{n}", None) for n in range(number)]
