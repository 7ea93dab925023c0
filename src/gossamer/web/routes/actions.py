"""Actions on jobs, hosts, dead letters, workers, proxies and schedules; and their undoing."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gossamer.core.access import LoggedAction, Role
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.core.record import Record, Time
from gossamer.jobs.acting import perform_action, read_own_action, undo_action
from gossamer.jobs.starting import CrawlOrder, start_crawl
from gossamer.web.parts import JobName, Limit, Parts, WebParts, WhoAsks
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Actions")
LONGEST = 2000
"""Characters of a name, and of a key."""
HALF = re.compile("[\ud800-\udfff]")
"""Characters that JSON allows and databases cannot store."""

JOB_KINDS = ("pause", "resume", "cancel", "limits", "back", "fetch", "accept")
HOST_KINDS = ("pace", "hold", "release", "skip", "take")
WORKER_KINDS = ("drain", "keep", "forget")
PROXY_KINDS = ("rest", "try")
SCHEDULE_KINDS = ("run", "enable", "disable")


def _check_values(given: dict[str, Any]) -> dict[str, Any]:
    """Raise ``ValueError`` for invalid text. The values are not nested deeply (``BodyLimit``)."""
    level: list[Any] = [given]
    while level:
        found = [one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer)]
        names = [name for outer in level if isinstance(outer, dict) for name in outer]
        if any(isinstance(text, str) and HALF.search(text) for text in (*names, *found)):
            raise ValueError("half of a surrogate pair is not text")
        level = [one for one in found if isinstance(one, dict | list)]
    return given


Given = Annotated[dict[str, Any], AfterValidator(_check_values)]


class ActionForm(BaseModel):
    """Something that is to be done."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    do: str = Field(max_length=40, description="The name of the action.")
    given: Given = Field(default={}, alias="with", description="The values of the action.")
    expect: Given = Field(
        default={}, description="The state that you saw, by its names; if it differs now, 409."
    )
    key: str = Field(default="", max_length=200, description="Yours: the same one does it once.")


class LettersForm(BaseModel):
    """An action on dead letters."""

    model_config = ConfigDict(extra="forbid")

    filter: Given = Field(
        default={},
        description="Which, as in their list: `reason`, `host`, `older_than` (seconds), `q`; or `ids`. "
        "All of it must fit; `{}` is every dead letter of the job.",
    )
    expect: Given = Field(default={}, description="`count`: how many you saw.")
    change: Given = Field(
        default={}, description="Retry only: `url`, `rung`, `callback`, `priority` or `meta`, as it is to be."
    )
    when: str | None = Field(default=None, max_length=40)
    key: str = Field(default="", max_length=200, description="Yours: the same one does it once.")


class StartForm(BaseModel):
    """A crawl that is to be started."""

    model_config = ConfigDict(extra="forbid")

    target: str = Field(min_length=1, max_length=LONGEST, description="A URL, or a spider of the project.")
    arguments: dict[str, str] = Field(default={}, description="Arguments of the spider.")
    settings: Given = Field(default={}, description="Settings, by their names.")
    key: str = Field(default="", max_length=200, description="Yours: the same one does it once.")


class ActionAnswer(Record, frozen=True, kw_only=True):
    """An action that was done."""

    action: int  # its number
    undo_until: Time | None = None  # None: there is no way back
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}  # of much that is done in slices: as far as it has got


class StartAnswer(Record, frozen=True, kw_only=True):
    """A crawl that was started."""

    job: str  # its id


class ActionPage(Record, frozen=True, kw_only=True):
    """Actions, newest first."""

    actions: tuple[LoggedAction, ...] = ()
    next_before: int | None = None  # the number before which the next part begins; None: the list ends


Host = Annotated[str, Path(max_length=300, description="A host, with its port where that is unusual.")]
WorkerId = Annotated[str, Path(alias="worker", max_length=300, description="The id of a worker.")]
ProxyName = Annotated[str, Path(alias="proxy", max_length=300, description="The name of a proxy.")]
ScheduleName = Annotated[str, Path(alias="schedule", max_length=64, description="The name of a schedule.")]
Number = Annotated[int, Path(alias="action", ge=1, le=2**53, description="The number of an action.")]
OfJob = Annotated[str, Query(alias="job", max_length=200, description="Only actions on this job.")]
Before = Annotated[int | None, Query(ge=1, le=2**53, description="Only actions before this one.")]


async def _act(parts: WebParts, kinds: tuple[str, ...], order: ActionOrder) -> ActionAnswer:
    if order.kind not in kinds:
        raise UsageError(f"{order.kind!r} cannot be done here: {', '.join(kinds)} can")
    done = await perform_action(parts.acting, order)
    return ActionAnswer(action=done.id, undo_until=done.undo_until, before=done.before, after=done.after)


def _order(form: ActionForm, caller: WhoAsks, *, job: str = "", who: str = "") -> ActionOrder:
    return ActionOrder(
        kind=form.do, by=caller.name, job=job, who=who, given=form.given, expected=form.expect, key=form.key
    )


@ROUTES.change("/jobs", answer=StartAnswer, status=201)
async def start_job(parts: Parts, caller: WhoAsks, form: StartForm) -> StartAnswer:
    """Start a crawl: on the fleet, or on this machine.

    Only spiders of the project, and URLs; private addresses only where `dashboard.allow_private` says so.
    """
    start = CrawlOrder(target=form.target, arguments=form.arguments, settings=form.settings, key=form.key)
    return StartAnswer(job=(await start_crawl(parts.acting, start, caller.name)).id)


@ROUTES.change("/jobs/{job}/actions", answer=ActionAnswer)
async def act_on_job(parts: Parts, caller: WhoAsks, job: JobName, form: ActionForm) -> ActionAnswer:
    """Pause, resume or cancel a job, change its limits, fetch a page, accept its items.

    `do` is `pause`, `resume`, `cancel` (after ten seconds), `limits` (`with`: settings by their names),
    `back` (the same, to the values with which the job was begun), `fetch` (`with`: `url`), or `accept` (a job
    that is over: later jobs of the spider are compared with it, and its alerts of quality end).
    """
    found = await parts.find_job(job)
    return await _act(parts, JOB_KINDS, _order(form, caller, job=found.id))


@ROUTES.change("/jobs/{job}/hosts/{host}/actions", answer=ActionAnswer)
async def act_on_host(
    parts: Parts, caller: WhoAsks, job: JobName, host: Host, form: ActionForm
) -> ActionAnswer:
    """Change how one host of a job is asked.

    `do` is `pace` (`with`: `delay` in seconds, null: the job's), `hold` (`with`: `seconds` or `until`),
    `release`, `skip`, or `take`, which ends that.
    """
    found = await parts.find_job(job)
    return await _act(parts, HOST_KINDS, _order(form, caller, job=found.id, who=host.lower()))


async def _act_on_letters(
    kind: str, parts: WebParts, caller: WhoAsks, job: str, form: LettersForm
) -> ActionAnswer:
    given = {"filter": form.filter, "change": form.change, "when": form.when}
    found = await parts.find_job(job)
    order = ActionOrder(
        kind=kind, by=caller.name, job=found.id, given=given, expected=form.expect, key=form.key
    )
    return await _act(parts, (kind,), order)


@ROUTES.change("/jobs/{job}/dead/retry", answer=ActionAnswer)
async def retry_letters(parts: Parts, caller: WhoAsks, job: JobName, form: LettersForm) -> ActionAnswer:
    """Retry dead letters: all that fit, as they are or with a change. Many are retried in slices."""
    return await _act_on_letters("retry", parts, caller, job, form)


@ROUTES.change("/jobs/{job}/dead/drop", answer=ActionAnswer)
async def drop_letters(parts: Parts, caller: WhoAsks, job: JobName, form: LettersForm) -> ActionAnswer:
    """Forget dead letters: all that fit. Their URLs stay known. Many are dropped in slices."""
    return await _act_on_letters("drop", parts, caller, job, form)


@ROUTES.change("/workers/{worker}/actions", answer=ActionAnswer)
async def act_on_worker(parts: Parts, caller: WhoAsks, worker: WorkerId, form: ActionForm) -> ActionAnswer:
    """Let a worker of the fleet `drain`, `keep` it, or `forget` one that is silent."""
    return await _act(parts, WORKER_KINDS, _order(form, caller, who=worker))


@ROUTES.change("/proxies/{proxy:path}/actions", answer=ActionAnswer)
async def act_on_proxy(parts: Parts, caller: WhoAsks, proxy: ProxyName, form: ActionForm) -> ActionAnswer:
    """Let a proxy `rest` (`with`: `seconds`), or `try` it with the next request."""
    return await _act(parts, PROXY_KINDS, _order(form, caller, who=proxy))


@ROUTES.change("/schedules/{schedule}/actions", answer=ActionAnswer)
async def act_on_schedule(
    parts: Parts, caller: WhoAsks, schedule: ScheduleName, form: ActionForm
) -> ActionAnswer:
    """Let a schedule `run` now (within ten seconds, undoing cancels that), `enable` or `disable` it."""
    return await _act(parts, SCHEDULE_KINDS, _order(form, caller, who=schedule))


@ROUTES.change("/actions/{action}", answer=ActionAnswer, method="DELETE")
async def undo(parts: Parts, caller: WhoAsks, action: Number) -> ActionAnswer:
    """Undo an action, while there is a way back."""
    undone = await undo_action(parts.acting, action, caller.name)
    return ActionAnswer(action=undone.id, before=undone.after, after=undone.before)


@ROUTES.read("/actions/{action}", answer=LoggedAction, role=Role.OPERATE, is_shared=False)
async def read_action(parts: Parts, caller: WhoAsks, action: Number) -> LoggedAction:
    """Show one of the caller's actions and its progress; `admin` sees those of others."""
    return await read_own_action(parts.acting, action, caller)


@ROUTES.read("/actions", answer=ActionPage, role=Role.ADMIN)
async def list_actions(parts: Parts, limit: Limit = 50, job: OfJob = "", before: Before = None) -> ActionPage:
    """List actions and their authors, newest first: the audit log."""
    found = await parts.backends.actions.list_actions(limit + 1, job=job, before_id=before)
    shown = tuple(found[:limit])
    return ActionPage(actions=shown, next_before=shown[-1].id if len(found) > limit else None)
