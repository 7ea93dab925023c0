"""``gossamer alerts``: current problems, who is notified of them, and acknowledging them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from msgspec.structs import replace

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.acting import act, loaded_of
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import local_short, print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.layers import LoadedSettings
from gossamer.config.settings import Settings
from gossamer.core.access import LoggedAction
from gossamer.core.errors import UsageError
from gossamer.jobs.alert_actions import order_acknowledgement
from gossamer.jobs.alert_trial import try_targets
from gossamer.queries.alerts import AlertPage, list_alerts
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer alerts                           current problems, and who is notified
  gossamer alerts list --json
  gossamer alerts test                      sends a test alert to every target
  gossamer alerts test ops
  gossamer alerts ack shop-3                you know of all alerts of shop-3
  gossamer alerts ack drift:shop-3          ... or of one, by the id that --json shows
  gossamer alerts ack drift                 ... or of all alerts of a kind, for any job
"""


def show_alerts(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="`list`; `test`: send a test alert to the targets; `ack`: acknowledge alerts.",
        ),
    ] = "list",
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="`test`: the target, by default all. `ack`: a job, a kind of alerts, or an alert's id.",
        ),
    ] = None,
    *,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List current problems, acknowledge them, or send a test alert.

    With `test`, the exit code is 1 if a target is not reached. An acknowledged alert is no longer listed as
    a problem, until it has ended and begins anew.
    """
    settled = settings_of(data, settings)
    if action == "list" and target is None:
        _print_alerts(settled, as_json=as_json)
    elif action == "test":
        _run_trial(settled, target, as_json=as_json)
    elif action == "ack" and target is not None:
        _acknowledge(loaded_of(data, settings), target, as_json=as_json)
    else:
        raise UsageError(
            f"{' '.join(filter(None, (action, target)))!r} is not an action; `gossamer alerts list`, "
            "`gossamer alerts test` and `gossamer alerts ack NAME` are"
        )


def _acknowledge(loaded: LoadedSettings, name: str, *, as_json: bool) -> None:
    async def work(backends: Backends) -> LoggedAction:
        order = order_acknowledgement(name)
        job = await find_job(backends, order.job) if order.job else None
        return await act(backends, loaded, replace(order, job=job.id) if job else order)

    done = run_with_backends(loaded.settings, work)
    if as_json:
        print_json(done.after)
    else:
        for text in done.before["alerts"]:
            print_message(f"acknowledged: {text}")


def _print_alerts(settings: Settings, *, as_json: bool) -> None:
    async def work(backends: Backends) -> AlertPage:
        return await list_alerts(backends, settings)

    page = run_with_backends(settings, work)
    if as_json:
        print_json(to_document(page))
        return
    if page.alerts:
        print_table(
            ("since", "severity", "alert", "problem"),
            (
                (local_short(one.since), one.severity.replace("_", " "), one.kind, one.text)
                for one in page.alerts
            ),
            wide="problem",
        )
    if page.acknowledged:
        print_table(
            ("since", "acknowledged", "problem"),
            ((local_short(one.since), one.kind, one.text) for one in page.acknowledged),
            wide="problem",
        )
    if page.targets:
        _print_targets(page)
    for sentence in page.say:
        print_message(sentence)


def _print_targets(page: AlertPage) -> None:
    print_table(
        ("target", "kind", "severities", "last sent", "waiting", "error"),
        (
            (
                one.name,
                one.kind,
                ", ".join(one.severities).replace("_", " "),
                local_short(one.sent_at) if one.sent_at else "",
                one.waiting,
                one.error,
            )
            for one in page.targets
        ),
        right=("waiting",),
        wide="error",
    )
    if troubled := [one for one in page.notices if one.state != "sent" and one.error]:
        print_table(
            ("found", "target", "notification", "tries", "state", "error"),
            (
                (local_short(one.at), one.target, one.text, one.tries, one.state, one.error)
                for one in troubled
            ),
            right=("tries",),
            wide="notification",
        )


def _run_trial(settings: Settings, target: str | None, *, as_json: bool) -> None:
    if not settings.alerts.targets:
        raise UsageError("no alert targets: the settings have no section [alerts.targets.NAME]")
    found = asyncio.run(try_targets(settings, [target] if target else []))
    if as_json:
        print_json(to_document(found))
    else:
        print_table(
            ("target", "reached", "error"),
            ((one.target, "yes" if one.is_reached else "no", one.error) for one in found),
            wide="error",
        )
    raise typer.Exit(0 if all(one.is_reached for one in found) else 1)


COMMANDS = (("alerts", show_alerts, EXAMPLES),)
