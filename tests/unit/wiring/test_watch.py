"""A watch of a fleet looks at all that its rules need."""

from gossamer.config.layers import load_settings
from gossamer.core.shifts import EndReason, Shift, ShiftResult
from gossamer.wiring.backends import open_backends
from gossamer.wiring.watch import watch_fleet


async def test_a_watch_of_a_fleet_sees_the_shifts_that_have_just_ended(redis_url, tmp_path):
    """A worker whose shift has just ended is not idle."""
    given = {"data": str(tmp_path), "frontier.url": redis_url, "cluster.fleet": tmp_path.name}
    backends = await open_backends(load_settings(env={}, overrides=given).settings, create=True)
    roster = backends.require_fleet().roster
    token = await roster.claim_leadership("me", 30.0)
    at = (await roster.read_roster()).at
    await roster.request_shifts([Shift(id="s", job="shop-1", lane="http", expires_at=at + 30.0)], {}, token)
    await roster.begin_shift("s", "w1")
    end = ShiftResult(id="s", job="shop-1", lane="http", why=EndReason.TIME, worker="w1")
    await roster.end_shifts([end])
    watch = watch_fleet(backends.settings, backends, backends.book, is_leading=lambda: True)
    view = await watch._parts.read_roster()
    await backends.close()
    assert [end.worker for end in view.ends] == ["w1"]
