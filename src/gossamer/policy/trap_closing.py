"""Traps among groups of URLs: their detection, names, and refused URLs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gossamer.core.drops import DropKind
from gossamer.core.text import format_count
from gossamer.policy.trap_budgets import (
    ITEM_GAIN,
    PATTERN_MERCY,
    PROBED_RULES,
    WITNESS_EVERY,
    TrapBudgetRules,
    TrapCounts,
)
from gossamer.policy.url_groups import (
    domain_group_of,
    groups_of,
    is_domain,
    is_family,
    is_pattern,
    pattern_of,
    wider_groups_of,
)
from gossamer.policy.url_parser import head_of
from gossamer.policy.url_signs import find_month, find_session_ids

FEWEST_FOREIGN = 4
"""Pages that two hosts have to have in common before one of them can be the mirror of the other."""
CREDIT_SHARE = 20
"""A group may spend one page more for so many that it has given back."""
FEW_PAGES = 3
"""Pages from which on a group is known."""

MOST_NAMES = 3
"""Groups that are named in one warning."""
_NOTHING_CLOSED: Mapping[str, TrapCounts] = {}

FindCounts = Callable[[str], "TrapCounts | None"]
"""Returns the counts of a group; ``None`` if unknown."""


def find_rule(
    group: str, counts: TrapCounts, rules: TrapBudgetRules, spending: Mapping[str, TrapCounts]
) -> str:
    """The rule that closes a group, as links are counted by it; empty: it stays open.

    ``spending`` are all groups that are closed, or have spent ``least_spending`` pages.
    """
    if _is_reached(counts.pages, rules.max_per_pattern) and is_pattern(group):
        return "trap_pattern"
    if _is_reached(counts.pages, rules.max_per_domain) and is_domain(group):
        return "trap_domain"
    if counts.foreign >= FEWEST_FOREIGN and not counts.seeds and counts.foreign * 2 >= counts.witnesses:
        compared = min(counts.foreign, counts.witnesses)  # workers may find the same page with several hosts
        if _is_reached(2 * WITNESS_EVERY * compared, rules.closes_at):
            return "trap_mirror"
    is_spent = counts.spent > 0 and not is_domain(group) and _has_spent_all(group, counts, rules, spending)
    return _name_trap(group, counts) if is_spent else ""


def _has_spent_all(
    group: str, counts: TrapCounts, rules: TrapBudgetRules, spending: Mapping[str, TrapCounts]
) -> bool:
    limit = rules.closes_at
    if limit is None or counts.spent < rules.least_spending:
        return False
    limit += min(counts.gained // CREDIT_SHARE, limit)
    head = head_of(group)
    others = [name for name in spending if name.startswith(head) and name != group]
    families = [name for name in others if is_family(name)]
    if not is_family(group) and not is_pattern(group):
        return counts.spent - sum(spending[name].spent for name in families) >= limit
    family = group if is_family(group) else wider_groups_of(group)[0]
    patterns = [name for name in others if is_pattern(name) and spending[name].rule]
    closed = [name for name in patterns if family in wider_groups_of(name)]
    inside = sum(spending[name].spent for name in closed) if group == family else 0
    rivals = len(closed) + sum(name != family for name in families)
    return counts.spent - inside >= max(rules.least_spending, limit >> rivals)


def _is_reached(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _name_trap(group: str, counts: TrapCounts) -> str:
    """Return the kind of trap that a group looks like, used only for its name."""
    if counts.barren * 2 > counts.wasted:
        return "trap_parameters" if group.endswith("?*") else "trap_calendar"
    if find_month(counts.example) is not None:
        return "trap_calendar"
    if find_session_ids(counts.example):
        return "trap_session"
    if group.endswith("?*"):
        return "trap_parameters"
    if group.endswith("*"):
        return "trap_soft_404"
    return "trap_same_content" if counts.copies >= counts.near else "trap_near_duplicate"


def describe_trap(group: str, counts: TrapCounts) -> str:
    """Describe a group: the rule that closes it, its URLs, and their cost."""
    rule = f"{counts.rule}: " if counts.rule else ""
    group = group.removesuffix("?")
    if counts.rule in ("trap_pattern", "trap_domain"):
        were = "was" if counts.pages == 1 else "were"
        return f"{rule}{format_count(counts.pages, 'page')} of {group} {were} fetched"
    if counts.rule == "trap_mirror":
        same = f"{counts.foreign:,} of {format_count(counts.witnesses, 'page')} that were compared"
        return f"{rule}{same} of {group} are those of another host"
    brought = f"{counts.wasted:,} of {format_count(counts.pages, 'page')} of {group}"
    return f"{rule}{brought} brought nothing new"


def count_left_out(dropped: Mapping[str, int]) -> int:
    """Return the number of links skipped because their groups are closed, by a job's drop counts.

    Links over a person's limit, and links refused by their path alone, are not included.
    """
    return sum(dropped.get(DropKind.LINK.key_of(rule), 0) for rule in (*PROBED_RULES, "trap_mirror"))


def warn_of_traps(job: str, links: int, closed: Mapping[str, TrapCounts] = _NOTHING_CLOSED) -> str:
    """Describe skipped links, with the command that queues them again."""
    most = sorted(closed, key=lambda group: (-closed[group].refused, group))[:MOST_NAMES]
    named = ", ".join(group.removesuffix("?") for group in most)
    more = f" and {len(closed) - len(most):,} more" if len(closed) > len(most) else ""
    where = f" of {named}{more}" if named else ""
    report = f"`gossamer report traps {job}` lists them, and " if job else ""
    return (
        f"{format_count(links, 'link')}{where} {'was' if links == 1 else 'were'} not followed: pages like "
        "them brought nothing new, so they count as a trap (traps.max_worthless). If you want them, "
        f"{report}the same command with `--fresh -s traps.max_worthless=none` queues them again"
    )


# --------------------------------------------------------------------------- refused URLs


def find_closed(url: str, via: str, closed: Mapping[str, TrapCounts], find_counts: FindCounts) -> str | None:
    """Return the closed group that refuses a URL found at ``via``; ``None`` if it is allowed.

    ``closed`` has the closed groups; ``find_counts`` returns the counts of any group.
    """
    pattern, family, host = groups_of(url)
    if pattern in closed:
        return pattern
    if host in closed and closed[host].rule == "trap_mirror":
        return host
    domain = domain_group_of(url)
    if domain in closed and (closed[domain].rule == "trap_domain" or not _is_original(find_counts(host))):
        return domain  # but a host with pages of its own stays open for mirrors
    if family in closed and not _is_good(find_counts(pattern)):
        return family
    if host not in closed or via == head_of(via):
        return None
    is_good = any(_is_good(find_counts(group)) for group in (pattern, family, pattern_of(via)))
    return None if is_good else host


def _is_good(counts: TrapCounts | None) -> bool:
    """Whether a group's pages were worth their cost, or some are known and all brought something."""
    if counts is None:
        return False
    gained = counts.gained + (PATTERN_MERCY - 1) * ITEM_GAIN * counts.items
    return gained > counts.wasted or (counts.pages >= FEW_PAGES and not counts.wasted)


def is_bad(counts: TrapCounts | None) -> bool:
    """Whether pages of a group are known, and most of them brought nothing."""
    return counts is not None and counts.wasted > counts.gained


def _is_original(host: TrapCounts | None) -> bool:
    """Whether a person has named a page of a host, or it is known to have pages that no older one has."""
    if host is None:
        return False
    return host.seeds > 0 or (host.witnesses > 0 and host.foreign * 2 < host.witnesses)
