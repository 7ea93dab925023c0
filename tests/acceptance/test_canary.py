"""The canary: secrets in every place in which a user can put one, and no output that has one of them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.core.access import Role
from gossamer.testing.site import Site, serve_in_thread
from kit.canary import SECRETS, CanarySite, environment_of, leaks_of, stored_rows, write_project
from kit.command_line import gossamer
from kit.environment import environment
from kit.programs import command
from kit.web import open_web

CRAWL = ("crawl", "canary.py", "--delay", "0", "--per-host", "4", "-s", "log.level=debug")
SENT = {"url", "cookie", "api_key", "proxy", "proxy_list", "gateway", "log_in", "body"}
SENT |= {"request_header", "request_cookie", "auth", "token", "own_cookie", "json"}
NEEDED = {"entry", "queue", "delayed", "lease", "dead", "shared"}
"""Tables of what is still to be sent: a request is kept as it is, and so are cookies."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    app = CanarySite()
    with serve_in_thread(app) as served:
        app.host = served.host
        yield served


@pytest.fixture(scope="module")
def crawled(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was crawled by two processes, its log as JSON and as text, its ``ps`` beside it."""
    folder = tmp_path_factory.mktemp("canary")
    write_project(folder, site.host)
    for log_format, more in (
        ("text", ("--processes", "2")),
        ("json", ("--json", "--fresh", "-a", f"password={SECRETS['argument']}")),
    ):
        options = ("-s", f"log.format={log_format}", "-s", f"log.file={log_format}.log", *more)
        process = subprocess.Popen(
            command(*CRAWL, *options), cwd=folder, env=environment() | environment_of(site.host),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        seen = b""
        while process.poll() is None and b"member" not in seen and log_format == "text":
            seen += command_lines(process.pid)
            time.sleep(0.005)
        shown, _ = process.communicate(timeout=60)
        assert process.returncode == 1, shown.decode()  # its callback fails on some pages
        (folder / f"{log_format}.shown").write_bytes(shown)
        (folder / f"{log_format}.ps").write_bytes(seen)
    return folder


def command_lines(pid: int) -> bytes:
    """Of a process and its children."""
    try:
        lines = Path(f"/proc/{pid}/cmdline").read_bytes()
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                lines += command_lines(int(child))
    except OSError:  # it has ended
        return b""
    return lines


@pytest.mark.long
def test_the_secrets_were_used(site: Site, crawled: Path) -> None:
    """Else their absence says nothing."""
    app = site.app
    assert isinstance(app, CanarySite)
    assert set(leaks_of(" ".join(app.told))) == SENT
    log = (crawled / "text.log").read_text()
    for what in (
        "callback",
        "ValueError: <Request http",
        "UserWarning",
        "gateway",
        "refuses the user and password",
        "item dropped",
    ):
        assert what in log, what


@pytest.mark.parametrize("file", ["text.log", "json.log", "text.shown", "json.shown", "text.ps"])
def test_what_a_crawl_writes_has_none(crawled: Path, file: str) -> None:
    text = (crawled / file).read_bytes()
    assert text
    assert leaks_of(text) == []


def test_what_is_stored_for_people_has_none(crawled: Path) -> None:
    tables = stored_rows(crawled / ".gossamer")
    assert {"attempt", "job", "item", *NEEDED} <= tables.keys()
    assert {
        name: leaks_of(text) for name, text in tables.items() if name not in NEEDED and leaks_of(text)
    } == {}
    assert "ValueError: <Request http" in tables["attempt"]


@pytest.mark.long
@pytest.mark.parametrize("as_json", [False, True], ids=["tables", "json"])
def test_no_answer_of_the_command_line_has_one(site: Site, crawled: Path, as_json: bool) -> None:
    env = environment_of(site.host)

    def ask(line: str, *more: str, code: int = 0) -> str:
        options = (*more, "--json") if as_json and "--json" not in line else more
        done = gossamer(line, *options, cwd=crawled, env=env, code=code)
        text = f"{done.stdout}{done.stderr}"
        assert leaks_of(text) == [], (line, text)
        return text

    letters = json.loads(gossamer("dead list canary --json", cwd=crawled, env=env).stdout)
    assert len(letters) >= 3
    for letter in letters[:2] if as_json else letters:
        ask(f"dead show canary {letter['id']}")
    for path in ("raise", "userinfo"):
        ask(f"explain http://me:{SECRETS['url']}@{site.host}/{path}")
    for line in (
        "jobs",
        "status canary",
        "attempts canary",
        "dead list canary",
        "proxies",
        "settings",
        "list",
        "top",
        "alerts",
    ):
        ask(line)
    assert "took no news" not in ask("alerts test", code=1)
    for name in ("http.headers", "proxies.pools.acme.url", "gateways.mine.url"):
        ask(f"settings --explain {name}")
    ask("proxies test", f"http://{site.host}/", code=1)
    ask(f"parse http://me:{SECRETS['url']}@{site.host}/ --spider canary.py")
    told = f"--spider canary.py -a password={SECRETS['argument']}"
    raised = ask(f"parse http://{site.host}/raise {told} --callback parse_page", code=2)
    assert "ValueError: <Request http" in raised
    assert "shown=***; Path=/nowhere" in ask(f"fetch http://me:{SECRETS['url']}@{site.host}/ --headers")
    if not as_json:
        failed = ask("crawl failing.py", code=2)  # which is an alert
        assert "ValueError: no way to ***" in failed
        assert failed.count("a notification waits for the alert target") == 2
        assert "webhook" in leaks_of(" ".join(site.app.told))
        assert "no way to" in ask("status failing")
        code = "raise ValueError(spider.password)"
        assert "ValueError: ***" in ask(f"shell http://{site.host}/ {told} -c", code, code=2)
        assert ask("export canary").count("\n") == 5


async def test_no_answer_of_the_api_has_one(
    site: Site, crawled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every question that it knows, and the metrics."""
    for name, value in environment_of(site.host).items():
        monkeypatch.setenv(name, value)
    told: dict[str, str] = {}
    async with open_web(crawled / ".gossamer") as web:
        headers = await web.make_token("ann", Role.ADMIN)
        letters = json.loads((await web.client.get("/api/v1/jobs/canary-2/dead", headers=headers)).text)
        found = {"job": "canary-2", "host": quote(site.host, safe=""), "number": letters["letters"][0]["id"]}
        paths = [path for path, ways in web.app.openapi()["paths"].items() if "get" in ways]
        for path in (*paths, "/metrics"):
            if not path.endswith(("/stream", "/actions/{action}")):
                options = {"url": f"http://{site.host}/raise"} if path.endswith("/explain") else {}
                answer = await web.client.get(path.format(**found), headers=headers, params=options)
                told[path] = answer.text
                assert answer.status_code == 200 or path.endswith(("/fleet", "/{host}")), (path, answer.text)
        for target in (f"http://me:{SECRETS['url']}@shop.example/", f"http://me:p/{SECRETS['url']}@h/"):
            form = {"target": target, "arguments": {"password": SECRETS["argument"]}}
            answer = await web.client.post("/api/v1/jobs", headers=headers, json=form)
            assert answer.status_code == 400, answer.text
            told[f"start {target}"] = answer.text
        secret = headers["Authorization"].removeprefix("Bearer ")
        assert not [path for path, text in told.items() if secret in text]
        assert secret not in " ".join(stored_rows(crawled / ".gossamer").values())
    assert len(told) > 15
    assert "ValueError: <Request http" in told["/api/v1/jobs/{job}/attempts"]
    assert {path: leaks_of(text) for path, text in told.items() if leaks_of(text)} == {}


SERVERS = {
    "away": ("redis://u:{}@127.0.0.1:1/0", "postgresql://u:{}@127.0.0.1:1/x", "amqp://u:{}@127.0.0.1:1/"),
    "odd": ("redis://u:{}@127.0.0.1:99999/0", "postgresql://u:{}@[::1/x", "amqp://u:{}/@127.0.0.1:1/"),
    "other": ("postgres://u:{}@127.0.0.1:1/0", "mysql://u:p/{}@127.0.0.1:1/x", "kafka://u:{}@127.0.0.1:1/"),
}


@pytest.mark.parametrize("kind", SERVERS)
def test_passwords_of_servers_are_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whatever is wrong with them: nobody listens, the port is none, the scheme is another's."""
    monkeypatch.chdir(tmp_path)
    names = ("frontier", "store", "broker")
    secrets = (SECRETS["redis"], SECRETS["postgres"], SECRETS["broker"])
    env = {
        f"GOSSAMER_{name.upper()}__URL": url.format(secret)
        for name, url, secret in zip(names, SERVERS[kind], secrets, strict=True)
    }
    # Processes of a fleet wait for servers that are away.
    more = ("doctor",) if kind == "away" else ("worker", "supervisor")
    for line in ("jobs", "settings", "fleet", *more):
        done = CliRunner().invoke(build_app(), [line], prog_name="gossamer", env=env)
        assert done.stdout + done.stderr
        assert leaks_of(done.stdout + done.stderr) == [], line
