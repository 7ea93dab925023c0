"""Where a page without anything new comes from and leads to, as its groups of URLs see it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from gossamer.policy.trap_budgets import DescentKind
from gossamer.policy.trap_closing import FindCounts, is_bad
from gossamer.policy.url_groups import is_family, is_pattern, pattern_of, wider_groups_of
from gossamer.policy.url_parser import head_of

MAX_CHILDREN = 200
"""New URLs of a page that are looked at."""


def find_descents(
    groups: Sequence[str], via: str, children: Iterable[str], find_counts: FindCounts
) -> list[DescentKind]:
    """How a page that was found at ``via`` belongs to each of its groups, by the new URLs on it.

    A page that leads to another family, which may be good, is none of a trap in its own; the host, to which
    both belong, counts it nevertheless.
    """
    patterns = {pattern_of(url) for url in islice(children, MAX_CHILDREN)}
    new = {name for pattern in patterns for name in (pattern, *wider_groups_of(pattern))}
    family = next(filter(is_family, groups))
    leads_out = any(leads_elsewhere(family, one, find_counts) for one in patterns)
    origin = _origins_of(via, find_counts) if via else set()
    return [_descent_of(group, origin, new, leads_out=leads_out) for group in groups]


def leads_elsewhere(family: str | None, pattern: str, find_counts: FindCounts) -> bool:
    """Whether a page of a family that links to a pattern leads to possibly good pages of another family.

    Such a page does not spend, so nothing is given back for it.
    """
    return family not in wider_groups_of(pattern) and not is_bad(find_counts(pattern))


def _origins_of(via: str, find_counts: FindCounts) -> set[str]:
    """The groups in which a page was found; of its host, unless an ordinary page of that linked to it."""
    pattern = pattern_of(via)
    family, host = wider_groups_of(pattern)
    counts = find_counts(pattern)
    is_ordinary = via == head_of(via) or (counts is not None and not is_bad(counts))
    return {pattern, family} if is_ordinary else {pattern, family, host}


def _descent_of(group: str, origin: set[str], new: set[str], *, leads_out: bool) -> DescentKind:
    is_small = is_pattern(group) or is_family(group)
    if group not in origin or (leads_out and is_small):
        return DescentKind.OUTSIDE
    return DescentKind.BREEDER if group in new else DescentKind.LEAF
