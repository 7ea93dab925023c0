"""The guard: which addresses are public, and that the check sits where the connection is made."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.guard import AddressGuard, GuardError, refusal_for

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.8.8.8",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "::ffff:168.63.129.16",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "3fff::1",
    "4000::1",
    "f000::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "198.17.0.1",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private(address: str) -> None:
    assert refusal_for(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    row = (family, socket.SOCK_STREAM, 0, "", (address, 80))
    with pytest.raises(GuardError, match="not a public address"):
        AddressGuard().open_to("x.example", [row])
    public = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 80))
    assert AddressGuard().open_to("x.example", [row, public]) == [public]
    assert AddressGuard({"x.example"}).open_to("x.example", [row]) == [row]


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert refusal_for(address) == ""
    row = (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80))
    assert AddressGuard().open_to("x.example", [row]) == [row]


@pytest.mark.parametrize(
    "address", ["", "localhost", "1.2.3", "0x7f.1", "2130706433", "1.2.3.4.5", ":::", "\u0661.1.1.1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert refusal_for(address) == "no address"


@given(st.ip_addresses(v=4))
def test_an_address_within_an_address_is_judged_alike(address: object) -> None:
    plain = refusal_for(str(address))
    assert refusal_for(f"::ffff:{address}") == plain
    assert refusal_for(f"64:ff9b::{address}") == plain


@given(st.ip_addresses())
def test_never_laxer_than_the_standard_library(address: object) -> None:
    if not address.is_global and not refusal_for(str(address)):
        assert getattr(address, "ipv4_mapped", None) or address in __import__("ipaddress").ip_network(
            "2002::/16"
        )


def test_trust_is_by_exact_host() -> None:
    guard = AddressGuard({"Shop.example", "127.0.0.1", "[::1]"})
    assert all(map(guard.is_trusted, ("shop.example", "shop.example.", "127.0.0.1", "::1", "[::1]")))
    assert not any(map(guard.is_trusted, ("www.shop.example", "example", "127.0.0.2", "xshop.example", "")))
    assert not AddressGuard().is_trusted("127.0.0.1")


@pytest.mark.parametrize("port", [0, 22, 25, 2049, 6000, 6667, 10080])
def test_ports_of_other_services_are_for_hosts_that_the_operator_named(port: int) -> None:
    guard = AddressGuard({"mine.example"})
    with pytest.raises(GuardError, match=f"port {port} belongs to a service other"):
        guard.check_port("other.example", port)
    guard.check_port("mine.example", port)


@pytest.mark.parametrize("port", [80, 443, 8080, 8443, 3000, 65535])
def test_ports_of_the_web_are_open(port: int) -> None:
    AddressGuard().check_port("other.example", port)


def test_a_strict_guard_trusts_nobody():
    guard = AddressGuard(["printer.local"], is_strict=True)
    guard.trust_host("localhost")
    assert not guard.trusted_hosts
    for host in ("printer.local", "localhost"):
        with pytest.raises(GuardError, match="loopback"):
            guard.open_to(host, [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))])
