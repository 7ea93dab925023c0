"""Seeds are added as they come: when a batch is full, and when half a second has gone by."""

import asyncio

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.requests import Request
from gossamer.engine import seeding as module
from gossamer.engine.seeding import BATCH, Seeder
from kit.engine import CALM, Kit, virtually


def seeding_of(kit):
    return Seeder(kit.parts.admission, kit.frontier, lambda: None)


async def numbered(count, pause_s=0.0, every=1):
    for number in range(count):
        if number % every == 0:
            await asyncio.sleep(pause_s)
        yield Request(f"http://site.test/{number}")


def test_a_slow_start_keeps_nobody_waiting():
    async def main():
        kit = Kit(CALM)
        running = asyncio.create_task(seeding_of(kit).add_seeds(numbered(10, pause_s=10.0)))
        await asyncio.sleep(11)
        assert (await kit.frontier.read_stats()).pending == 1
        await running
        assert (await kit.frontier.read_stats()).pending == 10

    virtually(main)


def test_all_are_added_once_in_full_batches():
    async def main():
        kit = Kit(CALM)
        sizes, add = [], kit.frontier.add

        async def counted(batch):
            sizes.append(len(batch))
            await asyncio.sleep(0.7)  # longer than a batch waits
            return await add(batch)

        kit.frontier.add = counted
        seeding = seeding_of(kit)
        await seeding.add_seeds(numbered(3 * BATCH + 7))
        assert seeding.so_far.added.accepted == sum(sizes) == 3 * BATCH + 7
        assert sizes[:3] == [BATCH] * 3

    virtually(main)


def test_trouble_while_start_is_slow_ends_it():
    async def main():
        kit = Kit(CALM)

        async def gone(batch):
            raise StorageError("Redis is gone")

        kit.frontier.add = gone
        began = asyncio.get_running_loop().time()
        with pytest.raises(StorageError, match="Redis is gone"):
            await seeding_of(kit).add_seeds(numbered(10, pause_s=10.0))
        assert asyncio.get_running_loop().time() - began < 30 + module.ADD_EVERY_S

    virtually(main)
