"""The OpenAPI document says all, and whatever it allows is answered as it says: nothing asked is a 5xx.

The examples are the same in every run. `make fuzz-api` asks for many more.
"""

import asyncio
import os
import socket
import threading
from contextlib import contextmanager

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gossamer.core.access import Role
from gossamer.web.app import API, load_groups
from gossamer.web.packages import uvicorn
from gossamer.web.serving import make_config
from kit.web import fill_shop, open_web

EXAMPLES = int(os.environ.get("GOSSAMER_TEST_EXAMPLES", "1"))
"""For each operation and kind of data."""
LEFT_OUT = {
    ("get", "/stream"),  # it does not end
    ("post", "/jobs"),  # it would crawl whatever host comes up
    ("post", "/jobs/{job}/actions"),  # `resume` starts a process
}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@contextmanager
def serving(folder):
    """The API over a small crawl, in a thread; its document, its address and an operator's header."""
    ready, found = threading.Event(), {}

    async def serve():
        async with open_web(folder, is_local=False, delay=0.0, per_host=1000) as web:
            await fill_shop(web.backends)
            found["headers"] = await web.make_token("ann", Role.OPERATE)
            found["document"] = await web.get("/openapi.json", headers=found["headers"])
            listening = socket.create_server(("127.0.0.1", 0))
            parts = web.app.state.parts
            found["server"] = uvicorn.Server(make_config(parts, parts.settings))
            found["url"] = f"http://127.0.0.1:{listening.getsockname()[1]}"
            ready.set()
            await found["server"].serve(sockets=[listening])

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    try:
        yield found
    finally:
        found["server"].should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("api")) as found:
        yield found


def test_the_document_has_every_route(api):
    paths = api["document"]["paths"]
    for group in load_groups():
        for route in group.router.routes:
            for method in route.methods:
                path = API + route.path.replace(":path}", "}")
                assert method.lower() in paths[path], f"{method} {path}"
                said = paths[path][method.lower()]
                assert said["summary"], f"{route.path} says nothing"


def test_every_answer_is_described(api):
    """Every field of the schemas is there by name, and every reference leads somewhere."""
    schemas = api["document"]["components"]["schemas"]

    def references(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    used = set(references(api["document"]))
    assert {name.rpartition("/")[2] for name in used} <= set(schemas)
    assert schemas["Attempt"]["properties"]["fingerprint"]["pattern"] == "^[0-9a-f]{16}$"
    assert "unreadable" not in schemas["JobSummary"]["properties"], "asides are in no answer"


@pytest.mark.long
def test_what_the_document_allows_is_answered_as_it_says(api):
    schema = schemathesis.openapi.from_dict(api["document"])
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if (operation.method.lower(), operation.path.removeprefix(API)) in LEFT_OUT:
            continue
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            asked += ask_examples(api, operation, mode)
    assert asked > 40


def ask_examples(api, operation, mode):
    asked = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def ask(case):
        if "job" in (case.path_parameters or {}) and len(asked) % 2:
            case.path_parameters["job"] = "shop"
        asked.append(1)
        answer = case.call(base_url=api["url"], headers=api["headers"], timeout=30)
        case.validate_response(answer, checks=CHECKS)

    ask()
    return len(asked)
