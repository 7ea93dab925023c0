"""What this process was told is hidden, wherever it turns up."""

from __future__ import annotations

import json
import logging

import pytest

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.core.requests import Request
from gossamer.observe.log_lines import LineFormatter
from gossamer.policy.request_secrets import secret_values_of
from gossamer.runtime import known_secrets
from gossamer.runtime.known_secrets import MOST, hide_secrets, remember_secrets


def test_a_secret_is_hidden_also_as_it_stands_in_a_url() -> None:
    remember_secrets(["s3cret/pass", "s3cret/pass-longer"])
    assert hide_secrets("at s3cret/pass, s3cret/pass-longer and s3cret%2Fpass.") == "at ***, *** and ***."


def test_a_secret_is_hidden_also_as_python_and_json_write_it() -> None:
    secret = """it's "\\ so\tsecret"""
    remember_secrets([secret])
    for text in (secret, repr({"password": secret}), json.dumps([secret]), f"{secret!r}"):
        assert "so" not in hide_secrets(text), text


def test_a_password_is_hidden_also_as_it_was_written_in_its_url() -> None:
    load_settings(overrides=[SettingOption("store.url", "postgresql://me:hunt%2fer22@db/x", "-s")], env={})
    assert hide_secrets("no way with hunt%2fer22 or hunt/er22") == "no way with *** or ***"


def test_short_values_are_left_alone() -> None:
    remember_secrets(["", "a", "admin"])
    assert hide_secrets("admin of a") == "admin of a"


def test_the_number_of_secrets_is_bounded() -> None:
    remember_secrets(f"secret-{number}" for number in range(MOST))
    remember_secrets(["one-too-many"])
    assert len(known_secrets._known) == MOST


@pytest.mark.parametrize(
    ("setting", "secret"),
    [
        ("store.url=postgresql://me:hunter22@db/x", "hunter22"),
        ("store.url=postgresql://me:hunt%40er22@db/x", "hunt@er22"),
        ("frontier.url=redis://:hun/ter22@db/0", "hun/ter22"),
        ('http.headers={"Authorization": "Bearer hunter22"}', "hunter22"),
        ('http.headers={"Cookie": "a=1; sid=hunter22"}', "hunter22"),
        ('proxies.urls=["http://me:hunter22@proxy:1"]', "hunter22"),
        ('proxies.urls=["proxy:1:me:hunter22"]', "hunter22"),
        ("proxies.url=http://list.example/?token=hunter22", "hunter22"),
    ],
)
def test_secrets_of_settings_are_known(setting: str, secret: str) -> None:
    key, _, value = setting.partition("=")
    load_settings(overrides=[SettingOption(key, value, "-s")], env={})
    assert hide_secrets(f"<{secret}>") == "<***>"


def test_other_settings_are_not() -> None:
    told = [
        SettingOption("store.url", "postgresql://someone@database.example/crawls", "-s"),
        SettingOption("http.headers", '{"X-Keyword": "laptops", "Accept": "text/html"}', "-s"),
        SettingOption("user_agent", "somebody/1.0 (+https://example.org/)", "-s"),
    ]
    load_settings(overrides=told, env={})
    assert not known_secrets._known


def test_what_a_request_carries_is_known_by_its_names() -> None:
    request = Request(
        "https://a.example/",
        method="POST",
        headers={"Authorization": "Bearer in-header", "Cookie": "sid=in-cookie; lang=en", "Accept": "text/x"},
        meta={"password": "in-meta", "page": "harmless", "deep": [{"api_key": ["in-list"]}]},
        cb_kwargs={"token": "in-kwargs", "category": "harmless"},
        body=b"user=harmless&password=in-form",
    )
    found = secret_values_of(request)
    assert {"in-header", "in-cookie", "in-meta", "in-list", "in-kwargs", "in-form"} <= set(found)
    assert not {"harmless", "text/x"} & set(found)
    assert secret_values_of(Request("https://a.example/", body=b'{"login": {"password": "in-json"}}')) == (
        "in-json",
    )
    assert secret_values_of(Request("https://a.example/")) == ()


def test_a_request_is_shown_without_what_it_carries() -> None:
    request = Request(
        "https://me:hunter22@a.example/", "parse_page", method="POST", body=b"password=in-form",
        headers={"Authorization": "Bearer in-header"}, meta={"password": "in-meta"}, cb_kwargs={"page": 2},
    )  # fmt: skip
    assert repr(request) == (
        "<Request https://***@a.example/ callback=parse_page method=POST headers=['Authorization'] "
        "meta=['password'] cb_kwargs=['page'] body of 16 bytes>"
    )


def test_lines_of_the_log_are_without_them() -> None:
    remember_secrets(["hunter22"])
    record = logging.LogRecord("x", logging.INFO, "", 0, "wrong password %s", ("hunter22",), None)
    assert LineFormatter().format(record).endswith("wrong password ***")
