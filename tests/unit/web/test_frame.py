"""The frame of the dashboard: who may ask what, what is said to browsers, how errors look."""

import asyncio
import re
import socket
from secrets import token_hex

import pytest
from fastapi import Request
from fastapi.routing import APIRoute

from gossamer.config.layers import load_settings
from gossamer.core.access import Role
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.health import PartHealth
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.testing.clock import ManualClock
from gossamer.version import __version__
from gossamer.web import serving
from gossamer.web.app import API, load_groups
from gossamer.web.pages import PLACES
from gossamer.web.route_group import question_of
from gossamer.web.serving import check_place, listen_at
from gossamer.wiring.backend_check import BackendCheck
from kit.scraping import Scraped, lint
from kit.web import open_web

OPEN = {"/healthz", "/readyz", "/static/{path:path}", "/{path:path}", *PLACES}
"""What answers anybody: the page and its files, and whether the process lives."""
SIGN_IN = "/api/v1/session"


@pytest.fixture
async def web(tmp_path):
    async with open_web(tmp_path) as web:
        yield web


@pytest.fixture
async def elsewhere(tmp_path):
    """A dashboard that others can reach."""
    async with open_web(tmp_path, is_local=False, address="192.0.2.7") as web:
        yield web


def routes_of(app):
    """Every route with its methods."""
    own = [(route.path, route.methods) for route in app.routes if isinstance(route, APIRoute)]
    api = [(f"{API}{route.path}", route.methods) for group in load_groups() for route in group.router.routes]
    assert ("/api/v1/jobs", {"GET"}) in api
    assert {path for path, _ in own} > OPEN
    return own + api


def filled(path):
    return re.sub(r"\{[^}]*\}", "1", path)


async def test_without_a_token_nothing_answers_but_health_and_the_page(elsewhere):
    for path, methods in routes_of(elsewhere.app):
        for method in methods:
            answer = await elsewhere.client.request(method, filled(path))
            if path in OPEN:
                assert answer.status_code in (200, 404), path
            elif path == SIGN_IN:
                assert answer.status_code in (204, 422), path
            else:
                assert answer.status_code == 401, f"{method} {path} answers anybody"


async def test_a_read_token_changes_nothing(elsewhere):
    token = await elsewhere.make_token("ann", Role.READ)
    for path, methods in routes_of(elsewhere.app):
        for method in {*methods} - {"GET", "HEAD", "OPTIONS"}:
            answer = await elsewhere.client.request(method, filled(path), headers=token, json={})
            if path != SIGN_IN:
                refused = 404 if path == "/api/{path:path}" else 403
                assert answer.status_code == refused, f"{method} {path} takes a read token"


async def test_on_this_machine_no_token_is_needed_until_there_is_one(tmp_path):
    clock = ManualClock()
    async with open_web(tmp_path, clock=clock) as web:
        assert await web.get("/me") == {
            "name": "local",
            "role": "admin",
            "is_session": False,
            "is_local": True,
            "version": __version__,
            "fleet": "",
            "requests": "",
            "store": "",
            "has_proxies": False,
        }
        token = await web.make_token("ann", Role.OPERATE)
        clock.advance(2.0)
        assert (await web.client.get("/api/v1/me")).status_code == 401
        found = await web.get("/me", headers=token)
        assert (found["name"], found["role"], found["is_local"]) == ("ann", "operate", False)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8787"},
        {"Host": "127.0.0.1.evil.example"},
        {"X-Forwarded-For": "192.0.2.7"},
        {"Via": "1.1 proxy"},
    ],
)
async def test_another_name_or_a_proxy_is_not_this_machine(web, headers):
    answer = await web.client.get("/api/v1/jobs", headers=headers)
    assert answer.status_code == 403
    assert "gossamer token create" in answer.json()["error"]["way"]


async def test_a_session_begins_with_a_token_and_ends(elsewhere):
    token = await elsewhere.make_token("ann", Role.OPERATE)
    secret = token["Authorization"].removeprefix("Bearer ")
    answer = await elsewhere.client.post("/api/v1/session", json={"token": secret})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure", "path=/"))
    assert secret.lower() not in cookie
    session = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    found = await elsewhere.get("/me", headers=session)
    assert (found["name"], found["is_session"]) == ("ann", True)
    await elsewhere.client.delete("/api/v1/session", headers=session)
    assert (await elsewhere.client.get("/api/v1/me", headers=session)).status_code == 401


async def test_five_wrong_tokens_wait_a_minute(tmp_path):
    clock = ManualClock()
    async with open_web(tmp_path, is_local=False, clock=clock) as web:
        right = (await web.make_token("ann"))["Authorization"].removeprefix("Bearer ")
        for _ in range(5):
            answer = await web.client.post("/api/v1/session", json={"token": "wrong"})
            assert answer.status_code == 401
        answer = await web.client.post("/api/v1/session", json={"token": right})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        clock.advance(60.0)
        assert (await web.client.post("/api/v1/session", json={"token": right})).status_code == 200


async def test_wrong_tokens_shut_out_nobody_who_is_known(elsewhere):
    """Behind a reverse proxy that is not trusted, everybody has its address."""
    known, other = await elsewhere.make_token("prometheus"), await elsewhere.make_token("ann")
    assert (await elsewhere.client.get("/api/v1/me", headers=known)).status_code == 200
    for _ in range(6):
        wrong = await elsewhere.client.get("/api/v1/me", headers={"Authorization": "Bearer wrong"})
    assert wrong.status_code == 429
    assert (await elsewhere.client.get("/api/v1/me", headers=known)).status_code == 200
    assert (await elsewhere.client.get("/api/v1/me", headers=other)).status_code == 429


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8787"}, 403),
        ({"Origin": "http://127.0.0.1:8787"}, 204),
        ({"Sec-Fetch-Site": "same-origin"}, 204),
        ({}, 204),
    ],
)
async def test_a_page_of_another_site_changes_nothing(web, headers, status):
    answer = await web.client.delete("/api/v1/session", headers=headers)
    assert answer.status_code == status


async def test_every_place_is_the_page_and_everything_else_is_not(web):
    for path in ("/", "/workers", "/jobs/shop-1", "/jobs/shop-1/hosts", "/page", "/sign-in"):
        answer = await web.client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        again = await web.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    for path in ("/nothing", "/jobs/shop-1/nothing", "/static/../app.py", "/static/app.py"):
        assert (await web.client.get(path)).status_code == 404
    script = await web.client.get("/static/app.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"


async def test_browsers_are_told_to_run_nothing_of_others(web):
    for path in ("/", "/static/app.js", "/api/v1/jobs", "/api/v1/nothing", "/nothing", "/healthz"):
        headers = (await web.client.get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


async def test_errors_say_what_why_and_what_to_do(web):
    for path, status in (
        ("/api/v1/jobs?limit=1000", 422),
        ("/api/v1/nothing", 404),
        ("/api/v1/jobs?state=%00", 422),
    ):
        answer = await web.client.get(path)
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"what", "why", "way", "now"}
    large = await web.client.post("/api/v1/session", content=b"x" * 1_100_000)
    assert large.status_code == 413


async def test_an_answer_that_the_caller_has_is_not_sent_again(web):
    first = await web.client.get("/api/v1/jobs")
    again = await web.client.get("/api/v1/jobs", headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/api/v1/jobs", b"x/api/v1/actions?limit=5#"),
        ("/api/v1/jobs", b"x/api/v1/actions?limit=5&"),
        ("/api/v1/actions?limit=5", b"x"),  # as `%3F` arrives
        ("/api/v1/actions#limit=5", b"["),
    ],
)
def test_an_answer_is_kept_for_what_was_asked(path, host):
    """An answer from memory is for whoever may ask that question: no header and no escape names another."""
    scope = {"type": "http", "path": path, "query_string": b"", "headers": [(b"host", host)]}
    other = {**scope, "path": "/api/v1/actions", "query_string": b"limit=5", "headers": []}
    assert question_of(Request(scope)) != question_of(Request(other)) == "/api/v1/actions?limit=5"


async def test_where_others_can_come_there_must_be_a_token(web):
    with pytest.raises(UsageError, match="gossamer token create"):
        await check_place(web.backends, "0.0.0.0", is_local=False)
    await check_place(web.backends, "127.0.0.1", is_local=True)
    await web.make_token("ann")
    await check_place(web.backends, "0.0.0.0", is_local=False)


@pytest.mark.parametrize(
    ("own", "headers", "is_told"),
    [(True, {}, True), (False, {}, False), (True, {"X-Forwarded-For": "192.0.2.9"}, False)],
    ids=["on this machine", "elsewhere", "through a proxy"],
)
async def test_only_this_machine_reads_why_a_server_does_not_answer(tmp_path, own, headers, is_told):
    """A bug it would catch: strangers read the addresses of inner servers."""
    part = PartHealth(failure="Redis has not answered", seen_at=-99.0, within_s=1.0, detail="10.0.0.7:6379")
    address = "127.0.0.1" if own else "192.0.2.7"
    async with open_web(tmp_path, is_local=own, address=address) as web:
        web.app.state.parts.health.watch_work(lambda: [part])
        answer = await web.client.get("/readyz", headers=headers)
    (said,) = answer.json()["failing"]
    assert answer.status_code == 503
    assert said.startswith("Redis has not answered for ")
    assert (part.detail in said) == is_told


async def test_why_a_server_does_not_answer_has_no_secret(web, monkeypatch):
    asked = asyncio.Event()

    async def fail(job):
        asked.set()
        raise ValueError("no answer from redis://:open-sesame@queue")

    remember_secrets(["open-sesame"])
    monkeypatch.setattr(web.backends.book, "get", fail)
    check = BackendCheck(web.backends)
    asking = asyncio.create_task(check.run())
    await asyncio.wait_for(asked.wait(), 10)
    await end_tasks(asking)
    (details,) = [part.detail for part in check.read_parts()]
    assert details == "ValueError: no answer from redis://:***@queue"


def test_the_dashboard_has_begun_before_its_tables_are_brought_up_to_date(tmp_path, monkeypatch):
    """A bug it would catch: systemd kills a migration that takes longer than a start may, again and again."""
    name = token_hex(8)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        systemd.setblocking(False)

        async def migrate(settings, **options):
            assert b"READY=1" in systemd.recv(1000)
            raise StorageError("that is enough")

        monkeypatch.setattr(serving, "open_backends", migrate)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        with pytest.raises(StorageError, match="that is enough"):
            serving.run_dashboard(load_settings(env={}, overrides={"data": str(tmp_path)}))


def test_a_port_that_is_taken_is_an_error_that_says_so():
    with (
        listen_at("127.0.0.1", 0) as taken,
        pytest.raises(Exception, match=r"\(Address already in use\); choose others with --host"),
    ):
        listen_at("127.0.0.1", taken.getsockname()[1])


@pytest.mark.server
async def test_metrics_are_for_readers(elsewhere):
    token = await elsewhere.make_token("prometheus", Role.READ)
    answer = await elsewhere.client.get("/metrics", headers=token)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    found = Scraped(answer.text)
    assert found.value("build_info", version=__version__) == 1
    assert found.samples["process_resident_memory_bytes", frozenset()] > 1e6
    assert lint(answer.text) == ""
    assert (await elsewhere.client.get("/metrics")).status_code == 401


async def test_on_this_machine_metrics_need_no_token_while_there_is_none(web):
    assert (await web.client.get("/metrics")).status_code == 200
