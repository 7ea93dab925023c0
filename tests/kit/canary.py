"""Secrets that cannot be mistaken, one for every place where a user can put one, and who looks for them."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.testing.site import SiteResponse

PLACES = (
    "url", "header", "cookie", "api_key", "proxy", "proxy_list", "gateway", "argument", "log_in", "body",
    "meta", "cb_kwargs", "request_header", "request_cookie", "redis", "postgres", "broker",
    "answer_cookie", "webhook", "mail", "auth", "token", "own_cookie", "json", "domain_auth", "domain_cookie",
)  # fmt: skip
SECRETS: Mapping[str, str] = {place: f"canary{place.replace('_', '')}7d1f" for place in PLACES}
ENVIRONMENT = {
    "CANARY_KEY": SECRETS["gateway"],
    "CANARY_LOG_IN": SECRETS["log_in"],
    "SPIDER_ARG_PASSWORD": SECRETS["argument"],
    "CANARY_MAIL": f"smtp://me:{SECRETS['mail']}@127.0.0.1:1",
}

SPIDER = """
import os, warnings
from gossamer import Item, Request, Spider


class Offer(Item):
    url: str
    price: float


class Canary(Spider):
    name = "canary"
    start_urls = ["http://me:{url}@{host}/"]
    login_url = "http://{host}/log-in"
    password: str = ""

    async def log_in(self, login):
        page = await login.get(self.login_url)
        await login.submit(page, {{"user": "me", "password": os.environ["CANARY_LOG_IN"]}})

    def parse(self, response):
        for place in ("dead", "form", "raise", "drop", "moved"):
            yield self.request(f"http://{host}/{{place}}")
        yield self.request("http://gateway.example/", fetch="gateway:mine")
        yield self.request("http://proxied.example/", fetch="http+datacenter")
        yield Request("http://me:{url}@{host}/userinfo", self.parse_page)
        for number, auth in enumerate([("me", "{auth}"), "{token}"]):
            for place in ("dead", "raise", "drop", "moved"):
                yield Request(
                    f"http://{host}/{{place}}?own={{number}}",
                    self.parse_page,
                    errback=self.give_up,
                    auth=auth,
                    cookies={{"own": "{own_cookie}"}},
                    json={{"password": "{json}", "n": number}},
                )

    def request(self, url, **options):
        return Request(
            url,
            self.parse_page,
            errback=self.give_up,
            method="POST" if url.endswith("/form") else "GET",
            body=b"user=me&password={body}" if url.endswith("/form") else b"",
            headers={{"Authorization": "Bearer {request_header}", "Cookie": "sid={request_cookie}"}},
            meta={{"password": "{meta}"}},
            cb_kwargs={{"api_key": "{cb_kwargs}"}},
            **options,
        )

    def parse_page(self, response, api_key=""):
        request = response.request
        self.logger.warning("%r %s %s %s %s", request, request.headers, request.meta, api_key, request.body)
        self.logger.warning("%s %s", request.auth, request.cookies)
        if "/raise" in request.url:
            own = f"{{request.auth}} {{request.cookies}} {{request.body}}"
            raise ValueError(f"{{request!r}} {{request.headers}} {{self.password}} {{api_key}} {{own}}")
        if "/drop" in request.url:
            yield Offer(url=request.url, price=self.password)
        yield {{"url": response.url}}

    def give_up(self, failure):
        own = f"{{failure.request.auth}} {{failure.request.cookies}} {{failure.request.body}}"
        warnings.warn(f"{{failure!r}} {{failure.request!r}} {{failure.request.headers}} {{own}}")
"""
FAILING = """
import os
from gossamer import Request, Spider


class Failing(Spider):
    name = "failing"

    async def start(self):
        for n in range(1000):
            yield Request(f"http://127.0.0.1:9/{n}")
        raise ValueError(f"no way to {os.environ['CANARY_WEBHOOK']} and {os.environ['CANARY_MAIL']}")
"""
SETTINGS = """
max_retries = 1
delay = 0
retry_backoff = 0.01

[http]
headers = {{ Authorization = "Bearer {header}", Cookie = "sid={cookie}", X-Api-Key = "{api_key}" }}

[domain."members.shop.example"]
auth = ["me", "{domain_auth}"]
cookies = {{ sid = "{domain_cookie}" }}

[proxies]
always = false

[proxies.pools.acme]
url = "http://lister:{proxy_list}@{host}/list?token={proxy_list}"

[gateways.mine]
url = "http://{host}/gateway?api_key={{key}}&url={{url}}"
key_env = "CANARY_KEY"

[alerts.targets.ops]
url_env = "CANARY_WEBHOOK"

[alerts.targets.mail]
kind = "email"
url_env = "CANARY_MAIL"
sender = "gossamer@example.org"
to = ["ops@example.org"]
"""


def write_project(folder: Path, host: str) -> None:
    """A project whose spider and settings are full of secrets."""
    (folder / "canary.py").write_text(SPIDER.format(host=host, **SECRETS))
    (folder / "failing.py").write_text(FAILING)
    (folder / "gossamer.toml").write_text(SETTINGS.format(host=host, **SECRETS))


def environment_of(host: str) -> dict[str, str]:
    """The variables that the settings refer to."""
    return {**ENVIRONMENT, "CANARY_WEBHOOK": f"http://{host}/hooks/{SECRETS['webhook']}"}


def variables(host: str) -> dict[str, str]:
    """Return the same settings as environment variables, with their references."""
    headers = {"Authorization": f"Bearer {SECRETS['header']}", "Cookie": f"sid={SECRETS['cookie']}"}
    listed = f"http://lister:{SECRETS['proxy_list']}@{host}/list?token={SECRETS['proxy_list']}"
    return {
        **environment_of(host),
        "GOSSAMER_ALERTS__TARGETS__OPS__URL_ENV": "CANARY_WEBHOOK",
        "GOSSAMER_ALERTS__TARGETS__MAIL__KIND": "email",
        "GOSSAMER_ALERTS__TARGETS__MAIL__URL_ENV": "CANARY_MAIL",
        "GOSSAMER_ALERTS__TARGETS__MAIL__SENDER": "gossamer@example.org",
        "GOSSAMER_ALERTS__TARGETS__MAIL__TO": "ops@example.org",
        "GOSSAMER_HTTP__HEADERS": json.dumps({**headers, "X-Api-Key": SECRETS["api_key"]}),
        "GOSSAMER_PROXIES__ALWAYS": "false",
        "GOSSAMER_PROXIES__POOLS__ACME__URL": listed,
        "GOSSAMER_GATEWAYS__MINE__URL": f"http://{host}/gateway?api_key={{key}}&url={{url}}",
        "GOSSAMER_GATEWAYS__MINE__KEY_ENV": "CANARY_KEY",
        "GOSSAMER_MAX_RETRIES": "1",
    }


@dataclass
class CanarySite:
    """The site, its proxy, the list of its proxies and its gateway; ``told`` has everything sent to them."""

    host: str = ""
    told: list[str] = field(default_factory=list)

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        self.told.append(f"{path} {headers}")
        place = path.partition("?")[0]
        if place == "/list":
            users = (f"http://{user}:{SECRETS['proxy']}@{self.host} kind=datacenter" for user in ("no", "ok"))
            return SiteResponse(200, "\n".join(users).encode())
        if place == "/gateway":
            return SiteResponse(500, f"no more credit for {SECRETS['gateway']}".encode())
        if place == "/log-in":
            if headers.get(":body"):
                return SiteResponse(303, headers=(("Location", "/"), ("Set-Cookie", "member=yes")))
            return SiteResponse(
                200, b"<form method=post><input name=user><input type=password name=password>"
            )
        if place.startswith("/hooks/"):
            return SiteResponse(500)
        if place == "/moved":
            return SiteResponse(302, headers=(("Location", "/userinfo"),))
        if headers.get("proxy-authorization", "").startswith("Basic bm86"):  # the user is no
            return SiteResponse(407)
        if place.endswith("/robots.txt"):
            return SiteResponse(404)
        if place == "/dead" or place.startswith("http"):
            return SiteResponse(500)
        cookie = f"shown={SECRETS['answer_cookie']}; Path=/nowhere"
        return SiteResponse(200, b"<html><title>fine</title></html>", headers=(("Set-Cookie", cookie),))


def leaks_of(text: str | bytes) -> list[str]:
    """The places whose secrets are in a text: as they are, or in Base64."""
    told = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    decoded = " ".join(map(_decode_base64, re.findall(r"[A-Za-z0-9+/]{16,}={0,2}", told)))
    return [place for place, secret in SECRETS.items() if secret in told or secret in decoded]


def _decode_base64(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "replace")
    except ValueError:
        return ""


def stored_rows(data: Path) -> dict[str, str]:
    """Return the rows of each table in the database of a data directory."""
    with closing(sqlite3.connect(data / "gossamer.db")) as connection, connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: repr(connection.execute(f'SELECT * FROM "{name}"').fetchall()) for (name,) in tables}
