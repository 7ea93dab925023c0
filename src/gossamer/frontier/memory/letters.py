"""The dead letters of the memory frontier, as a person looks at them."""

from __future__ import annotations

from collections import Counter

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetter, DeadLetterFilter, LetterCounts, LetterPlace, LetterRows
from gossamer.frontier.memory.rows import RequestRow
from gossamer.frontier.memory.steering import SteeredHosts
from gossamer.frontier.paced_hosts import Paces
from gossamer.ports.clock import Clock


class MemoryLetters(SteeredHosts):
    """The methods of ``FrontierAdmin`` that read dead letters."""

    def __init__(self, rules: FrontierRules, clock: Clock, paces: Paces = None) -> None:
        super().__init__(rules, clock, paces)
        self._dead: dict[int, RequestRow] = {}

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return self._sorted_letters(which)[:limit]

    async def page_letters(
        self, which: DeadLetterFilter, limit: int, before: LetterPlace | None = None
    ) -> LetterRows:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        found = [
            letter
            for letter in reversed(self._sorted_letters(which))
            if before is None or (letter.died_at, letter.id) < before
        ]
        last = found[limit - 1] if len(found) > limit else None
        return LetterRows(
            letters=tuple(found[:limit]), next_before=None if last is None else (last.died_at, last.id)
        )

    async def count_letters(self, which: DeadLetterFilter) -> LetterCounts:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return LetterCounts(by_reason=dict(Counter(item.reason for item in self._find_letters(which))))

    def _sorted_letters(self, which: DeadLetterFilter) -> list[DeadLetter]:
        chosen = sorted(self._find_letters(which), key=lambda item: (item.died_at, item.id))
        return [
            DeadLetter(
                id=item.id,
                entry=item.entry,
                reason=item.reason,
                attempts=item.attempts,
                died_at=item.died_at,
            )
            for item in chosen
        ]

    def _find_letters(self, which: DeadLetterFilter) -> list[RequestRow]:
        ids = set(which.ids)
        return [item for item in self._dead.values() if item.matches(which) and (not ids or item.id in ids)]
