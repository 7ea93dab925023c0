"""``gossamer alerts``: what is wrong now, and whether those who are told of it are reached."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import local_short, print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.jobs.alert_trial import try_targets
from gossamer.queries.alerts import AlertPage, list_alerts
from gossamer.queries.documents import to_document
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer alerts                           what is wrong now, and who is told
  gossamer alerts list --json
  gossamer alerts test                      tells everybody that this is a trial
  gossamer alerts test ops
"""


def show_alerts(
    action: Annotated[
        str,
        typer.Argument(metavar="ACTION", help="`list`, or `test`: tell the targets that this is a trial."),
    ] = "list",
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The target to try; by default all of them.")
    ] = None,
    *,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show what is wrong now, or test who is told of it.

    With `test`, the exit code is 1 if a target is not reached.
    """
    settled = settings_of(data, settings)
    if action == "list" and target is None:
        _print_alerts(settled, as_json=as_json)
    elif action == "test":
        _run_trial(settled, target, as_json=as_json)
    else:
        raise UsageError(
            f"{action!r} is not an action; `gossamer alerts list` and `gossamer alerts test` are"
        )


def _print_alerts(settings: Settings, *, as_json: bool) -> None:
    async def work(backends: Backends) -> AlertPage:
        return await list_alerts(backends, settings)

    page = run_with_backends(settings, work)
    if as_json:
        print_json(to_document(page))
        return
    if page.alerts:
        print_table(
            ("since", "severity", "alert", "what is wrong"),
            (
                (local_short(one.since), one.severity.replace("_", " "), one.kind, one.text)
                for one in page.alerts
            ),
            wide="what is wrong",
        )
    elif page.is_watched:
        print_message("nothing is wrong")
    if page.targets:
        _print_targets(page)
    if not page.is_watched:
        print_message("nobody watches: no crawl runs here, and no supervisor leads")
    if not page.targets:
        print_message("nobody is told: the settings have no [alerts.targets.NAME]")


def _print_targets(page: AlertPage) -> None:
    print_table(
        ("target", "kind", "told of", "waiting"),
        (
            (one.name, one.kind, ", ".join(one.severities).replace("_", " "), one.waiting)
            for one in page.targets
        ),
        right=("waiting",),
    )


def _run_trial(settings: Settings, target: str | None, *, as_json: bool) -> None:
    if not settings.alerts.targets:
        raise UsageError("nobody is told of alerts: the settings have no [alerts.targets.NAME]")
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
