"""``gossamer pause``, ``resume``, ``cancel`` and ``fleet``: steer jobs, and list workers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.acting import note_action, who_acts
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import LONG, local_short, plain, print_json
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.layers import find_project
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER, JobCommand
from gossamer.jobs.control import adopt_version, change_job
from gossamer.jobs.fleet_actions import adopt_store_here
from gossamer.queries.documents import to_document
from gossamer.queries.fleet import WorkerStatus, read_fleet
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

PAUSE_EXAMPLES = """
  gossamer pause shop              finishes requests in flight, starts no new ones
"""
RESUME_EXAMPLES = """
  gossamer resume shop
  gossamer resume shop --adopt     with the spider as it is here now
"""
CANCEL_EXAMPLES = """
  gossamer cancel shop-3           final; stored items and pages stay
"""
FLEET_EXAMPLES = """
  gossamer fleet                   supervisor, workers, shifts
  gossamer fleet --json
  gossamer fleet --adopt-store     the store is another one from now on
"""


Adopt = Annotated[bool, typer.Option("--adopt", help="Continue with the version of the spider that is here.")]
AdoptStore = Annotated[
    bool,
    typer.Option(
        "--adopt-store",
        help="Let the fleet work with the store that the settings name: its former one is gone for good.",
    ),
]


def pause_job(name: JobName, data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Pause a crawl: start no new requests until it is resumed."""
    _change_job(name, "pause", data, settings, as_json=as_json)


def resume_job(
    name: JobName, data: Data = None, settings: Set = None, adopt: Adopt = False, as_json: AsJson = False
) -> None:
    """Resume a paused crawl of the fleet.

    A fleet works on a job with the version of the spider that was submitted. With --adopt it continues with
    the version that is here, which must be on the workers too; the switch is noted. A request that waits for
    a callback which this version lacks becomes a dead letter.
    """
    _change_job(name, "resume", data, settings, as_json=as_json, adopt=adopt)


def cancel_job(name: JobName, data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """End a crawl for good. Its items, pages and ledger stay."""
    _change_job(name, "cancel", data, settings, as_json=as_json)


def _change_job(
    name: str,
    what: str,
    data: str | None,
    settings: list[str] | None,
    *,
    as_json: bool,
    adopt: bool = False,
) -> None:
    wanted = JobCommand(what)

    async def work(backends: Backends) -> Job:
        job = await find_job(backends, name)
        if adopt and job.state not in OVER:
            job = await adopt_version(backends, job, find_project(Path.cwd()), who_acts())
        changed = await change_job(backends, job, wanted)
        await note_action(backends, what, job, {"state": job.state.value}, {"state": changed.state.value})
        return changed

    job = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json({"job": job.id, "state": job.state.value})
    else:
        print_facts([("job", job.id), ("state", _state_after(job, wanted))])


def _state_after(job: Job, change: JobCommand) -> str:
    """Return the job's state, with the command that continues it if a person must run one."""
    if change == "resume" and not job.is_fleet:
        return f"{job.state}; the same `gossamer crawl` continues it"
    return str(job.state)


# --------------------------------------------------------------------------- who works


def show_fleet(
    data: Data = None, settings: Set = None, adopt_store: AdoptStore = False, as_json: AsJson = False
) -> None:
    """Show the workers of the fleet and their jobs.

    Lists the leading supervisor, the workers, and the shifts of each worker."""
    if adopt_store:
        run_with_backends(settings_of(data, settings), adopt_store_here, create=True)
    fleet = run_with_backends(settings_of(data, settings), read_fleet, create=True)
    view = fleet.view
    if as_json:
        print_json(to_document(view))
        return
    print_facts(
        [
            ("supervisor", view.leader or "none: `gossamer supervisor` starts one"),
            ("store", view.store.place if view.store else "none yet: the first process that starts names it"),
        ]
    )
    if fleet.workers:
        print_table(
            ("worker", "state", "slots", "busy", "lanes", "last seen", "since", "clock"),
            map(_worker_row, fleet.workers),
            right=("slots", "busy"),
        )
        if wrong := next((status.clock for status in fleet.workers if status.clock), None):
            print_facts([("", ""), ("clocks", wrong.reason)])
    if view.shifts:
        print_facts([("", "")])
        print_table(
            ("job", "lane", "state", "pages", "in flight", "worker"),
            ((s.job, s.lane, s.state.value, s.pages, s.in_flight, s.worker) for s in view.shifts),
            right=("pages", "in flight"),
            wide="worker",
        )
    for health in fleet.troubles:
        print_facts([(health.job, plain(health.detail, LONG))])


def _worker_row(status: WorkerStatus) -> tuple[object, ...]:
    worker = status.worker
    return (
        worker.id,
        "silent" if status.is_silent else worker.state.value,
        worker.slots,
        status.busy,
        ", ".join(worker.lanes),
        f"{status.unseen_s:.0f} s ago",
        local_short(worker.started_at) if worker.started_at else "",
        status.clock.answer if status.clock else "right" if worker.ahead_s is not None else "",
    )


COMMANDS: tuple[tuple[str, Any, str], ...] = (
    ("pause", pause_job, PAUSE_EXAMPLES),
    ("resume", resume_job, RESUME_EXAMPLES),
    ("cancel", cancel_job, CANCEL_EXAMPLES),
    ("fleet", show_fleet, FLEET_EXAMPLES),
)
