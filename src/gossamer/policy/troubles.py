"""Troubles: problems with their start, their need for a person, and suggested fixes. Pure.

A trouble is one sentence about one subject. Troubles that need a person come first, then those that recover
on their own, then mere information; among equals the newest comes first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from urllib.parse import quote

from gossamer.core.record import Record, Time

ACCEPT = "accept"
"""The action that makes the items of a job that is over the usual ones."""
SHOWN = 5
"""Maximum number of troubles in a view, which counts the rest."""


class Severity(StrEnum):
    """Whether a trouble needs a person."""

    NEEDS_YOU = "needs_you"  # it will not become well by itself
    TAKES_CARE = "takes_care"  # it is being dealt with
    KNOW = "know"  # good to know


class TroubleKind(StrEnum):
    """The kind of problem."""

    AWAY = "away"  # Redis or the database does not answer, or takes no changes
    NO_SUPERVISOR = "no_supervisor"  # no supervisor leads the fleet
    NO_WORKER = "no_worker"  # no worker has a job
    FAILED = "failed"  # a job ended with an error
    STALLED = "stalled"  # work is due, and nothing was fetched for a long time
    NO_SUCCESS = "no_success"  # a host that is asked has answered no request well for a long time
    IDLE_WORKER = "idle_worker"  # it is asked for shifts, and takes none
    NO_ITEMS = "no_items"  # pages come, and no item does
    DRIFT = "drift"  # a field of the items has become empty
    DEAD_LETTERS = "dead_letters"  # many requests were given up lately
    PROXIES = "proxies"  # none of a pool can be used
    BUDGET = "budget"  # it is nearly spent
    REDIS_MEMORY = "redis_memory"  # Redis has nearly as much as it may have
    HOST_FAILS = "host_fails"  # most requests to a host fail
    STORE_LAG = "store_lag"  # results wait to be stored
    HELD = "held"  # all hosts of a job are left alone
    SILENT_WORKER = "silent_worker"  # its beats stay away
    GROWING = "growing"  # a job finds more than it does, for a long time
    LACKS_WORKERS = "lacks_workers"  # a job could go faster with more of them
    REFUSED = "refused"  # a worker cannot do a job
    TRAP = "trap"  # links of a job are left out, since their patterns count as traps
    UNREADABLE = "unreadable"  # the requests of a job cannot be read


LISTED_PROXIES = "the proxies"
"""The pool of the proxies that have no provider of their own."""

SEVERITIES: Mapping[TroubleKind, Severity] = {
    TroubleKind.AWAY: Severity.NEEDS_YOU,
    TroubleKind.NO_SUPERVISOR: Severity.NEEDS_YOU,
    TroubleKind.NO_WORKER: Severity.NEEDS_YOU,
    TroubleKind.FAILED: Severity.NEEDS_YOU,
    TroubleKind.STALLED: Severity.NEEDS_YOU,
    TroubleKind.NO_SUCCESS: Severity.NEEDS_YOU,
    TroubleKind.IDLE_WORKER: Severity.NEEDS_YOU,
    TroubleKind.NO_ITEMS: Severity.NEEDS_YOU,
    TroubleKind.DRIFT: Severity.NEEDS_YOU,
    TroubleKind.DEAD_LETTERS: Severity.NEEDS_YOU,
    TroubleKind.PROXIES: Severity.NEEDS_YOU,
    TroubleKind.BUDGET: Severity.NEEDS_YOU,
    TroubleKind.REDIS_MEMORY: Severity.NEEDS_YOU,
    TroubleKind.UNREADABLE: Severity.NEEDS_YOU,
    TroubleKind.HOST_FAILS: Severity.TAKES_CARE,
    TroubleKind.STORE_LAG: Severity.TAKES_CARE,
    TroubleKind.HELD: Severity.TAKES_CARE,
    TroubleKind.SILENT_WORKER: Severity.TAKES_CARE,
    TroubleKind.REFUSED: Severity.TAKES_CARE,
    TroubleKind.TRAP: Severity.TAKES_CARE,
    TroubleKind.GROWING: Severity.KNOW,
    TroubleKind.LACKS_WORKERS: Severity.KNOW,
}
"""How bad each kind is."""
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class TroubleWay(Record, frozen=True, kw_only=True):
    """A way out of a trouble: a place to look at, an action, or a command."""

    text: str  # its effect: a verb and its object
    place: str = ""  # in the dashboard, as an address
    action: str = ""  # to do on the job, in a word
    command: str = ""  # the same on the command line


class Trouble(Record, frozen=True, kw_only=True):
    """One thing that is wrong."""

    id: str  # the same as long as it lasts
    kind: TroubleKind
    severity: Severity
    who: str  # the job, host, worker or service that it is about
    text: str  # the problem: one sentence that names the subject
    since: Time
    job: str = ""  # "": it concerns no job
    ways: tuple[TroubleWay, ...] = ()


def make_trouble(
    kind: TroubleKind,
    who: str,
    text: str,
    *,
    since: float,
    job: str = "",
    is_over: bool = False,
    is_alert: bool = False,
) -> Trouble:
    """A trouble with its severity and its ways out, as :func:`ways_out` has them."""
    return Trouble(
        id=name_trouble(kind, job, who),
        kind=kind,
        severity=SEVERITIES[kind],
        who=who,
        text=text,
        since=since,
        job=job,
        ways=ways_out(kind, job, who, is_over=is_over, is_alert=is_alert),
    )


def name_trouble(kind: TroubleKind, job: str, who: str) -> str:
    """Return the name of a trouble in programs and on the command line."""
    return f"{kind.value}:{job}:{who}"


def job_of_trouble(name: str) -> str:
    """Return the id of the job that a trouble of this name, or of one that begins so, is about; "": none."""
    return name.partition(":")[2].partition(":")[0]


def order_troubles(troubles: Iterable[Trouble]) -> list[Trouble]:
    """The worst first, and of equals the newest."""
    return sorted(troubles, key=lambda one: (_RANKS[one.severity], -one.since, one.kind, one.job, one.who))


def ways_out(
    kind: TroubleKind, job: str, who: str, *, is_over: bool = False, is_alert: bool = False
) -> tuple[TroubleWay, ...]:
    """Return the suggested actions for a trouble.

    ``is_over``: its job has ended, and cannot be paused, nor given new limits; its items can be accepted.
    ``is_alert``: it can be acknowledged.
    """
    ways = tuple(way for way in _WAYS[kind](job, who) if not way.action or is_over == (way.action == ACCEPT))
    return (*ways, _acknowledge(name_trouble(kind, job, who))) if is_alert else ways


def _command(text: str, command: str) -> TroubleWay:
    return TroubleWay(text=text, command=command)


def _place(text: str, job: str, place: str, command: str = "") -> TroubleWay:
    return TroubleWay(text=text, place=f"/jobs/{quote(job, safe='')}{place}", command=command)


def _acknowledge(name: str) -> TroubleWay:
    return TroubleWay(
        text="Acknowledge", action="acknowledge", command=f"gossamer alerts ack {shlex.quote(name)}"
    )


def _pause(job: str) -> TroubleWay:
    return TroubleWay(text="Pause it", action="pause", command=f"gossamer pause {job}")


def _host(job: str, host: str) -> TroubleWay:
    place = f"/hosts?host={quote(host, safe='')}"
    return _place("See the host", job, place, f"gossamer host {job} {shlex.quote(host)}")


def _item_ways(job: str) -> tuple[TroubleWay, ...]:
    accept = TroubleWay(text="Accept the items as usual", action=ACCEPT, command=f"gossamer accept {job}")
    return _place("See what changed", job, "/items", f"gossamer report quality {job}"), accept


def _worker_of(lane: str) -> str:
    return f"gossamer worker --lanes {shlex.quote(lane)}"


_WORKERS = TroubleWay(text="See workers", place="/workers", command="gossamer fleet")
_DOCTOR = _command("Check that nothing is missing", "gossamer doctor")

_WAYS: Mapping[TroubleKind, Callable[[str, str], tuple[TroubleWay, ...]]] = {
    TroubleKind.AWAY: lambda job, who: (_DOCTOR,),
    TroubleKind.NO_SUPERVISOR: lambda job, who: (_command("Start a supervisor", "gossamer supervisor"),),
    TroubleKind.NO_WORKER: lambda job, who: (  # ``who`` may be a lane
        _command("Start a worker", "gossamer worker" if who == job else _worker_of(who)),
        _WORKERS,
    ),
    TroubleKind.FAILED: lambda job, who: (
        _place("See the job", job, "", f"gossamer status {job}"),
        _command("Give it up", f"gossamer cancel {job}"),
    ),
    TroubleKind.STALLED: lambda job, who: (_place("See its hosts", job, "/hosts", f"gossamer status {job}"),),
    TroubleKind.NO_SUCCESS: lambda job, who: (_host(job, who),),
    TroubleKind.IDLE_WORKER: lambda job, who: (_WORKERS, _DOCTOR),
    TroubleKind.NO_ITEMS: lambda job, who: (*_item_ways(job), _pause(job)),
    TroubleKind.DRIFT: lambda job, who: (*_item_ways(job), _pause(job)),
    TroubleKind.DEAD_LETTERS: lambda job, who: (
        _place("Look at them", job, "/dead", f"gossamer dead list {job}"),
        _place("See the errors", job, "/errors"),
    ),
    TroubleKind.PROXIES: lambda job, who: (
        TroubleWay(text="See the proxies", place="/proxies", command="gossamer proxies"),
    ),
    TroubleKind.BUDGET: lambda job, who: (
        TroubleWay(text="Change limits", place=f"/jobs/{quote(job, safe='')}/settings", action="limits"),
        _pause(job),
    ),
    TroubleKind.REDIS_MEMORY: lambda job, who: (_DOCTOR,),
    TroubleKind.UNREADABLE: lambda job, who: (_DOCTOR,),
    TroubleKind.HOST_FAILS: lambda job, who: (
        _host(job, who),
        _place("See the errors", job, "/errors", f"gossamer report failures {job} --by host"),
    ),
    TroubleKind.STORE_LAG: lambda job, who: (_DOCTOR,),
    TroubleKind.HELD: lambda job, who: (_place("See its hosts", job, "/hosts"),),
    TroubleKind.SILENT_WORKER: lambda job, who: (_WORKERS,),
    TroubleKind.REFUSED: lambda job, who: (_WORKERS,),
    TroubleKind.TRAP: lambda job, who: (_place("See the job", job, "", f"gossamer report traps {job}"),),
    TroubleKind.GROWING: lambda job, who: (_place("See the job", job, ""),),
    TroubleKind.LACKS_WORKERS: lambda job, who: (_WORKERS, _command("Start a worker", "gossamer worker")),
}
