"""The methods of ``FrontierAdmin`` for dead letters, in Redis."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import DeadLetter, DeadLetterFilter, LetterCounts, LetterPlace, LetterRows
from gossamer.frontier.redis import letters
from gossamer.frontier.redis.shard import RedisShard


class RedisLetters:
    """The dead letters of a job: the part that every frontier in Redis shares."""

    async def _open_shards(self) -> Sequence[RedisShard]:
        raise NotImplementedError

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.dead_letters(await self._open_shards(), which, limit)

    async def page_letters(
        self, which: DeadLetterFilter, limit: int, before: LetterPlace | None = None
    ) -> LetterRows:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.page_letters(await self._open_shards(), which, limit, before)

    async def count_letters(self, which: DeadLetterFilter) -> LetterCounts:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.count_letters(await self._open_shards(), which)

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.judge_dead(await self._open_shards(), "revive", which)

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.judge_dead(await self._open_shards(), "drop", which)

    async def bury_letters(self, buried: Sequence[DeadLetter], *, were_dropped: bool) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await letters.bury_letters(await self._open_shards(), buried, were_dropped)
