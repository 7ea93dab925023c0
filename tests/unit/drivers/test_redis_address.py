"""The addresses of a Redis: their parts, and no secret in any refusal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gossamer.config.values import hide_secrets, secrets_in
from gossamer.core.errors import SettingError, UsageError
from gossamer.core.redaction import hide_userinfo, shown_server
from gossamer.drivers.redis.address import ADDRESSES, FORMS, REDIS_SCHEMES, RedisPlace, parse_address
from gossamer.drivers.redis.server import RedisServer
from gossamer.wiring.backends import name_place
from gossamer.wiring.redis_broker import sentinel_options
from gossamer.wiring.schemes import FRONTIERS

SECRET = "s3cret-word"


@pytest.mark.parametrize("url", ["redis://h", "rediss://u:p@h:1/3?ssl_ca_certs=f"])
def test_one_server_is_left_to_the_driver(url: str) -> None:
    assert parse_address(url) == RedisPlace(url=url)


@pytest.mark.parametrize(
    ("url", "server", "servers", "name"),
    [
        ("redis+sentinel://h/main", "redis://h:26379/0", (("h", 26379),), "main"),
        (
            "rediss+sentinel://u:p%40@a:1,b,[::1]:3/my%20name/2?ssl_ca_certs=f",
            "rediss://u:p%40@a:1/2?ssl_ca_certs=f",
            (("a", 1), ("b", 26379), ("::1", 3)),
            "my name",
        ),
        ("redis+cluster://h", "redis://h:6379/0", (("h", 6379),), ""),
        ("rediss+cluster://:p@a:1,b:2/0", "rediss://:p@a:1/0", (("a", 1), ("b", 2)), ""),
    ],
)
def test_several_servers(url: str, server: str, servers: tuple[tuple[str, int], ...], name: str) -> None:
    found = parse_address(url)
    assert (found.url, found.servers, found.name) == (server, servers, name)
    assert found.has_tls == url.startswith("rediss")


def test_what_sentinels_are_told_is_not_for_the_servers() -> None:
    found = parse_address(
        f"redis+sentinel://h/m?sentinel_password={SECRET}&sentinel_username=u&client_name=n"
    )
    assert found.sentinel_login == {"password": SECRET, "username": "u"}
    assert found.url == "redis://h:26379/0?client_name=n"
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis+sentinel://h:1", "by which NAME"),
        ("redis+sentinel://h:1/", "by which NAME"),
        (f"redis+sentinel://:{SECRET}@h:1/main/x", "its database is not a number"),
        (f"redis+sentinel://:{SECRET}@a,:{SECRET}@b/main", "user and password are written once"),
        (f"redis+sentinel://:{SECRET}@a,,b/main", "a host in it has no name"),
        (f"redis+sentinel://:{SECRET}/x@h/main", "cannot be read"),
        (f"redis+sentinel://h:{SECRET}/main", "cannot be read"),
        (f"redis+cluster://:{SECRET}@h/1", "has no databases but 0"),
        (f"redis+cluster://:{SECRET}@h/name/0", "has no databases but 0"),
        (f"redis+else://:{SECRET}@h", "is not a Redis URL"),
    ],
)
def test_an_address_that_is_none_lists_the_forms(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        RedisServer(url)
    assert FORMS in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", ["redis+sentinel:main", f"redis+sentinels://:{SECRET}@h/main", "valkey://h"])
def test_an_unsupported_scheme_lists_the_supported_ones(url: str) -> None:
    with pytest.raises(SettingError) as caught:
        FRONTIERS.find_scheme(url if "://" in url else "sentinel://h")
    assert all(form in str(caught.value) for form in ADDRESSES)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("scheme", REDIS_SCHEMES)
def test_every_form_is_a_place_of_requests_in_redis(scheme: str) -> None:
    assert FRONTIERS.find_scheme(f"{scheme}://h").serves_fleet
    assert name_place(f"{scheme}://h") == "Redis"


def test_no_secret_of_several_servers_is_shown() -> None:
    url = f"rediss+sentinel://me:{SECRET}@a:1,b:2/main/0?sentinel_password={SECRET}-2"
    assert shown_server(url) == "rediss+sentinel://a:1,b:2/main/0"
    assert SECRET not in hide_userinfo(url.partition("?")[0])
    for setting in ("frontier.url", "broker.url"):
        assert SECRET not in hide_secrets(setting, url)
        assert {SECRET, f"{SECRET}-2"} <= set(secrets_in(setting, url))


def test_the_guide_has_every_form() -> None:
    guide = Path(__file__).parents[3] / "docs" / "how-to" / "deploy.md"
    rows = dict(re.findall(r"^\| `(redis\S+)` \| (.+) \|$", guide.read_text("utf-8"), re.MULTILINE))
    assert rows == ADDRESSES


@pytest.mark.parametrize(
    ("url", "celery", "more"),
    [
        (
            f"redis+sentinel://:{SECRET}@a:1,b/main/3",
            f"sentinel://:{SECRET}@a:1/3;sentinel://:{SECRET}@b:26379/3",
            {},
        ),
        (
            "rediss+sentinel://a/main?ssl_ca_certs=f&sentinel_password=p",
            "sentinel://a:26379/0",
            {"ssl": True, "ssl_ca_certs": "f", "password": "p"},
        ),
    ],
)
def test_celery_has_its_own_form_for_sentinels(url: str, celery: str, more: dict[str, object]) -> None:
    found = sentinel_options(url, {}, 5.0)
    assert found["broker_url"] == celery
    transport = found["broker_transport_options"]
    assert transport["master_name"] == "main"
    assert transport["sentinel_kwargs"].items() >= more.items()
    tls = found.get("broker_use_ssl")
    assert tls == ({"ssl_cert_reqs": "required", "ssl_ca_certs": "f"} if more else None)
