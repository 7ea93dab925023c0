"""Spider traps: sites that never end, and the rules that bound each of them. Pure.

Two rules look at a URL alone (those of the Heritrix crawler): paths that repeat themselves, as relative links
on a catch-all page produce, and paths that are too deep. The others count the URLs of one pattern
(``?page=1``, ``?page=2`` ...) and of one registrable domain, and the pages of a host with the same text,
whose links are no longer followed beyond a limit. Counts live in memory: a budget holds for one run of one
process.
"""

from __future__ import annotations

from gossamer.core.lazy import lazy_pattern
from gossamer.core.record import Record
from gossamer.policy import urls
from gossamer.policy.url_groups import family_of, pattern_of
from gossamer.policy.url_parser import head_of

MAX_PERIOD = 8  # segments of a group that repeats: ``/a/b/a/b/a/b`` has two
MAX_COUNTED = 200_000
"""Numbers that are kept of bodies, and members of budgets; about 20 MB each. Beyond it the rare go first."""
SKELETON_BYTES = 64 * 1024

_WORD = lazy_pattern(rb"(?<![\w%\x80-\xff-])[A-Za-z_%\x80-\xff-]{1,40}(?![\w%\x80-\xff-])")


class TrapRules(Record, frozen=True, kw_only=True):
    """The bounds; ``None`` is none."""

    max_segments: int | None = 20
    max_repeats: int | None = 2  # how often a segment, or a group of them, may follow itself
    max_same_body: int | None = 1000  # pages of a host with one content whose links are followed
    max_per_pattern: int | None = None
    max_per_domain: int | None = None


DEFAULT_RULES = TrapRules()


def path_trap(url: str, rules: TrapRules) -> str | None:
    """Why the path of a canonical URL looks like a trap: ``trap_segments``, ``trap_repeats``, or ``None``."""
    start = url.find("/", 8)
    path = url[start + 1 :].partition("?")[0].removesuffix("/") if start >= 0 else ""
    slashes = path.count("/")
    if rules.max_segments is not None and slashes >= rules.max_segments:
        return "trap_segments"
    if rules.max_repeats is None or slashes < rules.max_repeats:
        return None
    segments = path.split("/")
    if len(set(segments)) == len(segments):
        return None
    longest = min(MAX_PERIOD, len(segments) // (rules.max_repeats + 1))
    repeats = any(_has_repeats(segments, period, rules.max_repeats) for period in range(1, longest + 1))
    return "trap_repeats" if repeats else None


def _has_repeats(segments: list[str], period: int, most: int) -> bool:
    """Whether a group of ``period`` segments stands more than ``most`` times in a row."""
    run = 0
    for one, next_one in zip(segments, segments[period:], strict=False):
        run = run + 1 if one == next_one else 0
        if run >= period * most:
            return True
    return False


class TrapCounter:
    """The rules with their counts."""

    def __init__(self, rules: TrapRules = DEFAULT_RULES) -> None:
        self._rules = rules
        self._members: dict[str, set[int]] = {}
        self._full: set[str] = set()
        self._taken = 0
        self._bodies: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<TrapCounter: {len(self._members)} groups, {len(self._bodies)} contents>"

    def check_url(self, url: str, fingerprint: int) -> str | None:
        """Why a URL is not taken, else ``None``, and then it is counted: ``trap_segments``, ``trap_repeats``,
        ``trap_pattern``, ``trap_domain``. Asking again for a URL that was taken changes nothing.
        """
        trap = path_trap(url, self._rules)
        if trap is not None:
            return trap
        per_pattern, per_domain = self._rules.max_per_pattern, self._rules.max_per_domain
        if per_pattern is not None and not self._take_member(pattern_of(url), fingerprint, per_pattern):
            return "trap_pattern"
        if per_domain is not None:
            domain = urls.registrable_domain(urls.hostname_of(url))
            if not self._take_member(domain, fingerprint, per_domain):
                return "trap_domain"
        return None

    def _take_member(self, group: str, fingerprint: int, budget: int) -> bool:
        members = self._members.get(group)
        if members is not None and fingerprint in members:
            return True
        if group in self._full:
            return False
        if members is None:
            members = self._members[group] = set()
        members.add(fingerprint)
        self._taken += 1
        if len(members) >= budget:
            self._full.add(group)
        if self._taken > MAX_COUNTED:
            self._members.clear()
            self._taken = 0
        return True

    def is_copy(self, url: str, via: str, body: bytes) -> bool:
        """Whether this content was found too often at its host, on pages linked from their own family.

        Counts it.

        Contents are equal byte by byte. If the same path answers many queries with as many bytes, they are
        equal when they have the same words, except those with digits (session ids). They are compared only
        after half of the budget's pages of one size.
        """
        most = self._rules.max_same_body
        if most is None:
            return False
        host = head_of(url)
        if self._count_content(hash((host, len(body)))) <= most // 2:
            return False
        if not via or family_of(via) != family_of(url):  # of a finite set all links are followed
            return False
        if self._count_content(hash((host, body))) > most - most // 2:
            return True
        path, mark, _ = url.partition("?")
        if not mark or self._count_content(hash((path, len(body)))) <= most // 10:
            return False
        return self._count_content(hash((host, *_WORD.findall(body[:SKELETON_BYTES])))) > most

    def _count_content(self, content: int) -> int:
        """How often this was seen, this time included."""
        count = self._bodies[content] = self._bodies.get(content, 0) + 1
        if len(self._bodies) > MAX_COUNTED:
            self._bodies = {known: times for known, times in self._bodies.items() if times > 1}
            if len(self._bodies) > MAX_COUNTED // 2:
                self._bodies.clear()
        return count
