"""Actions of the command line: noted in the audit log as those of the dashboard are, and undone there."""

from __future__ import annotations

import getpass
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.config.layers import LoadedSettings, load_settings
from gossamer.config.overrides import to_overrides
from gossamer.core.access import AT_TERMINAL, LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.jobs import Job
from gossamer.jobs.acting import perform_action
from gossamer.jobs.action_kind import ActionParts
from gossamer.wiring.backends import Backends


def who_acts() -> str:
    """Return the name of the user for the audit log; a token cannot have such a name."""
    try:
        return f"{getpass.getuser()}{AT_TERMINAL}"
    except (OSError, KeyError):  # a user without a name
        return f"user {os.getuid()}{AT_TERMINAL}"


def loaded_of(data: str | None, settings: list[str] | None) -> LoadedSettings:
    """Return the settings of a command that acts, with its project."""
    return load_settings(overrides=to_overrides(settings, data=data), env=os.environ, start=Path.cwd())


async def act(backends: Backends, loaded: LoadedSettings, order: ActionOrder) -> LoggedAction:
    """Run an action to its end."""
    waiting: list[Coroutine[Any, Any, None]] = []
    done = await perform_action(ActionParts(backends, loaded, waiting.append), replace(order, by=who_acts()))
    for more in waiting:
        await more
    return await backends.actions.find_action(done.id) or done


async def note_action(
    backends: Backends, kind: str, job: Job, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Note a change that a command has made itself; only another command undoes it."""
    await backends.actions.add_action(
        LoggedAction(
            at=backends.clock.now(),
            token=who_acts(),
            kind=kind,
            job=job.id,
            what=job.id,
            before=before,
            after=after,
        )
    )
