"""What a watch keeps in shared state."""

from __future__ import annotations

from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.watch.memories import load_acknowledged, save_acknowledged


async def test_an_alert_that_lasts_for_weeks_stays_acknowledged() -> None:
    """Bug it would catch: a crawl of a month needs you again each week for what you know."""
    clock = ManualClock()
    shared, began = MemorySharedState(clock), clock.now()
    await save_acknowledged(shared, "shop-1", {"trap:shop-1:shop-1": began})
    clock.advance(60 * 86_400)
    assert await load_acknowledged(shared, "shop-1") == {"trap:shop-1:shop-1": began}
