"""A gateway on loopback that bills: at ``/`` like ScraperAPI, at ``/v1/extract`` like Zyte.

Pages come from the test's sites, so that a test can crawl ``http://shop.example/``.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.gateway.gateway import NoCookieStore
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.policy.urls import hostname_of
from gossamer.runtime.clock import SystemClock

_OWN = {"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"}


@dataclass
class GatewayCall:
    """One call: its request and its answer."""

    method: str
    path: str  # without the query
    said: dict[str, Any]  # parameters of the query, or the JSON
    headers: dict[str, str]  # names in lower case
    body: bytes
    status: int = 0


@dataclass
class BillingGateway:
    """An asynchronous context manager; ``url`` within the block.

    ``credit`` is what each key may still spend; ``troubles`` are the answers to the next calls: a status, or
    status, headers and body; ``None`` never answers.
    """

    credit: dict[str, int]
    price: int = 1
    sites: Mapping[str, str] = field(default_factory=dict)  # ``127.0.0.1:PORT`` by host name
    troubles: list[Any] = field(default_factory=list)
    latency_s: float = 0.0
    is_mute_about_cost: bool = False
    calls: list[GatewayCall] = field(default_factory=list)
    billed: int = 0
    port: int = 0

    async def __aenter__(self) -> Self:
        self._client = HttpFetcher(
            HttpOptions(user_agent="gateway", headers_s=2.0, body_s=2.0, idle_s=1.0),
            clock=SystemClock(),
            guard=AddressGuard({"127.0.0.1", "localhost"}),
            cookies=NoCookieStore(),
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pages(self) -> list[str]:
        """The pages that were asked for, in order."""
        return [call.said.get("url", "") for call in self.calls]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve_call(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        parts = urlsplit(target)
        said = json.loads(body) if parts.path == "/v1/extract" else dict(parse_qsl(parts.query))
        call = GatewayCall(method, parts.path, said, headers, body)
        self.calls.append(call)
        await asyncio.sleep(self.latency_s)
        answer = await self._answer(call)
        if answer is None:
            await asyncio.Event().wait()
        call.status, fields, content = answer
        out = [f"HTTP/1.1 {call.status} Said", *(f"{name}: {value}" for name, value in fields)]
        out.append(f"content-length: {len(content)}")
        writer.write(("\r\n".join(out) + "\r\n\r\n").encode("latin-1"))
        writer.write(b"" if method == "HEAD" else content)
        await writer.drain()
        return True

    async def _answer(self, call: GatewayCall) -> Any:
        if self.troubles and (trouble := self.troubles.pop(0)) != 200:
            if trouble is None or isinstance(trouble, tuple):
                return trouble
            return trouble, [], json.dumps({"detail": f"trouble {trouble} on purpose"}).encode()
        return await (self._extract(call) if call.path == "/v1/extract" else self._scrape(call))

    def _refusal(self, key: str, empty_status: int) -> Any:
        if key not in self.credit:
            return 401, [], f"Unauthorized request, {key} is no API key".encode()
        if self.credit[key] < self.price:
            return empty_status, [], b"You have exhausted the API Credits available in this cycle"
        return None

    def _bill(self, key: str) -> None:
        self.credit[key] -= self.price
        self.billed += self.price

    async def _fetch(self, request: Request) -> FetchResult | None:
        host = hostname_of(request.url)
        if host in self.sites:
            place = urlsplit(request.url)._replace(netloc=self.sites[host]).geturl()
            request = request.replace(url=place, headers={**request.headers, "Host": host})
        try:
            return await self._client.fetch(request)
        except FetchError:
            return None

    async def _scrape(self, call: GatewayCall) -> Any:
        key = call.said.get("api_key", "")
        if refusal := self._refusal(key, 403):
            return refusal
        kept = {"host", "content-length"}
        own = {name: value for name, value in call.headers.items() if name not in kept}
        headers = own if call.said.get("keep_headers") == "true" else {}
        fetched = await self._fetch(
            Request(call.said["url"], method=call.method, headers=headers, body=call.body)
        )
        if fetched is None:
            return 500, [], b"Request failed. You will not be charged for this request."
        self._bill(key)
        fields = [field for field in fetched.headers if field[0] not in _OWN]
        fields.append(("sa-statuscode", str(fetched.status)))
        if not self.is_mute_about_cost:
            fields.append(("sa-credit-cost", str(self.price)))
        return fetched.status, fields, fetched.body

    async def _extract(self, call: GatewayCall) -> Any:
        scheme, _, told = call.headers.get("authorization", "").partition(" ")
        key = base64.b64decode(told).decode().removesuffix(":") if scheme == "Basic" else ""
        if refusal := self._refusal(key, 402):
            return refusal[0], [], json.dumps({"detail": refusal[2].decode()}).encode()
        said = call.said
        headers = {field["name"]: field["value"] for field in said.get("customHttpRequestHeaders", [])}
        if cookies := said.get("requestCookies"):
            headers["Cookie"] = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in cookies)
        body = base64.b64decode(said.get("httpRequestBody", ""))
        method = said.get("httpRequestMethod", "GET")
        fetched = await self._fetch(Request(said["url"], method=method, headers=headers, body=body))
        if fetched is None:
            return 520, [], b'{"type": "/download/temporary-error", "title": "Website Ban"}'
        self._bill(key)
        answer: dict[str, Any] = {"url": said["url"], "statusCode": fetched.status}
        lines = [value for name, value in fetched.headers if name == "set-cookie"]
        pairs = [line.partition(";")[0].partition("=") for line in lines]
        answer["responseCookies"] = [{"name": n, "value": v, "path": "/"} for n, _, v in pairs]
        if said.get("browserHtml"):
            answer["browserHtml"] = fetched.body.decode("utf-8", "replace")
        else:
            answer["httpResponseBody"] = base64.b64encode(fetched.body).decode()
            fields = [field for field in fetched.headers if field[0] not in _OWN]
            answer["httpResponseHeaders"] = [{"name": name.title(), "value": value} for name, value in fields]
        return 200, [("content-type", "application/json")], json.dumps(answer).encode()
