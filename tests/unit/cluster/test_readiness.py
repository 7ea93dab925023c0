"""A process of a fleet lives from its start, and is ready when it has found its servers."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings
from gossamer.observe import health
from gossamer.wiring import backend_check
from kit.environment import environment
from kit.fleet.steps import until
from kit.programs import start
from kit.server_process import free_port
from kit.servers import RedisProcess

WITHIN_S = 30.0
BOUND_S = 2.0


def look(port: int, path: str) -> tuple[int, str]:
    """What a process of this machine answers; 0: it does not listen."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["worker", "supervisor"])
def test_a_process_that_waits_for_redis_lives_and_is_not_ready(tmp_path: Path, kind: str) -> None:
    """Else Kubernetes kills it as one that does not start, again and again, while Redis is away."""
    port = free_port()
    away = f"frontier.url=redis://127.0.0.1:{free_port()}/0"
    process = start(kind, "-s", away, "--metrics-port", str(port), cwd=tmp_path)
    try:
        until(lambda: look(port, "/healthz") == (200, "ok\n"), WITHIN_S, "it lives")
        status, body = look(port, "/readyz")
        assert status == 503
        assert body.startswith("this process has waited for its servers for ")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    finally:
        process.kill()
        process.wait(WITHIN_S)


SOON = "from gossamer.policy import health\nhealth.ANSWER_S = 8.0\n"
"""Read by each process as it starts: the bound of an answer, made short for the test."""


@pytest.mark.long
def test_a_supervisor_and_a_dashboard_are_not_ready_while_redis_is_away(
    tmp_path: Path, redis_server: RedisProcess
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SOON)
    url, env = redis_server.start().url, environment(PYTHONPATH=str(tmp_path))
    given = ["-s", f"frontier.url={url}", "-s", f"cluster.fleet={tmp_path.name}", "--data", str(tmp_path)]
    ports = {free_port(): ["supervisor", "--metrics-port"], free_port(): ["dashboard", "--port"]}
    processes = [start(*words, str(port), *given, cwd=tmp_path, env=env) for port, words in ports.items()]

    def all_say(path: str, status: int) -> bool:
        return all(look(port, path)[0] == status for port in ports)

    try:
        until(lambda: all_say("/readyz", 200), 2 * WITHIN_S, "they are ready")
        redis_server.kill()
        until(lambda: all_say("/readyz", 503), WITHIN_S, "they are not")
        assert all("Redis has not answered for " in look(port, "/readyz")[1] for port in ports)
        assert all_say("/healthz", 200), "to start them again would not help"
        redis_server.start()
        until(lambda: all_say("/readyz", 200), WITHIN_S, "they are again")
    finally:
        for process in processes:
            process.kill()
            process.wait(WITHIN_S)


@pytest.fixture
def settings(redis_server: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Servers are asked often, and have to answer soon."""
    for module, name, value in (
        (backend_check, "ASK_EVERY_S", 0.1),
        (backend_check, "PATIENCE_S", 1.0),
        (backend_check, "ANSWER_S", BOUND_S),
    ):
        monkeypatch.setattr(module, name, value)
    url = redis_server.start().url
    given = {"data": str(tmp_path), "frontier.url": url, "metrics.port": free_port()}
    given["cluster.fleet"] = tmp_path.name  # the Redis is that of other tests, too
    return load_settings(env={}, overrides=given).settings


@pytest.fixture
async def place(settings: Settings) -> AsyncIterator[WorkerProcess]:
    made = WorkerProcess(settings, slots=1, lanes=("http",))
    await asyncio.to_thread(made.begin)
    yield made
    await asyncio.to_thread(made.close)


async def test_a_worker_is_ready_when_it_has_found_its_servers(
    settings: Settings, place: WorkerProcess
) -> None:
    port = settings.metrics.port or 0
    assert [look(port, path)[0] for path in ("/healthz", "/readyz")] == [200, 503]
    assert await asyncio.to_thread(place.start)
    assert [look(port, path)[0] for path in ("/healthz", "/readyz")] == [200, 200]


@pytest.mark.long
@pytest.mark.parametrize("way", ["kill", "freeze"])
async def test_a_worker_is_not_ready_while_redis_is_away_and_ready_when_it_is_back(
    settings: Settings, place: WorkerProcess, redis_server: RedisProcess, way: str
) -> None:
    port = settings.metrics.port or 0
    assert await asyncio.to_thread(place.start)
    await asyncio.to_thread(until, lambda: look(port, "/readyz") == (200, "ok\n"), WITHIN_S, "it is ready")
    if way == "kill":
        redis_server.kill()
    else:
        os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        await asyncio.to_thread(until, lambda: look(port, "/readyz")[0] == 503, 3 * BOUND_S, "it is not")
        _, body = look(port, "/readyz")
        assert body.startswith("Redis has not answered for ")
        assert look(port, "/healthz") == (200, "ok\n"), "to start it again would not help"
    finally:
        if way == "freeze":
            os.kill(redis_server.pid, signal.SIGCONT)
    await asyncio.to_thread(redis_server.start)
    await asyncio.to_thread(until, lambda: look(port, "/readyz") == (200, "ok\n"), WITHIN_S, "it is again")


async def test_a_worker_whose_loop_is_blocked_is_not_alive(
    settings: Settings, place: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = settings.metrics.port or 0
    assert await asyncio.to_thread(place.start)
    monkeypatch.setattr(health, "HELD_UP_S", 1.0)
    let_go = threading.Event()
    place._loop.call_soon_threadsafe(let_go.wait, WITHIN_S)
    try:
        await asyncio.to_thread(until, lambda: look(port, "/healthz")[0] == 503, WITHIN_S, "it is held up")
        assert "the event loop has not run for " in look(port, "/healthz")[1]
    finally:
        let_go.set()
    await asyncio.to_thread(until, lambda: look(port, "/healthz") == (200, "ok\n"), WITHIN_S, "it is alive")
