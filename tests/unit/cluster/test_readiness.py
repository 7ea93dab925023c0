"""A process of a fleet lives from its start, and is ready when it has found its servers."""

from __future__ import annotations

import asyncio
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.layers import load_settings
from kit.fleet.steps import until
from kit.programs import start
from kit.server_process import free_port

WITHIN_S = 30.0


def look(port: int, path: str) -> tuple[int, str]:
    """What a process of this machine answers; 0: it does not listen."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["worker", "supervisor"])
def test_a_process_that_waits_for_redis_lives_and_is_not_ready(tmp_path: Path, kind: str) -> None:
    """Else Kubernetes kills it as one that does not start, again and again, while Redis is away."""
    port = free_port()
    away = f"frontier.url=redis://127.0.0.1:{free_port()}/0"
    process = start(kind, "-s", away, "--metrics-port", str(port), cwd=tmp_path)
    try:
        until(lambda: look(port, "/healthz") == (200, "ok\n"), WITHIN_S, "it lives")
        assert look(port, "/readyz") == (503, "waiting for servers\n")
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(WITHIN_S) == 0
    finally:
        process.kill()
        process.wait(WITHIN_S)


async def test_a_worker_is_ready_when_it_has_found_its_servers(redis_url: str, tmp_path: Path) -> None:
    port = free_port()
    given = {"data": str(tmp_path), "frontier.url": redis_url, "metrics.port": port}
    place = WorkerProcess(load_settings(env={}, overrides=given).settings, slots=1, lanes=("http",))
    await asyncio.to_thread(place.begin)
    try:
        assert [look(port, path)[0] for path in ("/healthz", "/readyz")] == [200, 503]
        assert await asyncio.to_thread(place.start)
        assert [look(port, path)[0] for path in ("/healthz", "/readyz")] == [200, 200]
    finally:
        await asyncio.to_thread(place.close)
