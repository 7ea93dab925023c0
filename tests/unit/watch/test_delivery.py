"""Notifications on their way: none is lost, none is sent twice, and what became of each is kept."""

from __future__ import annotations

from gossamer.core.alerts import AlertChange, AlertNotice
from gossamer.core.errors import MissingServiceError, StorageError
from gossamer.policy.notices import GIVEN_UP_S, LONGEST_PAUSE_S, MOST_WAITING, NoticeMemory, PendingNotice
from gossamer.queries.alerts import list_notices
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.watch.delivery import LOOK_FOR_LEFT_S, READ_AGAIN_S, NoticeDelivery
from gossamer.watch.memories import load_left_news, load_notices, note_left_news, save_notices
from kit.watched_place import NoticedTarget

AWAY = MissingServiceError("the webhook cannot be reached (ConnectionRefusedError)")


class Place:
    """Shared state, a clock, and deliveries of several processes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.shared = MemorySharedState(self.clock)
        self.target = NoticedTarget("ops")
        self.at_work = set[str]()

    def delivery(self, place: str = "job:shop-1", *targets: NoticedTarget) -> NoticeDelivery:
        self.at_work.add(place)
        return NoticeDelivery(place, targets or [self.target], self.shared, self.clock, is_left=self._is_left)

    async def _is_left(self, place: str) -> bool:
        return place not in self.at_work

    def news(self, name: str, change: AlertChange = AlertChange.BEGUN, target: str = "ops") -> PendingNotice:
        now = self.clock.now()
        notice = AlertNotice(
            id=f"{name}:{change}", change=change, alert="away", severity="needs_you", text=f"{name}.",
            place="a place", since=now, at=now,
        )  # fmt: skip
        return PendingNotice(target=target, notice=notice)

    async def listed(self, place: str = "job:shop-1") -> list[tuple[str, str, int, str]]:
        found = list_notices(await load_notices(self.shared, place))
        return [(one.text, one.state, one.tries, one.error) for one in found]


async def test_a_target_that_was_away_for_a_whole_incident_gets_its_beginning_and_its_end_once() -> None:
    p = Place()
    p.target.trouble = AWAY
    first = p.delivery()
    await first.add([p.news("Redis is away")])
    for _ in range(20):
        await first.deliver()
        p.clock.advance(60)
    await first.add([p.news("Redis is away", AlertChange.ENDED)])
    await first.deliver()
    (begun, ended) = await p.listed()
    assert (begun[1], begun[3]) == ("waiting", str(AWAY))
    assert (ended[1:3], p.target.notices) == (("waiting", 0), []), "an end never overtakes its beginning"
    p.target.trouble = None
    second = p.delivery()  # the process was started again
    p.clock.advance(LONGEST_PAUSE_S)
    await second.deliver()
    await second.deliver()
    assert [one.headline for one in p.target.notices] == ["Redis is away.", "Over: Redis is away."]
    assert [one[:2] for one in await p.listed()] == [
        ("Redis is away.", "sent"),
        ("Over: Redis is away.", "sent"),
    ]
    assert (await p.listed())[0][2] == p.target.tries - 1, "tries are counted"


async def test_what_is_given_up_is_kept_as_failed_with_its_reason() -> None:
    p = Place()
    p.target.trouble = AWAY
    delivery = p.delivery()
    await delivery.add([p.news(f"{number}") for number in range(MOST_WAITING + 1)])
    await delivery.deliver()
    (lost,) = [one for one in await p.listed() if one[1] == "failed"]
    assert lost == ("0.", "failed", 0, f"more than {MOST_WAITING} notifications waited")
    p.clock.advance(GIVEN_UP_S + 1)
    await delivery.deliver()
    states = {state for _, state, _, _ in await p.listed()}
    assert states == {"failed"}
    assert {error for *_, error in await p.listed()} >= {"no delivery succeeded within 3 days"}


async def test_the_next_crawl_sends_what_one_that_is_over_left_behind() -> None:
    """Bug it would catch: a crawl ends while its webhook is down, and nobody ever hears that it failed."""
    p = Place()
    p.target.trouble = AWAY
    night = NoticedTarget("night", trouble=AWAY)
    first = p.delivery("job:shop-1", p.target, night)
    await first.add([p.news("shop-1 failed"), p.news("for others", target="night")])
    await first.deliver()
    p.target.trouble = None
    second = p.delivery("job:shop-2")
    await second.deliver()
    assert p.target.notices == [], "the first one is still at work"
    p.at_work.remove("job:shop-1")
    p.clock.advance(LOOK_FOR_LEFT_S)
    await second.deliver()
    await p.delivery("job:shop-3").deliver()
    assert [one.text for one in p.target.notices] == ["shop-1 failed."]
    assert [one.notice.text for one in (await load_notices(p.shared, "job:shop-1")).waiting] == [
        "for others."
    ]
    night.trouble = None
    p.clock.advance(LOOK_FOR_LEFT_S)
    await p.delivery("job:shop-4", night).deliver()
    assert [one.text for one in night.notices] == ["for others."]
    assert await load_left_news(p.shared) == []


async def test_the_leader_of_a_fleet_sends_what_waits_at_the_place_of_a_job_and_keeps_its_own() -> None:
    """A person may accept a job without the URL of a target. A crawl does not take over the fleet's."""
    p = Place()
    await save_notices(p.shared, "job:shop-1", NoticeMemory(waiting=(p.news("shop-1 lost a field"),)))
    await note_left_news(p.shared, "job:shop-1", p.clock.now(), is_left=True)
    await p.delivery("fleet:default").deliver()
    assert [one.text for one in p.target.notices] == ["shop-1 lost a field."]
    assert await load_left_news(p.shared) == []
    p.target.trouble = AWAY
    leader = p.delivery("fleet:default")
    await leader.add([p.news("Redis is away")])
    await leader.deliver()
    assert await load_left_news(p.shared) == [], "the next leader sends it"


async def test_news_for_a_target_that_the_settings_no_longer_name_are_given_up() -> None:
    p = Place()
    p.target.trouble = AWAY
    await (first := p.delivery()).add([p.news("old")])
    await first.deliver()
    await p.delivery("job:shop-1", NoticedTarget("other")).deliver()
    ((_, state, tries, error),) = await p.listed()
    assert (state, tries) == ("failed", 1)
    assert error == f"the settings no longer name this target; the last error: {AWAY}"


class _LoadingState(MemorySharedState):
    """Shared state that cannot be read, as that of a Redis which loads its data."""

    async def get(self, space: str, key: str) -> bytes | None:
        raise StorageError("Redis is loading the dataset in memory")


async def test_news_that_wait_outlast_a_start_at_which_they_cannot_be_read() -> None:
    """Bug it would catch: the next leader starts while Redis loads, and keeps none in their place."""
    p = Place()
    p.target.trouble = AWAY
    await (first := p.delivery()).add([p.news("a worker is idle")])
    await first.deliver()
    p.target.trouble = None
    p.clock.advance(LONGEST_PAUSE_S)
    p.shared.__class__ = _LoadingState
    second = p.delivery()
    await second.deliver()
    await second.add([p.news("Redis is away")])
    await second.deliver()
    assert [one.text for one in p.target.notices] == ["Redis is away."], "it does not wait for Redis"
    p.shared.__class__ = MemorySharedState
    p.clock.advance(READ_AGAIN_S)
    await second.add([p.news("Redis is away", AlertChange.ENDED)])
    await second.deliver()
    assert [one.headline for one in p.target.notices[1:]] == ["a worker is idle.", "Over: Redis is away."]
    assert [state for _, state, _, _ in await p.listed()] == ["sent"] * 3
