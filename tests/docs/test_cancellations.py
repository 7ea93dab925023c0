"""No code of ours cancels a task once and relies on it, or uses ``asyncio.wait_for``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "gossamer"
HELPER = "runtime/cancelling.py"
TIMERS = {"_killing", "_sweeper", "_timer", "_watchdog", "alarm", "timer"}
"""Names of timers of the event loop, whose ``cancel`` cannot be lost."""
ALLOWED = {
    ("engine/worker.py", "task"): "visits that are broken off are ended together with the shift",
    ("runtime/user_code.py", "self._task"): "the grace period of users' code: the second cancellation",
    ("cluster/heartbeat.py", "ending"): "a future of another thread, which is not waited for",
    ("testing/contracts/extractor.py", "task"): "a promise to users: one cancellation is enough",
    ("testing/contracts/page_examiner.py", "task"): "the same",
    ("testing/contracts/pipeline.py", "task"): "the same",
    ("testing/contracts/robots_gate.py", "fetching"): "the same",
}


def find_faults(name: str, source: str) -> Iterator[str]:
    """Each place at which a cancellation may be lost."""
    for node in ast.walk(ast.parse(source)):
        place = f"{name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom) and node.module == "asyncio":
            yield from (f"{place}: wait_for" for one in node.names if one.name == "wait_for")
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = ast.unparse(node.func.value)
        if node.func.attr == "wait_for" and owner == "asyncio":
            yield f"{place}: asyncio.wait_for; use `async with asyncio.timeout(seconds)`"
        is_timer = owner.rpartition(".")[2] in TIMERS
        if node.func.attr == "cancel" and not is_timer and (name, owner) not in ALLOWED:
            yield f"{place}: {owner}.cancel(); use end_tasks or end_soon of {HELPER}"


@pytest.mark.long
def test_no_cancellation_of_ours_can_be_lost() -> None:
    names = {str(path.relative_to(SOURCES)): path for path in sorted(SOURCES.rglob("*.py"))}
    faults = [
        fault
        for name, path in names.items()
        if name != HELPER
        for fault in find_faults(name, path.read_text())
    ]
    assert not faults, "\n".join(faults)


def test_each_exception_is_still_needed() -> None:
    found = {
        (name, ast.unparse(node.func.value))
        for name in {name for name, _ in ALLOWED}
        for node in ast.walk(ast.parse((SOURCES / name).read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cancel"
    }
    assert set(ALLOWED) <= found


@pytest.mark.parametrize(
    "source",
    [
        "task.cancel()\nawait asyncio.gather(task)",
        "async def close(self):\n    self._task.cancel()\n    await self._task",
        "for one in tasks:\n    one.cancel()\nawait asyncio.wait(tasks)",
        "await asyncio.wait_for(event.wait(), 5)",
        "from asyncio import wait_for",
    ],
)
def test_the_check_finds_what_it_forbids(source: str) -> None:
    assert list(find_faults("some.py", source))


def test_the_check_leaves_timers_alone() -> None:
    assert not list(find_faults("some.py", "self._timer.cancel()\nawait condition.wait_for(ready)"))
