"""The dead letters of a frontier in Redis, read in small steps, and an operator's decisions about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from math import inf
from typing import NamedTuple

from gossamer.core.jobs import DeadLetter, DeadLetterFilter, LetterCounts, LetterPlace, LetterRows
from gossamer.core.lifecycle import JobCommand
from gossamer.frontier.redis.admin import read_host
from gossamer.frontier.redis.search import STEP
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.shares import by_shard, split_chunks
from gossamer.frontier.redis.wire import (
    StoredRequest,
    batch_of,
    raw_bytes,
    text_bytes,
    text_of,
    unpack_member,
)
from gossamer.frontier.transitions import LETTERS, ROUND, job_moves_of

NEWEST: LetterPlace = (inf, 0)


class StoredLetter(NamedTuple):
    """A dead letter as it is stored. Within a shard, those of one time are in the order of their ids."""

    member: bytes
    died_at: float
    number: int
    host: bytes
    stored: StoredRequest

    @property
    def place(self) -> LetterPlace:
        """Where it stands among others."""
        return self.died_at, self.number


class ShardLetters:
    """The dead letters of one shard that a filter chooses."""

    def __init__(self, shard: RedisShard, which: DeadLetterFilter) -> None:
        self._shard = shard
        self._which = which
        self._ids = {number // shard.of for number in which.ids if number % shard.of == shard.index}
        self._host: bytes | None = None  # the key of the filter's
        self._names: dict[bytes, str] = {}  # of hosts

    async def iter_pages(self) -> AsyncIterator[list[StoredLetter]]:
        """Yield the chosen ones, oldest first."""
        first = 0
        while True:
            found = await self._read_members(first, first + ROUND - 1)
            yield await self._choose(found)
            first += len(found)
            if len(found) < ROUND:
                return

    async def read_part(
        self, limit: int, before: LetterPlace, *, within: int = LETTERS
    ) -> tuple[list[StoredLetter], LetterPlace | None]:
        """Return the newest letters before a place, up to ``limit``, and the place where this part ends.

        The place is ``None`` when there are no more.
        """
        chosen: list[StoredLetter] = []
        newest = "+inf" if before[0] == inf else repr(before[0])
        looked_at = 0
        while True:
            by = ("BYSCORE", "REV", "LIMIT", looked_at, ROUND)
            found = await self._read_members(newest, "-inf", *by)
            older = [pair for pair in found if self._place_of(*pair) < before]
            chosen += await self._choose(older)
            looked_at += len(found)
            if len(found) < ROUND:
                return chosen, None
            if older and (len(chosen) >= limit or looked_at >= within):
                return chosen, self._place_of(*older[-1])

    async def to_letter(self, letter: StoredLetter) -> DeadLetter:
        """Return the letter with its details."""
        return DeadLetter(
            id=letter.number,
            entry=letter.stored.to_entry(await self._name_of(letter.host)),
            reason=letter.stored.reason,
            attempts=letter.stored.attempts,
            died_at=letter.died_at,
        )

    async def _read_members(
        self, first: int | str, last: int | str, *by: str | int
    ) -> list[tuple[bytes, float]]:
        """Dead letters as they are stored, and when they died."""
        flat = await self._shard.run_command("ZRANGE", "dead", first, last, *by, "WITHSCORES")
        return list(zip(flat[::2], map(float, flat[1::2]), strict=True))

    def _place_of(self, member: bytes, died_at: float) -> LetterPlace:
        return died_at, self._shard.number_of(int.from_bytes(member[:6]))

    async def _choose(self, found: list[tuple[bytes, float]]) -> list[StoredLetter]:
        """Return those that the filter chooses; of others no more is taken apart than tells them."""
        host = None if self._which.host is None else await self._chosen_host(self._which.host)
        chosen = []
        for member, died_at in found:
            if host is None or member[6:10] == host:
                key, stored = unpack_member(member)
                letter = StoredLetter(member, died_at, self._shard.number_of(stored.id), key, stored)
                if await self._is_chosen(letter):
                    chosen.append(letter)
        return chosen

    async def _is_chosen(self, letter: StoredLetter) -> bool:
        which, stored = self._which, letter.stored
        is_chosen = (
            (which.reason is None or stored.reason == which.reason)
            and (which.older_than is None or letter.died_at < which.older_than)
            and (not which.ids or stored.id in self._ids)
        )
        if is_chosen and which.text:
            url = stored.to_entry(await self._name_of(letter.host)).request.url
            is_chosen = which.text.lower() in url.lower()
        return is_chosen

    async def _chosen_host(self, name: str) -> bytes:
        if self._host is None:
            self._host = await self._shard.run_command("HGET", "names", text_bytes(name)) or b"none"
        return self._host

    async def _name_of(self, key: bytes) -> str:
        if key not in self._names:
            self._names[key] = (await read_host(self._shard, key)).name
        return self._names[key]


async def dead_letters(shards: Sequence[RedisShard], which: DeadLetterFilter, limit: int) -> list[DeadLetter]:
    """Dead letters, oldest first."""
    letters: list[DeadLetter] = []
    for shard in shards:
        ours, letters_of = [], ShardLetters(shard, which)
        async for page in letters_of.iter_pages():
            ours += [await letters_of.to_letter(letter) for letter in page]
            if len(ours) >= limit:
                break
        letters += ours
    return sorted(letters, key=lambda letter: (letter.died_at, letter.id))[:limit]


async def page_letters(
    shards: Sequence[RedisShard], which: DeadLetterFilter, limit: int, before: LetterPlace | None
) -> LetterRows:
    """Dead letters older than a place, newest first."""
    found: list[tuple[LetterPlace, ShardLetters, StoredLetter]] = []
    ends: list[LetterPlace] = []
    for shard in shards:
        letters_of = ShardLetters(shard, which)
        ours, end = await letters_of.read_part(limit + 1, before or NEWEST)
        found += [(letter.place, letters_of, letter) for letter in ours]
        ends += [] if end is None else [end]
    end = max(ends, default=None)  # older letters of some shard may be missing
    known = sorted((row for row in found if end is None or row[0] >= end), key=lambda row: row[0])[::-1]
    return LetterRows(
        letters=tuple([await letters_of.to_letter(letter) for _, letters_of, letter in known[:limit]]),
        next_before=known[limit - 1][0] if len(known) > limit else end,
    )


async def count_letters(shards: Sequence[RedisShard], which: DeadLetterFilter) -> LetterCounts:
    """Return how many of the newest dead letters fit, by their reasons."""
    total: Counter[str] = Counter()
    is_all, share = True, LETTERS // len(shards)
    for shard in shards:
        if which.text or which.ids or which.reason is not None:
            ours, end = await ShardLetters(shard, which).read_part(LETTERS, NEWEST, within=share)
            total.update(letter.stored.reason for letter in ours)
            is_all = is_all and end is None
        else:
            found, size = await _count_reasons(shard, which, share)
            total.update(found)
            is_all = is_all and size <= share
    return LetterCounts(by_reason=dict(total), is_all=is_all)


async def _count_reasons(shard: RedisShard, which: DeadLetterFilter, most: int) -> tuple[Counter[str], int]:
    """The reasons of the newest dead letters, counted where they are; and how many there are in all."""
    total: Counter[str] = Counter()
    host = raw_bytes(text_bytes(which.host or ""))
    older_than = False if which.older_than is None else which.older_than
    size = most
    for first in range(0, most, STEP):
        if first >= size:
            break
        asked = (first, min(STEP, most - first), host, older_than)
        size, *found = await shard.run_script("count_dead", *asked, repeat=True)
        total.update(dict(zip(map(text_of, found[::2]), found[1::2], strict=True)))
    return total, size


async def judge_dead(shards: Sequence[RedisShard], verb: str, which: DeadLetterFilter) -> int:
    """Revive or drop dead letters; how many."""
    total = 0
    for shard in shards:
        pages = ShardLetters(shard, which).iter_pages()
        chosen = [raw_bytes(letter.member) async for page in pages for letter in page]
        for first in range(0, len(chosen), ROUND):
            total += await shard.run_script("judge_dead", verb, chosen[first : first + ROUND])
    if total and verb == "revive":
        for shard in shards:
            await shard.run_script("judge_dead", "wake", job_moves_of(JobCommand.REOPEN))
    return total


async def bury_letters(
    shards: Sequence[RedisShard], letters: Sequence[DeadLetter], were_dropped: bool
) -> int:
    """Letters that were revived and wait, or that were dropped, are dead letters again."""
    total = 0
    for shard, ours in by_shard(shards, letters, lambda letter: letter.entry.host).items():
        for chunk in split_chunks(ours):
            group = [letter for _, letter in chunk]
            batch = batch_of(letter.entry for letter in group)
            more: list[object] = []
            for letter in group:
                reason = raw_bytes(text_bytes(letter.reason))
                more += (letter.id // shard.of, letter.attempts, reason, letter.died_at)
            total += await shard.run_script("bury", were_dropped, batch, more)
    return total
