"""What the API refuses to change and to start, so that whoever may steer crawls does not own the machine."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.web.body_limit import DEEPEST, is_nested_deeply
from kit.web import bury, do, make_job, open_web


@pytest.fixture
async def alone(tmp_path):
    """Where nothing depends on the place."""
    async with open_web(tmp_path) as opened:
        yield opened


@pytest.fixture
async def in_project(tmp_path):
    """The same, started in a project."""
    (project := tmp_path / "project").mkdir()
    (project / "gossamer.toml").touch()
    async with open_web(tmp_path, start=project) as opened:
        yield opened


async def test_what_a_request_carries_stays_with_its_origin(alone):
    """Who may steer need not know the secrets of a crawl: another host is not given them."""
    job, frontier = await make_job(alone)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    headers = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Accept": "text/html"}
    entry, posted = make_entry(7), make_entry(8)
    posted = replace(posted, request=posted.request.replace(method="POST", body=b"password=s3cret"))
    await frontier.add([replace(entry, request=entry.request.replace(headers=headers)), posted])
    await bury(frontier, alone.backends.clock)
    path, letters = f"/jobs/{job.id}/dead/retry", await frontier.dead_letters(DeadLetterFilter())
    ids = {letter.entry.fingerprint: letter.id for letter in letters}
    there = {"url": "http://elsewhere.example/"}
    refused = await do(alone, path, 400, filter={"ids": [ids[8]]}, change=there)
    assert "has a body" in refused["error"]["why"]
    await do(alone, path, filter={"ids": [ids[8]]}, change={"url": "http://a.example/other"})
    await do(alone, path, filter={"ids": [ids[7]]}, change=there)
    leases = (await frontier.lease("http", 9, 60.0)).leases
    sent = {lease.entry.request.url: lease.entry.request for lease in leases}
    assert list(sent["http://elsewhere.example/"].headers) == ["Accept"]
    assert sent["http://a.example/other"].body


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:6379/", "http://0x7f.1/", "http://[::1]:8000/", "http://nas/", "http:\\\\127.0.0.1/"],
)
async def test_no_private_page_that_the_job_does_not_have(alone, url):
    job, frontier = await make_job(alone)
    await frontier.add([make_entry(9, "127.0.0.1:8000")])
    wanted = [(f"/jobs/{job.id}/actions", {"do": "fetch", "with": {"url": url}})]
    wanted += [(f"/jobs/{job.id}/dead/retry", {"change": {"url": url}})]
    for path, body in wanted:
        refused = await do(alone, path, 400, **body)
        assert "is not a public address" in refused["error"]["why"]
        assert "-s dashboard.allow_private=true" in refused["error"]["why"]
    known = {"url": "http://127.0.0.1:8000/other"}
    await do(alone, f"/jobs/{job.id}/actions", do="fetch", **{"with": known})
    await do(alone, f"/jobs/{job.id}/dead/retry", change=known)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://127.0.0.1:9/", "not a public address"),
        ("http://[::1]/", "not a public address"),
        ("http://10.0.0.1/", "not a public address"),
        ("localhost", "not a public address"),
        ("localhost:8000", "not a public address"),
        ("localhost/page", "not a public address"),
        ("http://printer.local/", "not a public address"),
        ("/etc/passwd.py", "inside the project"),
        ("../other.py:Spider", "inside the project"),
        ("a.py/../../other.py", "inside the project"),
        (".git/../../a.py.d/other.py", "inside the project"),
        (".git/../../other.py\n", "neither a URL"),
        ("[::1]", "not a public address"),
        ("[::ffff:127.0.0.1]:80", "not a public address"),
        ("2130706433.0/", "neither a URL"),
        ("/etc/passwd", "neither a URL"),
        ("file:///etc/passwd", "neither a URL"),
        ("no_such_spider", "unknown spider"),
    ],
)
async def test_what_is_not_started(in_project, target, why):
    refused = await do(in_project, "/jobs", 400, target=target)
    assert why in refused["error"]["why"]
    is_private = why == "not a public address"
    assert ("gossamer crawl" in refused["error"]["why"]) is is_private, "it says what to do"
    assert ("-s dashboard.allow_private=true" in refused["error"]["why"]) is is_private
    assert await in_project.backends.book.list_jobs() == []


async def test_no_file_is_started_where_no_project_is(alone):
    refused = await do(alone, "/jobs", 400, target="shop.py")
    assert "there is none: no gossamer.toml is in" in refused["error"]["why"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": "s3cret"},
        {"start_urls": "http://ann:s3cret@a.example/"},
        {"start_urls": "http://a.example/,http://ann:s3cret@b.example"},
    ],
)
async def test_secrets_are_not_given_from_afar(alone, arguments):
    refused = await do(alone, "/jobs", 400, target="https://shop.example/", arguments=arguments)
    assert "secrets are not given here" in refused["error"]["why"]
    assert "s3cret" not in str(refused)


@pytest.mark.parametrize(
    "settings",
    [{"http.headers": {"a": "b"}}, {"data": "/tmp/x"}, {"replay.folder": "/etc"}, {"robots": False}],
)
async def test_settings_that_are_not_given_from_afar(alone, settings):
    refused = await do(alone, "/jobs", 400, target="https://shop.example/", settings=settings)
    assert "set it in gossamer.toml" in refused["error"]["why"]


@pytest.mark.parametrize(
    ("key", "patterns", "said"),
    [
        ("include", [r"(?=(a+)+$)"], "may take any time"),
        ("exclude", [r"(.*)\1\1\1"], "may take any time"),
        ("exclude", ["(("], "is not a regular expression"),
        ("include", "/shop/", "is a list"),
        ("include", [5], "is a list"),
        ("include", ["a" * 501], "of 500 characters"),
        ("include", ["a"] * 51, "at most 50"),
    ],
)
async def test_no_expression_from_afar_holds_up_a_worker(alone, key, patterns, said):
    refused = await do(alone, "/jobs", 400, target="https://shop.example/", settings={key: patterns})
    assert said in refused["error"]["why"]
    assert key in refused["error"]["why"]


@pytest.mark.parametrize(
    "body",
    [
        {"target": "shop\0"},
        {"target": "https://shop.example/", "arguments": {"a": "b\0"}},
        {"target": "https://shop.example/", "settings": {"include": ["a\0"]}},
        {"target": "https://shop.example/", "settings": {"max_pages": 2**70}},
    ],
)
async def test_odd_text_starts_nothing(alone, body):
    answer = await alone.client.post("/api/v1/jobs", json=body)
    assert answer.status_code == 400, answer.text


async def test_odd_values_are_refused(alone):
    job, _ = await make_job(alone)
    for ids in (5, "1", [2**70], [-1], ["x"], [None]):
        await do(alone, f"/jobs/{job.id}/dead/retry", 400, filter={"ids": ids})
    for given in ({"filter": {"older_than": "x"}}, {"filter": {"reason": 5}}, {"filter": {"q": []}}):
        await do(alone, f"/jobs/{job.id}/dead/drop", 400, **given)
    for wanted in ({"max_pages": 2**70}, {"delay": [1]}, {"max_depth": True}, {"max_retries": 1e400}):
        body = json.dumps({"do": "limits", "with": wanted}).replace("Infinity", "1e400")
        headers = {"Content-Type": "application/json"}
        answer = await alone.client.post(f"/api/v1/jobs/{job.id}/actions", content=body, headers=headers)
        assert answer.status_code == 400, (wanted, answer.text)
    await do(alone, f"/jobs/{job.id}/dead/retry", 400, change={"meta": {"a": "x" * 20_000}})


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"ids": []}, "empty list"),
        ({"ids": [True]}, "list of numbers"),
        ({"older_than": -1}, "number of seconds"),
        ({"older_than": float("nan")}, "number of seconds"),
        ({"older_than": True}, "number of seconds"),
        ({"reason": "no_such"}, "not a reason of a dead letter"),
        ({"state": "dead"}, "choose by"),
    ],
)
async def test_what_chooses_no_letters_is_not_taken_for_all(alone, chosen, said):
    job, frontier = await make_job(alone)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    await bury(frontier, alone.backends.clock)
    body = json.dumps({"filter": chosen})
    headers = {"Content-Type": "application/json"}
    answer = await alone.client.post(f"/api/v1/jobs/{job.id}/dead/drop", content=body, headers=headers)
    assert answer.status_code == 400, answer.text
    assert said in answer.json()["error"]["why"]
    assert len(await frontier.dead_letters(DeadLetterFilter())) == 3


async def test_letters_are_chosen_as_their_list_chooses_them(alone):
    """An age is in seconds, and a host in any spelling."""
    job, frontier = await make_job(alone)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    await bury(frontier, alone.backends.clock)
    path = f"/jobs/{job.id}/dead"
    for query, chosen in (
        ("older_than=3600", {"older_than": 3600}),
        ("host=Z.example", {"host": "Z.example"}),
    ):
        assert (await alone.get(f"{path}?{query}"))["letters"] == []
        assert (await do(alone, f"{path}/drop", filter=chosen))["after"] == {"done": 0}
    for query, chosen in (("older_than=0", {"older_than": 0}), ("host=A.example", {"host": "A.example"})):
        assert len((await alone.get(f"{path}?{query}"))["letters"]) == 3
        done = await do(alone, f"{path}/drop", filter=chosen, expect={"count": 3})
        assert done["after"] == {"done": 3}
        undone = await alone.client.request("DELETE", f"/api/v1/actions/{done['action']}")
        assert undone.status_code == 200, undone.text


@pytest.mark.parametrize("seconds", ["NaN", "1e999", "1" + "0" * 400, "true"])
async def test_a_number_that_is_none_holds_no_host(alone, seconds):
    job, _ = await make_job(alone)
    answer = await alone.client.post(
        f"/api/v1/jobs/{job.id}/hosts/a.example/actions",
        content=f'{{"do": "hold", "with": {{"seconds": {seconds}}}}}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 400, answer.text


async def test_what_is_no_text_is_refused(alone):
    job, _ = await make_job(alone)
    for body in (
        r'{"filter": {"host": "\ud800"}}',
        r'{"change": {"meta": {"a": ["\udfff"]}}}',
        r'{"expect": {"\ud800": 1}}',
    ):
        answer = await alone.client.post(
            f"/api/v1/jobs/{job.id}/dead/retry", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422, (body, answer.text)


@pytest.mark.parametrize("depth", [DEEPEST, 900, 100_000])
async def test_what_is_nested_deeply_is_refused(alone, depth):
    """Before it is parsed, so that it makes no difference how deep the parser's own stack may be."""
    job, _ = await make_job(alone)
    deep = "[" * depth + "]" * depth
    for path, body in (
        (f"/jobs/{job.id}/actions", '{"do": "limits", "with": {"delay": %s}}'),
        (f"/jobs/{job.id}/actions", '{"do": "pause", "expect": {"state": [{"a": %s}]}}'),
        (f"/jobs/{job.id}/dead/retry", '{"filter": {"ids": %s}}'),
        (f"/jobs/{job.id}/dead/retry", '{"change": {"meta": {"a": %s}}}'),
        ("/jobs", '{"target": "https://shop.example/", "settings": {"include": %s}}'),
    ):
        headers = {"Content-Type": "application/json"}
        answer = await alone.client.post(f"/api/v1{path}", content=body % deep, headers=headers)
        assert answer.status_code == 422, (path, answer.text)
        assert f"nothing may be nested more than {DEEPEST} deep" in answer.text, path


@pytest.mark.parametrize(
    ("body", "is_deep"),
    [
        ("[" * DEEPEST + "]" * DEEPEST, False),
        ('{"a":' * DEEPEST + "[" + "]" + "}" * DEEPEST, True),
        ("[" + "[], {}, " * 99 + "[]]", False),
        ('["' + "[" * 99 + r"\"[{" + "[" * 99 + '"]', False),
        (r'["\\", ' + "[" * DEEPEST, True),
        ('"' + "[" * 99, False),
    ],
)
def test_texts_and_neighbours_nest_nothing(body, is_deep):
    assert is_nested_deeply(body.encode()) is is_deep
