"""Rows of known pages as records, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.core.freshness import FreshnessCounts, KnownPage, RateEstimate
from gossamer.core.results import VisitResult
from gossamer.policy.freshness import rate_class_of

FIELDS = (
    "fingerprint", "url", "host", "request", "due_at", "etag", "modified", "body_hash", "job", "checked_at",
    "changed_at", "checks", "changes", "shape", "span_s", "rate_class", "interval_s", "gone_at",
)  # fmt: skip
"""The columns, in their order; before them stands the spider."""
_OF_RATE = frozenset({"shape", "span_s", "rate_class"})
_COUNTS = tuple(name for name in FreshnessCounts.__struct_fields__ if name != "median_interval_s")


def known_pages_of(results: Sequence[VisitResult]) -> list[KnownPage]:
    """Return the known pages of a batch, each once, as its latest check has left it; by their fingerprints.

    In that order all writers lock their rows.
    """
    pages: dict[int, KnownPage] = {}
    for result in results:
        for page in result.known:
            former = pages.get(page.fingerprint)
            if former is None or page.checked_at >= former.checked_at:
                pages[page.fingerprint] = page
    return [pages[fingerprint] for fingerprint in sorted(pages)]


def row_of_page(page: KnownPage) -> tuple[Any, ...]:
    """Return the columns of a record."""
    rate = {
        "shape": page.rate.shape,
        "span_s": page.rate.span_s,
        "rate_class": rate_class_of(page.rate),
    }
    return tuple(rate[name] if name in _OF_RATE else getattr(page, name) for name in FIELDS)


def page_of(row: Iterable[Any]) -> KnownPage:
    """Return the record of a row."""
    values = dict(zip(FIELDS, row, strict=True))
    shape, span_s, _ = (values.pop(name) for name in ("shape", "span_s", "rate_class"))
    return KnownPage(rate=RateEstimate(shape=shape, span_s=span_s), **values)


def counts_of(row: Sequence[Any] | None, median_s: float | None) -> FreshnessCounts:
    """Return the counts of a row with sums in the order of the record's fields; absent ones are 0."""
    values = {name: int(value or 0) for name, value in zip(_COUNTS, row or (), strict=False)}
    return FreshnessCounts(**values, median_interval_s=median_s)
