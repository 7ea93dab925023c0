"""Asks each server of a place every few seconds whether it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from gossamer.core.errors import GossamerError
from gossamer.core.health import PartHealth
from gossamer.core.text import describe_error
from gossamer.policy.health import ANSWER_S
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.wiring.backends import Backends, name_place

ASK_EVERY_S = 5.0
PATIENCE_S = 5.0
UNASKED = "it is not known why: the event loop is held up, and has asked nothing"
SPACE = "health"
"""The shared state in which nothing is: to ask for it costs the server nothing."""


class BackendCheck:
    """When each server answered last. ``read_parts`` is for any thread."""

    def __init__(self, backends: Backends) -> None:
        settings, shared = backends.settings, backends.requests.shared
        self._questions: dict[str, Callable[[], Awaitable[object]]] = {
            name_place(settings.frontier.url): lambda: shared.get(SPACE, ""),
            name_place(settings.store.url): lambda: backends.book.get(""),  # of one file this is enough
        }
        self._asked_at = began_at = time.monotonic()
        self._answered_at = dict.fromkeys(self._questions, began_at)
        self._details = dict.fromkeys(self._questions, "")

    def __repr__(self) -> str:
        return f"<BackendCheck of {', '.join(self._questions)}>"

    async def run(self) -> None:
        """Ask until cancelled. Raises nothing else."""
        while True:
            await asyncio.gather(*map(self._ask, self._questions))
            self._asked_at = time.monotonic()
            await asyncio.sleep(ASK_EVERY_S)

    async def _ask(self, name: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._questions[name]()
        except TimeoutError:
            self._details[name] = f"no answer within {PATIENCE_S:g} s"
        except GossamerError as error:
            self._details[name] = hide_secrets(str(error))
        except Exception as error:  # noqa: BLE001 - any error means that the server does not answer
            self._details[name] = hide_secrets(describe_error(error))
        else:
            self._answered_at[name], self._details[name] = time.monotonic(), ""

    def read_parts(self) -> list[PartHealth]:
        """Return the health of the servers; it says so if none of them answered."""
        is_asked = time.monotonic() - self._asked_at < ASK_EVERY_S + 2 * PATIENCE_S
        return [
            PartHealth(
                failure=f"{name} has not answered",
                seen_at=self._answered_at[name],
                within_s=ANSWER_S,
                detail=self._details[name] if is_asked else UNASKED,
            )
            for name in self._questions
        ]


def waiting_health(began_at: float) -> list[PartHealth]:
    """Return the health of a process that has not yet reached all of its servers."""
    return [PartHealth(failure="this process has waited for its servers", seen_at=began_at, within_s=0.0)]
