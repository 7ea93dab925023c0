"""The contract of an action log, as named checks.

Use: ``await check_action_log(make)``, or one by one from ``ACTION_LOG_CHECKS``; ``make(clock)`` is an async
context manager that gives an ``ActionLog`` with nothing in it.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.ports.action_log import ActionLog
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ACTION_LOG_CHECKS", "check_action_log"]

ACTION_LOG_CHECKS: ContractSuite[ActionLog] = ContractSuite()
"""The checks by name."""
PAUSE = LoggedAction(
    at=100.25,
    token="ann",  # noqa: S106 - the name of one
    kind="pause",
    job="shop-1",
    what="shop-1 \N{GRINNING FACE} \N{RIGHT-TO-LEFT OVERRIDE}",
    before={"state": "running", "count": 3, "deep": [{"x": None}]},
    after={"state": "paused"},
    undo_until=700.0,
    key="k1",
    asked="d1",
)


async def check_action_log(make: Make[ActionLog]) -> None:
    """Run every check against a fresh log each. Raises ``AssertionError`` for a broken promise."""
    await ACTION_LOG_CHECKS.run(make)


async def _add(s: ActionLog, action: LoggedAction) -> LoggedAction:
    added = await s.add_action(action)
    assert_holds(added is not None, "an action with a new key is added")
    assert added is not None
    return added


@ACTION_LOG_CHECKS.register
async def an_action_is_kept_as_it_was(s: ActionLog) -> None:
    """With an id."""
    added = await _add(s, PAUSE)
    assert_equal(added, replace(PAUSE, id=added.id), "it is returned as it was, with an id")
    assert_equal(await s.find_action(added.id), added, "it is found by its id")
    assert_equal(await s.find_key("ann", "k1"), added, "and by its key")
    assert_equal(await s.find_key("bob", "k1"), None, "which is that of its token")
    assert_equal(await s.find_action(added.id + 1), None, "nothing else is there")
    plain = await _add(s, LoggedAction(at=1.0, token="ann", kind="x"))  # noqa: S106
    assert_holds(plain.key, "an action without a key is given one")
    assert_equal(await s.find_action(plain.id), plain, "which is kept")


@ACTION_LOG_CHECKS.register
async def a_key_counts_once(s: ActionLog) -> None:
    """If many use it at the same time, one performs its action."""
    added = await asyncio.gather(*(s.add_action(replace(PAUSE, at=float(n))) for n in range(4)))
    done = [action for action in added if action is not None]
    assert_equal(len(done), 1, "one of them is added")
    assert_equal(await s.find_key("ann", "k1"), done[0], "and is there")
    assert_holds(await s.add_action(replace(PAUSE, token="bob")), "another token's key is another key")  # noqa: S106


@ACTION_LOG_CHECKS.register
async def the_latest_come_first(s: ActionLog) -> None:
    """All, those of a job, those before one."""
    jobs = ["a-1", "b-1", "a-1", "", "a-1"]
    added = [await _add(s, replace(PAUSE, key=f"{n}", job=job)) for n, job in enumerate(jobs)]
    ids = [action.id for action in added]
    assert_equal(ids, sorted(set(ids)), "ids ascend")
    newest_first = added[::-1]
    assert_equal(await s.list_actions(10), newest_first, "all, the latest first")
    assert_equal(await s.list_actions(2), newest_first[:2], "no more than asked for")
    assert_equal(await s.list_actions(2, before_id=ids[3]), [added[2], added[1]], "those before one")
    of_job = [added[4], added[2], added[0]]
    assert_equal(await s.list_actions(10, job="a-1"), of_job, "those of a job")
    assert_equal(await s.list_actions(1, job="a-1", before_id=ids[4]), [added[2]], "and both")
    assert_equal(await s.list_actions(10, job="c-1"), [], "none of another job")


@ACTION_LOG_CHECKS.register
async def what_came_of_it_is_noted_later(s: ActionLog) -> None:
    """The outcome replaces an earlier one."""
    one, two = await _add(s, PAUSE), await _add(s, replace(PAUSE, key="k2"))
    await s.note_after(one.id, {"done": 7})
    assert_equal(await s.find_action(one.id), replace(one, after={"done": 7}), "the new one is there")
    assert_equal(await s.find_action(two.id), two, "and nothing else has changed")


@ACTION_LOG_CHECKS.register
async def an_action_is_undone_once(s: ActionLog) -> None:
    """And only while there is a way back."""
    one, two = await _add(s, PAUSE), await _add(s, replace(PAUSE, key="k2"))
    never = await _add(s, replace(PAUSE, key="k3", undo_until=None))
    done = await asyncio.gather(*(s.mark_undone(one.id, 600.0 + n) for n in range(3)))
    assert_equal(sum(done), 1, "one of several at the same time undoes it")
    found = await s.find_action(one.id)
    assert_equal(found and found.undone_at, 600.0 + done.index(True), "at its time")
    assert_holds(not await s.mark_undone(two.id, 700.0), "not when its time is over")
    assert_holds(not await s.mark_undone(never.id, 1.0), "not when there is no way back")
    assert_holds(not await s.mark_undone(999, 1.0), "an action that does not exist")
    assert_equal(await s.find_action(two.id), two, "then nothing is changed")


@ACTION_LOG_CHECKS.register
async def what_could_not_be_undone_may_be_undone_again(s: ActionLog) -> None:
    """Only the caller that undid it can clear the mark; a later undo by another caller stays."""
    one, two = await _add(s, PAUSE), await _add(s, replace(PAUSE, key="k2"))
    for number in (one.id, two.id):
        assert_holds(await s.mark_undone(number, 600.25), "it is undone")
    await s.clear_undone(one.id, 600.25)
    assert_equal(await s.find_action(one.id), one, "it is as it was")
    assert_equal(await s.find_action(two.id), replace(two, undone_at=600.25), "and no other")
    assert_holds(await s.mark_undone(one.id, 601.0), "it is undone again")
    await s.clear_undone(one.id, 600.25)
    assert_equal(await s.find_action(one.id), replace(one, undone_at=601.0), "which is another time")
    await s.clear_undone(999, 1.0)
