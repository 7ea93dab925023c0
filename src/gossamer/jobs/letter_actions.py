"""Actions on dead letters: retry them, as they are or changed, or drop them. Many letters go in slices."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import Fault, UsageError
from gossamer.core.jobs import DeadLetter, DeadLetterFilter, Job
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import FARTHEST, Entry, Request
from gossamer.core.rungs import AUTO, explain_wrong_rung
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.jobs.control import reopen_job
from gossamer.jobs.delayed_actions import open_timer
from gossamer.jobs.kept_letters import keep_letters, kept_letters
from gossamer.jobs.starting import check_page
from gossamer.policy import urls
from gossamer.policy.redirects import without_credentials
from gossamer.wiring.backends import Backends
from gossamer.wiring.scope import url_options_of

SLICE = 500
"""Letters that are worked on at once."""
COUNTED = 10_000
"""More letters are not counted one by one."""
MOST = 2**53
"""Larger numbers are not the same in every place."""
LARGEST_META = 20_000
CALLBACK = re.compile(r"[A-Za-z]\w{0,99}")
CHOICES = ("reason", "host", "older_than", "ids", "q")
"""Filters of dead letters, as in their list; and their ids."""
CHANGES = ("url", "rung", "callback", "priority", "meta")
"""Parts of a request that a retry may change."""


async def _look_at_letters(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    job = await parts.find_job(order)
    which = filter_of(order, parts.backends.clock.now())
    letters = await parts.backends.open_frontier(job).dead_letters(which, COUNTED + 1)
    count = len(letters)
    what = f"more than {COUNTED:,} dead letters" if count > COUNTED else f"{count:,} dead letters"
    if count == 1:
        what = letters[0].entry.request.url
    has_way_back = count <= COUNTED and not order.given.get("change")
    return ActionFacts(what, {"count": count}, {"count": count}, has_way_back)


def filter_of(order: ActionOrder, now: float) -> DeadLetterFilter:
    """Return the filter of the meant letters. Raises ``UsageError``; nothing is ever taken for "all"."""
    said = order.given.get("filter") or {}
    if unknown := set(said) - set(CHOICES):
        raise UsageError(f"dead letters have no {', '.join(sorted(unknown))}: choose by {', '.join(CHOICES)}")
    ids, age = said.get("ids"), said.get("older_than")
    words = {name: said.get(name) for name in ("reason", "host", "q")}
    if not all(value is None or isinstance(value, str) for value in words.values()):
        raise UsageError("reason, host and q are texts")
    if words["reason"] is not None and words["reason"] not in set(Fault):
        raise UsageError(
            f"{words['reason'][:60]!r} is not a reason of a dead letter: {', '.join(sorted(Fault))}"
        )
    if age is not None and (type(age) not in (int, float) or not 0 <= age < MOST):
        raise UsageError("older_than is a number of seconds: only those given up longer ago")
    return DeadLetterFilter(
        reason=words["reason"],
        host=None if words["host"] is None else words["host"].lower(),
        older_than=None if age is None else now - age,
        ids=() if ids is None else _read_ids(ids),
        text=words["q"] or "",
    )


def _read_ids(ids: Any) -> tuple[int, ...]:
    """Return the ids of letters; an empty list is a mistake of the caller, and never means all."""
    if not isinstance(ids, list | tuple) or not all(type(n) is int and 0 <= n < MOST for n in ids):
        raise UsageError("ids are a list of numbers of dead letters")
    if not ids:
        raise UsageError("ids is an empty list, which means no dead letter; leave ids out to mean all")
    return tuple(ids)


async def _begin(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Do the first slice; the others follow after the response."""
    job = await parts.find_job(order)
    if order.given.get("when"):
        raise UsageError("letters are retried at once; where a host does not answer, hold it until it does")
    change = order.given.get("change") or {}
    if change and order.kind == "drop":
        raise UsageError("letters are changed to be retried: a drop cannot change them")
    _check_change(change)
    if "url" in change:
        await check_page(parts, job, _canonical_url(parts.backends, Request(change["url"])))
    return {"done": await _do_slice(parts.backends, job, order, parts.backends.clock.now(), 0)}


async def _do_rest(backends: Backends, order: ActionOrder, done: LoggedAction) -> None:
    """Work through the slices until the end or an undo; an earlier process may have done some of them."""
    job, count = await backends.book.get(order.job), int(done.after.get("done", 0))
    delayed = await open_timer(backends)
    while job is not None and (more := await _do_slice(backends, job, order, done.at, count)):
        count += more
        await backends.actions.note_after(done.id, {"done": count})
        await delayed.prolong_claim(done.id, backends.clock.now())
        noted = await backends.actions.find_action(done.id)
        if noted is None or noted.undone_at is not None:
            return


async def _do_slice(backends: Backends, job: Job, order: ActionOrder, before: float, done: int) -> int:
    """Work on a slice of the letters that were dead ``before``, but not on those that die again."""
    frontier, which = backends.open_frontier(job), filter_of(order, before)
    if which.older_than is None:
        which = replace(which, older_than=before + 1e-6)
    letters = await frontier.dead_letters(which, SLICE)
    if not letters:
        return 0
    ids = DeadLetterFilter(ids=tuple(letter.id for letter in letters))
    if not order.given.get("change") and done + len(letters) <= COUNTED:
        await keep_letters(backends, order.number, done, letters)
    if order.kind == "drop":
        return await frontier.drop_letters(ids)
    if change := order.given.get("change"):
        # The new requests are there before the letters are gone.
        await frontier.add([_changed_entry(backends, job, letter, change) for letter in letters])
        await frontier.drop_letters(ids)
        await frontier.apply_change(JobCommand.REOPEN)
    else:
        await frontier.revive_letters(ids)
    await reopen_job(backends, job)
    return len(letters)


# --------------------------------------------------------------------------- edited


def _check_change(change: dict[str, Any]) -> None:
    """Raise ``UsageError`` for a part of a request that cannot be changed, or not in this way."""
    if unknown := set(change) - set(CHANGES):
        raise UsageError(f"{', '.join(sorted(unknown))} cannot be changed: {', '.join(CHANGES)} can")
    callback, priority, meta = change.get("callback", ""), change.get("priority", 0), change.get("meta", {})
    if callback and (not isinstance(callback, str) or not CALLBACK.fullmatch(callback)):
        raise UsageError("a callback is the name of a method of the spider")
    if not isinstance(priority, int) or abs(priority) > FARTHEST:
        raise UsageError(f"a priority is a whole number between -{FARTHEST} and {FARTHEST}")
    if not isinstance(meta, dict) or len(str(meta)) > LARGEST_META:  # there is one for each letter
        raise UsageError(f"meta is an object of no more than {LARGEST_META:,} characters")
    rung = change.get("rung", AUTO)
    if rung != AUTO and (not isinstance(rung, str) or explain_wrong_rung(rung)):
        raise UsageError(explain_wrong_rung(str(rung)))
    if "url" in change and not (isinstance(change["url"], str) and urls.canonicalise_url(change["url"])):
        raise UsageError("the URL of a page begins with http:// or https://")


def _canonical_url(backends: Backends, request: Request) -> str:
    """Return the URL that is fetched for a checked one."""
    return urls.canonicalise_request(request, url_options_of(backends.settings)) or request.url


def _changed_entry(backends: Backends, job: Job, letter: DeadLetter, change: dict[str, Any]) -> Entry:
    """Return a request that replaces a letter; one for another URL is another page."""
    former = letter.entry
    named = {"fetch": change.get("rung"), **{name: change.get(name) for name in CHANGES[2:]}}
    request = former.request.replace(
        dont_filter=True, **{name: value for name, value in named.items() if value is not None}
    )
    url = change.get("url")
    if url is None:
        return replace(former, request=request, due_at=0.0)
    canonical = _canonical_url(backends, request.replace(url=url))
    if urls.origin_of(canonical) != urls.origin_of(former.request.url):  # as with a redirect to there
        if request.body:
            raise UsageError(f"the request has a body, which is not sent to {urls.origin_of(canonical)}")
        request = request.replace(headers=without_credentials(request.headers), auth=None, cookies=None)
    return Entry(
        request=request.replace(url=canonical, redirects=(), redirect_statuses=(), unique_key=""),
        fingerprint=urls.fingerprint_of(request.method, canonical, request.body, job.key, request.session),
        host=urls.host_key(canonical),
    )


async def _look_at_kept(_parts: ActionParts, order: ActionOrder) -> ActionFacts:
    return ActionFacts(order.job, {}, {}, has_way_back=False)


async def _bury(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Undo an action on letters."""
    job, number = await parts.find_job(order), int(order.given["of"])
    count = int(order.given["count"]) + SLICE  # a slice may have ended since that was noted
    letters = await kept_letters(parts.backends, number, count)
    frontier = parts.backends.open_frontier(job)
    buried = await frontier.bury_letters(letters, were_dropped=bool(order.given["were_dropped"]))
    return {"done": buried}


LETTER_ACTIONS = {
    "retry": ActionKind(_look_at_letters, _begin, finish=_do_rest, takes=None),
    "drop": ActionKind(_look_at_letters, _begin, finish=_do_rest, takes=None),
    "bury": ActionKind(_look_at_kept, _bury, takes=None),
}
"""Actions on dead letters."""
