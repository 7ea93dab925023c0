"""Carries out actions on crawls: once, if the state is as the caller saw it, logged, and undoable."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.core.access import Caller, LoggedAction, Role
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import (
    AccessError,
    ConflictError,
    GossamerError,
    StorageError,
    UnknownActionError,
    UsageError,
)
from gossamer.core.text import describe_error
from gossamer.jobs.action_kind import ActionKind, ActionParts, check_same_order
from gossamer.jobs.alert_actions import ALERT_ACTIONS
from gossamer.jobs.delayed_actions import CLAIM_S, finish_due, open_timer
from gossamer.jobs.fleet_actions import FLEET_ACTIONS
from gossamer.jobs.host_actions import HOST_ACTIONS
from gossamer.jobs.job_actions import JOB_ACTIONS
from gossamer.jobs.letter_actions import LETTER_ACTIONS
from gossamer.jobs.schedule_actions import SCHEDULE_ACTIONS
from gossamer.policy.undo import UNDO, find_failed_undos, orders_back, undo_until
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.wiring.backends import Backends

ACTIONS: Mapping[str, ActionKind] = {
    **JOB_ACTIONS,
    **HOST_ACTIONS,
    **LETTER_ACTIONS,
    **FLEET_ACTIONS,
    **SCHEDULE_ACTIONS,
    **ALERT_ACTIONS,
}
"""Actions by name."""
LATEST = 200
"""Actions on a job among which its undos are looked for."""

log = logging.getLogger("gossamer.actions")


async def perform_action(parts: ActionParts, order: ActionOrder) -> LoggedAction:
    """Carry out an action and log it; an order whose key was used before is not carried out again.

    Raises ``ConflictError`` if the state is not as the caller saw it, or the key was used for another order,
    ``UsageError`` for an invalid order, and the errors of the action itself, which is then logged as failed.
    """
    kind = _kind_of(order)
    if order.key and (done := await parts.backends.actions.find_key(order.by, order.key)):
        return _done_before(done, order)
    _check_given(kind, order)
    if order.job:
        await parts.backends.check_fleet(await parts.find_job(order))
    elif order.kind in FLEET_ACTIONS:
        await parts.backends.check_fleet()
    facts = await kind.look(parts, order)
    _check_expected(facts.seen, order)
    now = parts.backends.clock.now()
    logged = await parts.backends.actions.add_action(
        LoggedAction(
            at=now,
            token=order.by,
            kind=order.kind,
            job=order.job,
            what=facts.what,
            before=facts.before,
            undo_until=undo_until(order.kind, now) if facts.has_way_back else None,
            key=order.key,
            asked=order.digest,
        )
    )
    if logged is None:
        return await _done_meanwhile(parts, order)
    order = replace(order, number=logged.id)
    logged = replace(logged, after=await _carry_out_entered(parts, order, now))
    if kind.follow is not None:
        parts.later(kind.follow(parts, order, logged))
    if kind.finish is not None:
        parts.later(_finish_later(parts.backends, order, kind.delay_s))
    return logged


async def _done_meanwhile(parts: ActionParts, order: ActionOrder) -> LoggedAction:
    """Return the result of an order that was sent twice at the same time. Raises ``ConflictError``."""
    done = await parts.backends.actions.find_key(order.by, order.key)
    if done is None:
        raise ConflictError("the action is being done", now={})
    return _done_before(done, order)


async def _finish_later(backends: Backends, order: ActionOrder, delay_s: float) -> None:
    """Do the rest, unless another process does it."""
    if not delay_s:
        await finish_action(backends, order)
        return
    await backends.clock.sleep(delay_s)
    await finish_due(backends)


async def finish_action(backends: Backends, order: ActionOrder) -> None:
    """Do the rest of an action that the caller alone carries out, unless it is undone or has failed.

    An action that fails now is noted as failed, and is not tried again. Raises ``StorageError``; then it is
    due again later.
    """
    action = await backends.actions.find_action(order.number)
    if action is not None and action.undone_at is None and not action.is_refused:
        try:
            finish = _kind_of(order).finish
            if finish is not None:
                await finish(backends, order, action)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - else it would fail again at every look, for a year
            await _note_failure(backends, order, error)
    await (await open_timer(backends)).remove_action(order.number)


async def _note_failure(backends: Backends, order: ActionOrder, error: Exception) -> None:
    """Log that an action has failed, beside the part that was done."""
    is_known = isinstance(error, GossamerError)
    said = hide_secrets(str(error) if is_known else describe_error(error))
    log.warning(
        "action %d (%s) has failed: %s", order.number, order.kind, said, exc_info=None if is_known else error
    )
    done = await backends.actions.find_action(order.number)
    after = {} if done is None else done.after
    await backends.actions.note_after(order.number, {**after, "failed": said})


async def find_action(parts: ActionParts, number: int) -> LoggedAction:
    """Return an action by its number. Raises ``UnknownActionError``."""
    action = await parts.backends.actions.find_action(number)
    if action is None:
        raise UnknownActionError(f"action {number} does not exist")
    return action


async def read_own_action(parts: ActionParts, number: int, caller: Caller) -> LoggedAction:
    """Return an action that ``caller`` may read. Raises ``UnknownActionError``, and ``AccessError``."""
    action = await find_action(parts, number)
    if action.token != caller.name and not caller.role.covers(Role.ADMIN):
        raise AccessError(
            f"action {number} was done with another token, and the audit log is for the role {Role.ADMIN}",
            way="look at the job, or use a token with that role",
            status=403,
        )
    return action


async def undo_action(parts: ActionParts, number: int, by: str) -> LoggedAction:
    """Undo an action and return it. Later changes by others stay.

    Raises ``UnknownActionError``, and ``ConflictError`` if it can no longer be undone. If it fails half-way,
    the error names the undone part and the rest, and the action can be undone again.
    """
    log, now = parts.backends.actions, parts.backends.clock.now()
    action = await find_action(parts, number)
    if action.undone_at is not None:
        await _take_mark_back(parts, action, now)
    if action.is_refused:
        raise ConflictError("it was refused: there is nothing to undo", now={})
    if action.undo_until is None or action.undo_until <= now:
        raise ConflictError("there is no way back any more", now={"undo_until": action.undo_until})
    orders = [order for order in orders_back(action, by, now) if await _is_left(parts, order)]
    undo = await _note_undo(parts, action, LoggedAction(at=now, token=by, kind=UNDO))
    if not await log.mark_undone(number, now):
        await log.note_after(undo, {"failed": "another caller has undone it"})
        raise ConflictError("another caller has undone it", now={})
    try:
        await _carry_back(parts, action, orders, undo)
    except BaseException:
        with contextlib.suppress(StorageError):  # then the next undo takes it back
            await log.clear_undone(number, now)
        raise
    return replace(action, undone_at=now)


async def _note_undo(parts: ActionParts, action: LoggedAction, undo: LoggedAction) -> int:
    """Note that an undo begins, before anything says that it is done; its number."""
    before = {"action": action.id, "kind": action.kind}
    noted = await parts.backends.actions.add_action(
        replace(undo, job=action.job, what=action.what, before=before)
    )
    return noted.id if noted else 0


async def _take_mark_back(parts: ActionParts, action: LoggedAction, now: float) -> None:
    """Take back that an action is undone, where that failed. Raises ``ConflictError`` where it did not."""
    log, undone_at = parts.backends.actions, action.undone_at or 0.0
    latest = await log.list_actions(LATEST, job=action.job)
    if action.id not in find_failed_undos([*latest, action], now):
        raise ConflictError("it is undone already, or just now", now={"undone_at": undone_at})
    await log.clear_undone(action.id, undone_at)


async def _is_left(parts: ActionParts, order: ActionOrder) -> bool:
    """Whether a part of the undo is left to do. Raises ``ConflictError`` if another caller has changed it.

    An action on a host is done at once or not at all; other actions are repeated to their end.
    """
    seen = (await _kind_of(order).look(parts, order)).seen
    _check_expected(seen, order)
    return order.kind not in HOST_ACTIONS or any(seen[name] != value for name, value in order.goal.items())


async def _carry_back(
    parts: ActionParts, action: LoggedAction, orders: Sequence[ActionOrder], number: int
) -> None:
    """Carry out the orders that undo an action, and log them; ``number`` is that of the undo."""
    log, after = parts.backends.actions, dict[str, Any]()
    for place, order in enumerate(orders):
        kind = _kind_of(order)
        try:
            done = await kind.act(parts, replace(order, number=number))
        except GossamerError as error:
            undone, left = ([one.kind for one in part] for part in (orders[:place], orders[place:]))
            if undone:
                said = f"{error} (done is: {', '.join(undone)}; not yet: {', '.join(left)}; undo it again)"
                error.args = (said, *error.args[1:])
            with contextlib.suppress(StorageError):  # report the failure itself, not that it cannot be logged
                await log.note_after(number, {**after, "failed": str(error), "undone": undone, "left": left})
            raise
        after |= done
        if kind.follow is not None:
            parts.later(kind.follow(parts, order, replace(action, after=done, undo_until=None)))
    await log.note_after(number, {**after, "undone": [order.kind for order in orders]})


async def _carry_out_entered(parts: ActionParts, order: ActionOrder, now: float) -> dict[str, Any]:
    """Carry out an action; one with a delayed rest is entered first, so that no kill loses it."""
    kind = _kind_of(order)
    if kind.finish is None:
        return await _carry_out(parts, order, order.number)
    timer = await open_timer(parts.backends)
    await timer.enter_action(order, now + CLAIM_S)  # to do it may take longer than to wait for the rest
    after = await _carry_out(parts, order, order.number)
    if kind.delay_s:
        with contextlib.suppress(StorageError):  # then the rest is due somewhat later
            await timer.enter_action(order, now + kind.delay_s)
    return after


async def _carry_out(parts: ActionParts, order: ActionOrder, number: int) -> dict[str, Any]:
    """Run the action and record its outcome."""
    try:
        after = await _kind_of(order).act(parts, order)
    except GossamerError as error:
        await parts.backends.actions.note_after(number, {"failed": str(error)})
        raise
    await parts.backends.actions.note_after(number, after)
    return after


def _kind_of(order: ActionOrder) -> ActionKind:
    if order.kind not in ACTIONS:
        raise UsageError(f"{order.kind!r} is not an action; the actions are: {', '.join(ACTIONS)}")
    return ACTIONS[order.kind]


def _check_given(kind: ActionKind, order: ActionOrder) -> None:
    """Raise ``UsageError`` for an unknown name, since ignoring it could change the meaning of the order."""
    unknown = [] if kind.takes is None else sorted(set(order.given) - set(kind.takes))
    if unknown:
        said = " and ".join(kind.takes or ()) or "nothing"
        raise UsageError(f"{order.kind} takes {said}, not {', '.join(map(repr, unknown))}")


def _done_before(done: LoggedAction, order: ActionOrder) -> LoggedAction:
    """Return the result of an order whose key was used before. Raises ``ConflictError`` for another order."""
    check_same_order(done, order)
    if done.is_refused:
        raise UsageError(str(done.after["failed"]))
    if not done.after:
        raise ConflictError(
            f"the order with the key {order.key!r} has begun (action {done.id}), and its end is not "
            "known yet: repeat it in a moment; if this lasts, check its effects, and use a new key",
            now={"action": done.id},
        )
    return done


def _check_expected(seen: Mapping[str, Any], order: ActionOrder) -> None:
    """Raise ``ConflictError`` where something is not as it was seen, ``UsageError`` for a name of nothing."""
    if unknown := sorted(order.expected.keys() - seen.keys()):
        said = ", ".join(seen) or "nothing"
        raise UsageError(f"{order.kind} can expect {said}, not {', '.join(map(repr, unknown))}")
    other = {
        name: seen[name]
        for name, value in order.expected.items()
        if seen[name] != value and seen[name] != order.goal.get(name, value)
    }
    if other:
        said = ", ".join(
            f"{name} is {'none' if value is None else value} now" for name, value in other.items()
        )
        raise ConflictError(f"it is not as you saw it any more: {said}", now=other)
